// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Karpenter's provisioner: it finds room for every Pod that is Unschedulable, and for those on Nodes that are being
// deleted, on what is there and on what is already being launched; for the rest it creates claims.

// host is what Pods can be planned onto: a claim whose node is there, or that will bring one.
type host struct {
	claim *karpenterv1.NodeClaim
	// node is nil until the claim has brought one.
	node *corev1.Node
	room amounts
}

func (w *World) provision() {
	pools := w.toProvision()
	wishes := w.homeless(pools)
	hosts := map[string][]host{}
	unserved := map[string]bool{}
	for i := range wishes {
		wish := &wishes[i]
		if w.planned(wish, hosts) {
			continue
		}
		pool, _ := poolOfPod(wish.pod)
		unserved[pool] = true
		if h, pool := w.claimFor(wish); h != nil {
			h.room = h.room.minus(wish.requests)
			hosts[pool] = append(w.hostsOf(pool, hosts), *h)
		}
	}
	w.news.provisioned(pools, unserved)
}

// homeless are the Pods of these pools that need room, those that ask for most first.
func (w *World) homeless(pools map[string]bool) []wish {
	var wishes []wish
	for _, pod := range w.PodsBy(byNode, unbound) {
		if pool, _ := poolOfPod(pod); pools != nil && !pools[pool] {
			continue
		}
		if pod.DeletionTimestamp == nil && unschedulable(pod) && pod.Status.NominatedNodeName == "" {
			wishes = append(wishes, w.wishOf(pod))
		}
	}
	for _, node := range w.going() {
		if pools != nil && !pools[node.Labels[rotation.LabelNodePool]] {
			continue
		}
		for _, pod := range w.PodsBy(byNode, node.Name) {
			if w.reschedulable(pod) {
				wishes = append(wishes, w.wishOf(pod))
			}
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		return cmp.Or(cmp.Compare(b.requests.cpu, a.requests.cpu), cmp.Compare(b.requests.memory, a.requests.memory),
			a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name))
	})
	return wishes
}

// planned finds room for the Pod on what is there or coming.
func (w *World) planned(wish *wish, hosts map[string][]host) bool {
	for _, pool := range w.poolsFor(wish.pod) {
		of := w.hostsOf(pool.Name, hosts)
		for i := range of {
			h := &of[i]
			if h.room.holds(wish.requests) && wish.admits(w.started(h)) {
				h.room = h.room.minus(wish.requests)
				return true
			}
		}
	}
	return false
}

// hostsOf are the hosts of a pool.
func (w *World) hostsOf(pool string, known map[string][]host) []host {
	if hosts, made := known[pool]; made {
		return hosts
	}
	nobody := &corev1.Pod{} // of the priority that most have
	claims, next := w.NodeClaimsBy(byPool, pool), w.following(pool)
	hosts := make([]host, 0, len(claims)+1)
	for _, claim := range claims {
		if claim.DeletionTimestamp != nil {
			continue
		}
		switch b := next(claim.Status.NodeName); {
		case b == nil:
			hosts = append(hosts, host{claim, nil, w.roomOf(claim)})
		case b.node.DeletionTimestamp == nil:
			hosts = append(hosts, host{claim, b.node, w.room(b, nobody)})
		}
	}
	known[pool] = hosts
	return hosts
}

// started is the host's Node as it will be once it has started.
func (w *World) started(h *host) *corev1.Node {
	switch {
	case h.node == nil:
		return w.expected(h.claim)
	case !isTrue(h.claim, karpenterv1.ConditionTypeInitialized):
		started := *h.node
		started.Spec.Taints = h.claim.Spec.Taints
		return &started
	default:
		return h.node
	}
}

// expected is the Node that a claim will bring, as far as a Pod asks for a Node; roomOf has what it offers.
func (w *World) expected(claim *karpenterv1.NodeClaim) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: w.labelsOf(claim)}}
	node.Spec.Taints = claim.Spec.Taints
	return node
}

// poolsFor are the pools that a Pod may be provisioned from, the weightiest first.
func (w *World) poolsFor(pod *corev1.Pod) []*karpenterv1.NodePool {
	if name := pod.Spec.NodeSelector[rotation.LabelNodePool]; name != "" {
		if pool := w.NodePool(name); pool != nil {
			return []*karpenterv1.NodePool{pool}
		}
		return nil
	}
	pools := slices.Clone(w.NodePools())
	weight := func(p *karpenterv1.NodePool) int32 {
		if p.Spec.Weight == nil {
			return 0
		}
		return *p.Spec.Weight
	}
	slices.SortStableFunc(pools, func(a, b *karpenterv1.NodePool) int { return cmp.Compare(weight(b), weight(a)) })
	return pools
}

// claimFor creates a claim for the Pod, in the first pool and the best zone that will do; nil when none will.
func (w *World) claimFor(wish *wish) (h *host, pool string) {
	d := w.draftFor(wish, nil, nil)
	if d == nil || !w.launchDraft(d) {
		return nil, ""
	}
	return d.host, d.claim.Labels[rotation.LabelNodePool]
}

// draftFor is a claim that would do for the Pod beside those other drafts, when this claim leaves; nil when none would.
func (w *World) draftFor(wish *wish, leaving *karpenterv1.NodeClaim, beside []*draft) *draft {
	for _, np := range w.poolsFor(wish.pod) {
		if np.DeletionTimestamp != nil || np.Spec.Replicas != nil {
			continue
		}
		shapes := w.affordable(np, leaving, beside)
		if len(shapes) == 0 {
			continue
		}
		claim := w.draft(np, len(beside))
		asWished(claim, np, wish.pod)
		for _, zone := range w.zonesOf(np, wish) {
			claim.Labels[corev1.LabelTopologyZone] = zone
			if h := w.shaped(claim, shapes, wish); h != nil {
				claim.Spec.Requirements = append(slices.Clone(claim.Spec.Requirements), in(corev1.LabelTopologyZone, zone))
				return &draft{claim, h, wish.pod}
			}
		}
	}
	return nil
}

// shaped has a drafted claim ask for the first of these shapes that will do for the Pod; nil when none will.
func (w *World) shaped(claim *karpenterv1.NodeClaim, shapes []Shape, wish *wish) *host {
	for _, shape := range shapes {
		claim.Spec.Resources.Requests = shape.Allocatable
		if room := w.roomOf(claim); room.holds(wish.requests) && wish.admits(w.expected(claim)) {
			return &host{claim, nil, room}
		}
	}
	return nil
}

// launchDraft creates the claim.
func (w *World) launchDraft(d *draft) bool {
	if err := w.Adopt(d.claim); err != nil {
		w.tell("karpenter", "cannot create NodeClaim %s: %v", d.claim.Name, err)
		return false
	}
	w.tell("karpenter", "creates NodeClaim %s in zone %s for Pod %s", d.claim.Name, zoneOf(d.claim), cluster.KeyOf(d.pod))
	return true
}

// draft is a claim of the pool's template, without a zone yet.
func (w *World) draft(pool *karpenterv1.NodePool, more int) *karpenterv1.NodeClaim {
	template := &pool.Spec.Template
	claim := &karpenterv1.NodeClaim{}
	claim.Name = w.claimName(pool.Name, more)
	claim.Labels = map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", karpenterv1.CapacityTypeLabelKey: karpenterv1.CapacityTypeOnDemand,
	}
	for _, r := range template.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) > 0 && r.Key != corev1.LabelTopologyZone {
			claim.Labels[r.Key] = r.Values[0]
		}
	}
	maps.Copy(claim.Labels, template.Labels)
	claim.Labels[rotation.LabelNodePool] = pool.Name
	claim.Annotations = maps.Clone(template.Annotations)
	claim.Finalizers = []string{karpenterv1.TerminationFinalizer}
	claim.OwnerReferences = ownedBy(pool)
	claim.Spec = karpenterv1.NodeClaimSpec{
		Taints: template.Spec.Taints, StartupTaints: template.Spec.StartupTaints, NodeClassRef: template.Spec.NodeClassRef,
		TerminationGracePeriod: template.Spec.TerminationGracePeriod, ExpireAfter: template.Spec.ExpireAfter,
		Requirements: slices.DeleteFunc(slices.Clone(template.Spec.Requirements), func(r karpenterv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == corev1.LabelTopologyZone
		}),
	}
	claim.Spec.Requirements = append(claim.Spec.Requirements, in(rotation.LabelNodePool, pool.Name))
	return claim
}

func in(key, value string) karpenterv1.NodeSelectorRequirementWithMinValues {
	return karpenterv1.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
}

// claimName is one that no claim has, five letters behind the pool's name as Karpenter makes them.
func (w *World) claimName(pool string, first int) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	for n := first; ; n++ {
		x := w.drawn(1<<40, "claim", pool, fmt.Sprint(w.Version(), n))
		suffix := make([]byte, 5)
		for i := range suffix {
			suffix[i] = letters[x%uint64(len(letters))]
			x /= uint64(len(letters))
		}
		if name := pool + "-" + string(suffix); w.NodeClaim(name) == nil {
			return name
		}
	}
}

// zonesOf are the zones in which Karpenter would ask for a node now: those that the Pod prefers first, then by chance.
func (w *World) zonesOf(pool *karpenterv1.NodePool, wish *wish) []string {
	zones := w.config.Karpenter.Zones
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Key == corev1.LabelTopologyZone && r.Operator == corev1.NodeSelectorOpIn {
			zones = r.Values
		}
	}
	zones = slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return w.shortages[zone].After(w.now) })
	type ranked struct {
		zone  string
		score int64
		luck  uint64
	}
	order := make([]ranked, len(zones))
	for i, zone := range zones {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
		order[i] = ranked{zone, wish.score(node), w.drawn(1<<32, "zone", zone, fmt.Sprint(w.Version()))}
	}
	slices.SortFunc(order, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.luck, b.luck)) })
	for i := range order {
		zones[i] = order[i].zone
	}
	return zones
}
