// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/sim/cluster"
)

// Consolidation: of the nodes that no Pod has come to or left for ConsolidateAfter, an empty one goes, or with Underutilized
// one whose Pods fit on the others. It is one node at a time here, and never for the sake of a cheaper one: the
// simulated cloud knows no prices.

// stir notes what consolidation has to look at again.
func (w *World) stir(c cluster.Change) {
	if w.config.Karpenter.ConsolidateAfter == 0 {
		return
	}
	if c.Kind == cluster.Pod {
		before, _ := c.Before.(*corev1.Pod)
		after, _ := c.After.(*corev1.Pod)
		w.stirNode(before, after)
	}
	if c.Kind == cluster.Node && c.After == nil {
		delete(w.disruption.stirred, c.Before.GetName())
	}
	w.lookAt(w.now.Add(disruptionPoll))
}

// stirNode notes that a Pod came to a Node, or left it or began to. Those of daemon sets do not count.
func (w *World) stirNode(before, after *corev1.Pod) {
	bound := func(p *corev1.Pod) string {
		if p == nil || p.DeletionTimestamp != nil || finished(p) || ownerOf(p).kind == kindDaemonSet {
			return ""
		}
		return p.Spec.NodeName
	}
	was, is := bound(before), bound(after)
	if was == is {
		return
	}
	if w.disruption.stirred == nil {
		w.disruption.stirred = map[string]time.Time{}
	}
	for _, node := range []string{was, is} {
		if node != "" {
			w.disruption.stirred[node] = w.now
		}
	}
}

// consolidate plans the next consolidation for this reason if there is one, and otherwise has the cluster looked at when
// there may be.
func (w *World) consolidate(reason karpenterv1.DisruptionReason) (planned bool) {
	asked := &w.config.Karpenter
	if asked.ConsolidateAfter == 0 || (reason == karpenterv1.DisruptionReasonUnderutilized && !asked.Underutilized) {
		return false
	}
	for _, claim := range w.NodeClaims() {
		settles, initialized := w.settles(claim)
		if !initialized {
			continue
		}
		if settles.After(w.now) {
			w.lookAt(settles)
			continue
		}
		if !w.spare(claim, reason) {
			continue
		}
		if w.allowed(claim, reason) == 0 {
			w.lookAt(w.now.Add(disruptionPoll))
			continue
		}
		w.disruption.plan = &plan{claim.Name, claim.UID, reason, w.now.Add(validationDelay)}
		w.lookAt(w.disruption.plan.at)
		return true
	}
	return false
}

// settles is from when on a claim may be consolidated; false for one that has not initialized.
func (w *World) settles(claim *karpenterv1.NodeClaim) (at time.Time, initialized bool) {
	if claim.DeletionTimestamp != nil || !isTrue(claim, karpenterv1.ConditionTypeInitialized) {
		return time.Time{}, false
	}
	since, stirred := w.disruption.stirred[claim.Status.NodeName]
	if !stirred {
		for _, c := range claim.Status.Conditions {
			if c.Type == karpenterv1.ConditionTypeInitialized {
				since = c.LastTransitionTime.Time
			}
		}
	}
	return since.Add(w.config.Karpenter.ConsolidateAfter), true
}

// spare tells whether a node can be done without for this reason, the NodePool's budgets aside. One that only its
// protection keeps is told of.
func (w *World) spare(claim *karpenterv1.NodeClaim, reason karpenterv1.DisruptionReason) bool {
	node := w.Node(claim.Status.NodeName)
	if node == nil || w.empty(node) != (reason == karpenterv1.DisruptionReasonEmpty) {
		return false
	}
	if reason == karpenterv1.DisruptionReasonUnderutilized {
		if m := w.rehouse(node); len(m.homeless) > 0 || m.early || m.pods == 0 {
			return false
		}
	}
	why := w.obstacle(claim, reason)
	if why != "" && !w.commanded(claim.UID) {
		w.leave(claim, reason, why)
	}
	return why == ""
}

// validate looks at the planned consolidation once more: what has come between calls it off.
func (w *World) validate() {
	p := w.disruption.plan
	w.disruption.plan = nil
	claim := w.NodeClaim(p.name)
	if claim == nil || claim.UID != p.uid {
		return
	}
	settles, initialized := w.settles(claim)
	if !initialized || settles.After(w.now) || !w.spare(claim, p.reason) || w.allowed(claim, p.reason) == 0 {
		return
	}
	w.begin(claim, p.reason, nil)
}
