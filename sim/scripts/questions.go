// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// questionVerbs look at the cluster and change nothing. Their answers stand in the trace.
func questionVerbs() []verb {
	asked := func(form, slot string, answer func(*run, string) error) verb {
		return verb{form, func(s slots) (action, error) {
			return func(r *run) error {
				r.take()
				return answer(r, r.names.real(s[slot]))
			}, nil
		}}
	}
	return []verb{
		asked("why <pool>", "pool", (*run).why),
		asked("findings of <pool>", "pool", (*run).findings),
		asked("nodes of <pool>", "pool", (*run).nodes),
		asked("show pool <pool>", "pool", (*run).showPool),
		asked("show claim <claim>", "claim", (*run).showClaim),
		asked("show node <node>", "node", (*run).showNode),
		asked("show placeholder <claim>", "claim", (*run).showPlaceholder),
		asked("leftovers", "", func(r *run, _ string) error { r.leftovers(); return nil }),
	}
}

func (r *run) settings() rotation.Settings {
	return rotation.Settings{
		Namespace: "noderotation", PauseImage: "registry.k8s.io/pause:3.10", PriorityClass: "noderotation-placeholder",
	}
}

func (r *run) snapshot(pool string) (rotation.Snapshot, error) {
	np := r.world.NodePool(pool)
	if np == nil {
		return rotation.Snapshot{}, fmt.Errorf("there is no NodePool %s", pool)
	}
	reader := controller.Reader{Cache: r.world.View, Policies: controller.NewPolicies(r.world.View), Settings: r.settings()}
	return reader.Snapshot(context.Background(), np, r.world.Now())
}

// why says which row fires now, and of each row before it what it waits for.
func (r *run) why(pool string) error {
	s, err := r.snapshot(pool)
	if err != nil {
		return err
	}
	state, err := rotation.State(s)
	if err != nil {
		r.say("%v", err)
		return nil
	}
	d, err := r.machine.Decide(state, &s)
	if err != nil {
		return err
	}
	r.say("%s: %s fires", state, d.Row.ID)
	for _, row := range d.Rows {
		if row.Row == d.Row {
			break
		}
		closed := row.Closed()[0]
		r.say("  %s waits for %s: %s", row.Row.ID, closed.Condition, closed.Verdict.Reason())
	}
	return nil
}

func (r *run) findings(pool string) error {
	s, err := r.snapshot(pool)
	if err != nil {
		return err
	}
	f := s.Feasibility
	if s.Governance.Policy == nil {
		r.say("no policy: %s", s.Governance.Reason)
		return nil
	}
	age := fmt.Sprintf("A %s, chances %d", rotation.Spell(f.AgeThreshold), f.Chances)
	if !f.HasDeadline {
		age = "no deadline"
	}
	r.say("P %s, D %s, longest rotation %s, lead time %s, %s, C %d", rotation.Spell(f.P), rotation.Spell(f.D),
		rotation.Spell(f.RotationBound), rotation.Spell(f.LeadTime), age, f.Capacity)
	for _, finding := range f.Findings {
		r.say("%s (%s): %s", finding.Code, finding.Severity, finding.Message)
	}
	return nil
}

// nodes lists the claims of a pool, oldest first.
func (r *run) nodes(pool string) error {
	var claims []*karpenterv1.NodeClaim
	for _, claim := range r.world.NodeClaims() {
		if claim.Labels[rotation.LabelNodePool] == pool {
			claims = append(claims, claim)
		}
	}
	slices.SortStableFunc(claims, func(a, b *karpenterv1.NodeClaim) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, claim := range claims {
		state := ""
		if claim.DeletionTimestamp != nil {
			state = ", being deleted"
		}
		if node := r.world.Node(claim.Status.NodeName); node == nil {
			state += ", no Node yet"
		}
		r.say("%s in zone %s, of age %s%s", claim.Name, claim.Labels[corev1.LabelTopologyZone],
			rotation.Spell(r.world.Since(claim.CreationTimestamp.Time)), state)
	}
	return nil
}

func (r *run) showPool(name string) error {
	if pool := r.world.NodePool(name); pool != nil {
		r.say("NodePool %s:%s", name, ours(pool))
	} else {
		r.say("NodePool %s is gone", name)
	}
	return nil
}

func (r *run) showClaim(name string) error {
	if claim := r.world.NodeClaim(name); claim != nil {
		r.say("NodeClaim %s:%s", name, ours(claim))
	} else {
		r.say("NodeClaim %s is gone", name)
	}
	return nil
}

func (r *run) showNode(name string) error {
	node := r.world.Node(name)
	if node == nil {
		r.say("Node %s is gone", name)
		return nil
	}
	cordon := ""
	if node.Spec.Unschedulable {
		cordon = " unschedulable"
	}
	r.say("Node %s:%s%s", name, ours(node), cordon)
	return nil
}

// ours are the annotations that a rotation reads or writes.
func ours(o client.Object) string {
	var told strings.Builder
	annotations := o.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fmt.Fprintf(&told, " %s=%s", strings.TrimPrefix(key, "noderotation.io/"), annotations[key])
	}
	if told.Len() == 0 {
		return " no annotations"
	}
	return told.String()
}

func (r *run) showPlaceholder(claim string) error {
	pod := r.placeholder(claim)
	if pod == nil {
		r.say("there is no placeholder for %s", claim)
		return nil
	}
	where := "unbound"
	if pod.Spec.NodeName != "" {
		where = "on " + pod.Spec.NodeName
	}
	r.say("placeholder for %s, %s, %s", claim, pod.Status.Phase, where)
	r.say("  requests %s", quantities(pod.Spec.Containers[0].Resources.Requests))
	r.say("  priority %d, preemptionPolicy %s, terminationGracePeriodSeconds %d", *pod.Spec.Priority, *pod.Spec.PreemptionPolicy,
		*pod.Spec.TerminationGracePeriodSeconds)
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		r.say("  selects %s=%s", key, pod.Spec.NodeSelector[key])
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		for _, term := range required.NodeSelectorTerms {
			r.say("  requires %s", expressions(term))
		}
	}
	for _, term := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		r.say("  prefers %s (weight %d)", expressions(term.Preference), term.Weight)
	}
	for _, t := range pod.Spec.Tolerations {
		r.say("  tolerates %s=%s:%s", t.Key, t.Value, t.Effect)
	}
	return nil
}

func quantities(list corev1.ResourceList) string {
	var told []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		told = append(told, fmt.Sprintf("%s %s", name, q.String()))
	}
	return strings.Join(told, ", ")
}

func expressions(term corev1.NodeSelectorTerm) string {
	var told []string
	for _, e := range term.MatchExpressions {
		told = append(told, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
	}
	return strings.Join(told, " and ")
}

// leftovers lists what of a rotation is still in the cluster.
func (r *run) leftovers() {
	found := false
	r.world.Each(func(kind cluster.Kind, o client.Object) {
		left := marks(kind, o)
		if pod, is := o.(*corev1.Pod); is && rotation.IsPlaceholder(pod) {
			left = append(left, "placeholder")
		}
		if node, is := o.(*corev1.Node); is && node.Spec.Unschedulable {
			left = append(left, "cordon")
		}
		if len(left) > 0 {
			found = true
			r.say("%s %s: %s", kind, cluster.KeyOf(o), strings.Join(left, ", "))
		}
	})
	if !found {
		r.say("nothing of a rotation is left")
	}
}

func marks(kind cluster.Kind, o client.Object) []string {
	var left []string
	for _, key := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
		switch {
		case kind == cluster.NodePool && slices.Contains(rotation.AnchorKeys(), key),
			kind == cluster.Node && (rotation.IsNodeMarker(key) || key == rotation.KeyDoNotDisrupt),
			kind == cluster.NodeClaim && (key == rotation.KeyStartedAt || key == rotation.KeySurgeClaim):
			left = append(left, strings.TrimPrefix(key, "noderotation.io/"))
		}
	}
	return left
}
