// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// validate finds what is wrong with the input as a whole, once it has been read.
func (in *Input) validate(o Options) error {
	var wrong problems
	in.validatePolicies(o, &wrong)
	in.validateFleets(&wrong)
	in.validateObjects(&wrong)
	in.validateTrouble(&wrong)
	if len(wrong) == 0 {
		in.validateSelection(o, &wrong)
	}
	return wrong.err()
}

func (in *Input) validatePolicies(o Options, wrong *problems) {
	if len(in.Policies) == 0 {
		wrong.add(Place{}, "the input has no RotationPolicy, so that nothing would ever be rotated; add one")
	}
	seen := map[string]bool{}
	for _, p := range in.Policies {
		if seen[p.Name] {
			wrong.add(in.at(p), "RotationPolicy %s is there twice; remove one", p.Name)
		}
		seen[p.Name] = true
		for _, f := range rotation.Assess(p, o.Start).Findings {
			if f.Code == rotation.InvalidSpec {
				wrong.add(in.at(p), "%s", f.Message)
			}
		}
	}
}

func (in *Input) validateFleets(wrong *problems) {
	if len(in.Fleets)+len(in.Pools) == 0 {
		wrong.add(Place{}, "the input has no NodePool and no Fleet; add what is to be rotated")
	}
	seen := map[string]bool{}
	for _, p := range in.Pools {
		if seen[p.Name] {
			wrong.add(in.at(p), "NodePool %s is there twice; remove one", p.Name)
		}
		seen[p.Name] = true
	}
	fleets := map[string]bool{}
	for _, f := range in.Fleets {
		switch {
		case f.Pool == "":
			wrong.add(f.place, "this Fleet names no pool; add `pool: NAME`")
		case fleets[f.Pool]:
			wrong.add(f.place, "there are two Fleets of pool %s; put their nodes into one, as batches", f.Pool)
		}
		fleets[f.Pool] = true
		in.validateFleet(f, wrong)
	}
}

func (in *Input) validateFleet(f *Fleet, wrong *problems) {
	count := f.Nodes
	for _, b := range f.Batches {
		if b.Nodes < 1 {
			wrong.add(f.place, "Fleet %s has a batch of %d nodes; give it 1 or more", f.Pool, b.Nodes)
		}
		count += b.Nodes
	}
	if f.Nodes < 0 || count == 0 {
		wrong.add(f.place, "Fleet %s has no nodes; set nodes, or add batches", f.Pool)
	}
	if f.Nodes > 1 && f.Apart > (mostDays*Span(day)-f.Youngest)/Span(f.Nodes-1) {
		wrong.add(f.place, "Fleet %s has nodes of more than %d days; set apart or nodes lower", f.Pool, mostDays)
	}
	if f.ExpireAfter != nil && *f.ExpireAfter == 0 {
		wrong.add(f.place, "Fleet %s has expireAfter 0s, with which no node could live; leave it out for nodes that never expire", f.Pool)
	}
	if f.Workload.MinAvailable != nil && f.Workload.MaxUnavailable != nil {
		wrong.add(f.place, "the workload of Fleet %s has both minAvailable and maxUnavailable; a PodDisruptionBudget takes one of them", f.Pool)
	}
	pool := in.pool(f.Pool)
	if pool == nil {
		return
	}
	if f.ExpireAfter != nil || f.TerminationGracePeriod != nil || f.Limits != nil || f.Labels != nil {
		wrong.add(f.place, "Fleet %s says again what its NodePool says (%s); leave labels, expireAfter, terminationGracePeriod and limits out",
			f.Pool, in.at(pool))
	}
	allowed := zonesOf(pool)
	for _, zone := range f.Zones {
		if allowed != nil && !slices.Contains(allowed, zone) {
			wrong.add(f.place, "zone %s of Fleet %s is unknown: its NodePool allows %s", zone, f.Pool, strings.Join(allowed, ", "))
		}
	}
}

// zonesOf are the zones that a pool's requirements list; nil where they don't.
func zonesOf(pool *karpenterv1.NodePool) []string {
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Key == corev1.LabelTopologyZone && r.Operator == corev1.NodeSelectorOpIn {
			return r.Values
		}
	}
	return nil
}

func (in *Input) validateObjects(wrong *problems) {
	claims := map[string]bool{}
	for _, c := range in.Claims {
		if claims[c.Name] {
			wrong.add(in.at(c), "NodeClaim %s is there twice; remove one", c.Name)
		}
		claims[c.Name] = true
		switch pool := c.Labels[rotation.LabelNodePool]; {
		case pool == "":
			wrong.add(in.at(c), "NodeClaim %s has no pool; give it the label %s", c.Name, rotation.LabelNodePool)
		case in.pool(pool) == nil:
			wrong.add(in.at(c), "NodeClaim %s belongs to NodePool %s, which the input does not have; add that NodePool", c.Name, pool)
		}
	}
	nodes := map[string]bool{}
	for _, n := range in.Nodes {
		if nodes[n.Name] {
			wrong.add(in.at(n), "Node %s is there twice; remove one", n.Name)
		}
		nodes[n.Name] = true
	}
}

func (in *Input) validateTrouble(wrong *problems) {
	zones, namespaces, pools := in.zones(), in.namespaces(), in.poolNames()
	for _, t := range in.Troubles {
		t.validateLengths(wrong)
		t.validateShortages(zones, wrong)
		for _, b := range t.BlockingBudgets {
			if b.Namespace != "" && !slices.Contains(namespaces, b.Namespace) {
				wrong.add(t.place, "a blocking budget names namespace %s, which has no Pods: those that have are %s", b.Namespace, strings.Join(namespaces, ", "))
			}
		}
		for _, f := range t.Freezes {
			if !slices.Contains(pools, f.Pool) {
				wrong.add(t.place, "a freeze names pool %q, which is unknown: the pools are %s", f.Pool, strings.Join(pools, ", "))
			}
		}
	}
}

// validateLengths refuses trouble that would last no time, or do nothing.
func (t *Trouble) validateLengths(wrong *problems) {
	lasts := func(what string, s Stretch) {
		if s.For != nil && *s.For == 0 {
			wrong.add(t.place, "%s lasts 0s; set for to how long it lasts, or leave it out: it then lasts to the end of the run", what)
		}
	}
	for _, s := range t.Shortages {
		lasts("a shortage", s.Stretch)
	}
	for _, s := range t.SlowProvisioning {
		lasts("slow provisioning", s.Stretch)
		if s.Extra == 0 {
			wrong.add(t.place, "slow provisioning has no extra; set it to how much longer every launch takes")
		}
	}
	for _, s := range t.SlowDrains {
		lasts("a slow drain", s.Stretch)
		if s.EndsAfter == 0 {
			wrong.add(t.place, "a slow drain has no endsAfter; set it to how long every Pod takes to end")
		}
	}
	for _, b := range t.BlockingBudgets {
		lasts("a blocking budget", b.Stretch)
	}
	for _, s := range t.Outages {
		lasts("an outage", s)
	}
	for _, f := range t.Freezes {
		lasts("a freeze", f.Stretch)
	}
}

func (t *Trouble) validateShortages(zones []string, wrong *problems) {
	for _, s := range t.Shortages {
		if s.Zone != "" && !slices.Contains(zones, s.Zone) {
			wrong.add(t.place, "a shortage names zone %s, which is unknown: the zones are %s", s.Zone, strings.Join(zones, ", "))
		}
		if s.Chance != nil && !(*s.Chance > 0 && *s.Chance <= 1) {
			wrong.add(t.place, "a shortage has chance %g; set it above 0 and to at most 1", *s.Chance)
		}
	}
}

// validateSelection refuses an input in which no pool is governed: it is never what was meant.
func (in *Input) validateSelection(o Options, wrong *problems) {
	var assessments []rotation.Assessment
	for _, p := range in.Policies {
		assessments = append(assessments, rotation.Assess(p, o.Start))
	}
	var tied error
	for _, pool := range in.poolLabels() {
		switch r := rotation.Resolve(assessments, pool.labels); {
		case r.Winner != nil:
			return
		case len(r.Tied) > 0:
			tied = problem(pool.place, "NodePool %s: %s", pool.name, r.Reason)
		}
	}
	if tied != nil {
		*wrong = append(*wrong, tied)
		return
	}
	wrong.add(in.at(in.Policies[0]), "no RotationPolicy selects any of the pools %s by its labels; correct nodePoolSelector, or label a pool",
		strings.Join(in.poolNames(), ", "))
}

type labelled struct {
	name   string
	labels map[string]string
	place  Place
}

// poolLabels are the pools, with those that only a Fleet describes.
func (in *Input) poolLabels() []labelled {
	var all []labelled
	for _, p := range in.Pools {
		all = append(all, labelled{p.Name, p.Labels, in.at(p)})
	}
	for _, f := range in.Fleets {
		if in.pool(f.Pool) == nil {
			all = append(all, labelled{f.Pool, f.Labels, f.place})
		}
	}
	return all
}

func (in *Input) poolNames() []string {
	var names []string
	for _, p := range in.poolLabels() {
		names = append(names, p.name)
	}
	return names
}

// zones are all that the input speaks of; "a" where it speaks of none.
func (in *Input) zones() []string {
	var zones []string
	for _, f := range in.Fleets {
		zones = append(zones, f.Zones...)
	}
	for _, p := range in.Pools {
		zones = append(zones, zonesOf(p)...)
	}
	for _, n := range in.Nodes {
		if zone := n.Labels[corev1.LabelTopologyZone]; zone != "" {
			zones = append(zones, zone)
		}
	}
	for _, c := range in.Claims {
		if zone := c.Labels[corev1.LabelTopologyZone]; zone != "" {
			zones = append(zones, zone)
		}
	}
	if len(zones) == 0 {
		return []string{theZone}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// theZone is where everything lies when the input says nothing.
const theZone = "a"

func (in *Input) namespaces() []string {
	var names []string
	for _, f := range in.Fleets {
		if f.Workload.PodsPerNode > 0 {
			names = append(names, f.Pool)
		}
	}
	for _, p := range in.Pods {
		names = append(names, p.Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
