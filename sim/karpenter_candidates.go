// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// obstacle is why the disruption controller leaves a claim alone, the NodePool's budgets aside; empty where it does not.
func (w *World) obstacle(claim *karpenterv1.NodeClaim, reason karpenterv1.DisruptionReason) string {
	node, pool := w.Node(claim.Status.NodeName), w.NodePool(claim.Labels[rotation.LabelNodePool])
	switch {
	case claim.DeletionTimestamp != nil || w.commanded(claim.UID):
		return "it is on its way already"
	case pool == nil || pool.DeletionTimestamp != nil:
		return "its NodePool is gone"
	case pool.Spec.Replicas != nil:
		return "its NodePool is static"
	case node == nil || !isTrue(claim, karpenterv1.ConditionTypeInitialized):
		return "its Node has not initialized"
	case node.DeletionTimestamp != nil:
		return "its Node is on its way already"
	case node.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue:
		return "its Node is protected"
	case reason == karpenterv1.DisruptionReasonDrifted && claim.Spec.TerminationGracePeriod != nil:
		return "" // its drain is bounded
	}
	for _, pod := range w.PodsBy(byNode, node.Name) {
		if why := w.heldBy(pod); why != "" {
			return why
		}
	}
	return ""
}

// heldBy is why a Pod cannot be evicted now; empty where it can.
func (w *World) heldBy(pod *corev1.Pod) string {
	if finished(pod) || pod.DeletionTimestamp != nil {
		return ""
	}
	if pod.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue {
		return fmt.Sprintf("Pod %s is protected", cluster.KeyOf(pod))
	}
	if toleratesDisruption(pod) {
		return ""
	}
	budgets := w.BudgetsOver(pod)
	if len(budgets) > 1 {
		return fmt.Sprintf("Pod %s has more than one PodDisruptionBudget", cluster.KeyOf(pod))
	}
	if len(budgets) == 1 && budgets[0].Status.DisruptionsAllowed <= 0 {
		return fmt.Sprintf("PodDisruptionBudget %s allows no disruption", cluster.KeyOf(budgets[0]))
	}
	return ""
}

// reschedulable tells whether Karpenter finds room for a Pod of a node that goes: not for one that nothing but the end of
// its time will move.
func (w *World) reschedulable(pod *corev1.Pod) bool {
	switch {
	case pod.DeletionTimestamp != nil, finished(pod), ownerOf(pod).kind == kindDaemonSet, pod.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue:
		return false
	case toleratesDisruption(pod):
		return true
	}
	budgets := w.BudgetsOver(pod)
	return len(budgets) == 0 || (len(budgets) == 1 && !blocksAll(budgets[0]))
}

// blocksAll is true of a budget that can never allow a disruption, by what it says and not by what there is.
func blocksAll(budget *policyv1.PodDisruptionBudget) bool {
	is := func(v *intstr.IntOrString, values ...intstr.IntOrString) bool {
		return v != nil && slices.Contains(values, *v)
	}
	return is(budget.Spec.MaxUnavailable, intstr.FromInt32(0), intstr.FromString("0%")) || is(budget.Spec.MinAvailable, intstr.FromString("100%"))
}

// usualBudget is what the API server gives a NodePool that states none.
const usualBudget = "10%"

// allowed is how many more nodes of the claim's NodePool may go now.
func (w *World) allowed(claim *karpenterv1.NodeClaim, reason karpenterv1.DisruptionReason) int {
	name := claim.Labels[rotation.LabelNodePool]
	nodes, disrupted := 0, 0
	for _, c := range w.NodeClaimsBy(byPool, name) {
		node := w.Node(c.Status.NodeName)
		if node == nil || !isTrue(c, karpenterv1.ConditionTypeInitialized) || isTrue(c, karpenterv1.ConditionTypeInstanceTerminating) {
			continue
		}
		nodes++
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		if !ready || c.DeletionTimestamp != nil || node.DeletionTimestamp != nil || w.commanded(c.UID) {
			disrupted++
		}
	}
	pool := *w.NodePool(name)
	if pool.Spec.Disruption.Budgets == nil {
		pool.Spec.Disruption.Budgets = []karpenterv1.Budget{{Nodes: usualBudget}}
	}
	return max(0, pool.MustGetAllowedDisruptions(instant{now: w.now}, nodes, reason)-disrupted)
}

// instant is a clock that stands: budgets have schedules.
type instant struct {
	clock.Clock
	now time.Time
}

// Now is always the same.
func (i instant) Now() time.Time { return i.now }

// relocation is where the Pods of a node would go if it went.
type relocation struct {
	// pods is how many there are to move, homeless those that find no room on another node.
	pods     int
	homeless []wish
	// early is true where one of them finds it only on a node that has not initialized: Karpenter then waits.
	early bool
}

// rehouse plans the Pods of a node onto the others, after those that need room already; onto those that have initialized
// as far as they have room.
func (w *World) rehouse(node *corev1.Node) relocation {
	standing, starting := map[string][]host{}, map[string][]host{}
	for _, pool := range w.NodePools() {
		standing[pool.Name], starting[pool.Name] = nil, nil
		for _, h := range w.hostsOf(pool.Name, map[string][]host{}) {
			switch {
			case h.node == nil || hasTaint(h.node, taintNotReady):
				starting[pool.Name] = append(starting[pool.Name], h)
			case h.node.Name != node.Name:
				standing[pool.Name] = append(standing[pool.Name], h)
			}
		}
	}
	first := w.homeless(nil)
	for i := range first {
		_ = w.planned(&first[i], standing) || w.planned(&first[i], starting)
	}
	var r relocation
	for _, pod := range w.PodsBy(byNode, node.Name) {
		if !w.reschedulable(pod) {
			continue
		}
		r.pods++
		switch wish := w.wishOf(pod); {
		case w.planned(&wish, standing):
		case w.planned(&wish, starting):
			r.early = true
		default:
			r.homeless = append(r.homeless, wish)
		}
	}
	return r
}

// draft is a claim that could be created, for a Pod that would have it.
type draft struct {
	claim *karpenterv1.NodeClaim
	host  *host
	pod   *corev1.Pod
}

// draftsFor are the claims that these Pods would need when this claim leaves; false where one of them would get none.
func (w *World) draftsFor(leaving *karpenterv1.NodeClaim, homeless []wish) (drafts []*draft, housed bool) {
	for i := range homeless {
		wish := &homeless[i]
		if slices.ContainsFunc(drafts, func(d *draft) bool {
			fits := d.host.room.holds(wish.requests) && wish.admits(w.started(d.host))
			if fits {
				d.host.room = d.host.room.minus(wish.requests)
			}
			return fits
		}) {
			continue
		}
		d := w.draftFor(wish, leaving, drafts)
		if d == nil {
			return nil, false
		}
		d.host.room = d.host.room.minus(wish.requests)
		drafts = append(drafts, d)
	}
	return drafts, true
}

// without is the conditions but for those of a type.
func without(conditions []status.Condition, of string) []status.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c status.Condition) bool { return c.Type == of })
}
