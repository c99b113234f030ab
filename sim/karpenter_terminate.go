// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Karpenter's end of a claim: whoever deletes it, its Node is tainted, drained by evictions, and finished with the claim.
// From terminationGracePeriod on nothing holds it: Pods are deleted in time for their own grace period.

// expire is Karpenter's own, forceful end of a claim whose time is up.
func (w *World) expire(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp != nil {
		return
	}
	w.tell("karpenter", "expires NodeClaim %s", claim.Name)
	_ = w.Delete(claim, nil)
}

// nodeDeleted has Karpenter end the claim of a Node that somebody deletes.
func (w *World) nodeDeleted(node *corev1.Node) {
	if claim := w.claimOfNode(node); claim != nil && claim.DeletionTimestamp == nil {
		_ = w.Delete(claim, nil)
	}
	w.call(Move{Verb: drain, On: cluster.KeyOf(node)})
}

// terminate begins the end of a claim that is being deleted.
func (w *World) terminate(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp == nil {
		return
	}
	node := w.Node(claim.Status.NodeName)
	if node == nil {
		w.tell("karpenter", "ends NodeClaim %s, which has no Node", claim.Name)
		w.Remove(claim)
		return
	}
	w.taintDisrupted(node, true)
	if node = w.Node(node.Name); node.DeletionTimestamp == nil {
		_ = w.Delete(node, nil)
	}
	w.call(Move{Verb: drain, On: cluster.KeyOf(node)})
	w.forceLater(node)
}

// forceLater has the Node looked at again when its time is up, and when that of each of its Pods is: no other Pod can
// come onto it.
func (w *World) forceLater(node *corev1.Node) {
	end, ends := w.endOf(node)
	if !ends {
		return
	}
	times := []time.Time{end}
	for _, pod := range w.guests(node) {
		times = append(times, end.Add(-graceOf(pod)))
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, at := range slices.CompactFunc(times, time.Time.Equal) {
		w.queue.add(Move{Verb: drain, On: cluster.KeyOf(node)}, at)
	}
}

// podLeft looks after a Node that a Pod has left, or is about to.
func (w *World) podLeft(name string) {
	node := w.Node(name)
	if node != nil && node.DeletionTimestamp != nil {
		w.call(Move{Verb: drain, On: cluster.KeyOf(node)})
	}
}

// guests are the Pods of a node that a drain must move: not a daemon set's, which tolerate it, and none that is done.
func (w *World) guests(node *corev1.Node) []*corev1.Pod {
	var guests []*corev1.Pod
	for _, p := range w.PodsBy(byNode, node.Name) {
		if guest(p) {
			guests = append(guests, p)
		}
	}
	return guests
}

func guest(pod *corev1.Pod) bool {
	return !finished(pod) && ownerOf(pod).kind != kindDaemonSet && !toleratesDisruption(pod)
}

// empty tells whether the node has no guests.
func (w *World) empty(node *corev1.Node) bool {
	return !slices.ContainsFunc(w.PodsBy(byNode, node.Name), guest)
}

func toleratesDisruption(pod *corev1.Pod) bool {
	if len(pod.Spec.Tolerations) == 0 {
		return false
	}
	its := wish{pod: pod}
	return its.toleratesAll([]corev1.Taint{karpenterv1.DisruptedNoScheduleTaint})
}

// drain evicts what may go of a Node that is being deleted, and finishes the Node once it is empty or its time is up.
func (w *World) drain(name string) {
	node := w.Node(name)
	if node == nil || node.DeletionTimestamp == nil {
		return
	}
	end, ends := w.endOf(node)
	for _, pod := range w.guests(node) {
		if pod.DeletionTimestamp != nil {
			continue
		}
		switch {
		case ends && !w.now.Before(end.Add(-graceOf(pod))):
			w.tell("karpenter", "deletes Pod %s: the time of Node %s is up", cluster.KeyOf(pod), name)
			_ = w.Delete(pod, nil)
		case pod.Annotations[rotation.KeyDoNotDisrupt] != rotation.ValueTrue:
			_ = w.Evict(pod)
		}
	}
	if w.empty(node) || (ends && !w.now.Before(end)) {
		w.finishLater(node)
	}
}

// finishLater ends a drained Node, once: Karpenter notes on the claim that it is drained.
func (w *World) finishLater(node *corev1.Node) {
	move := Move{finishNode, cluster.KeyOf(node), node.UID}
	claim := w.claimOfNode(node)
	switch {
	case claim == nil:
		w.call(move)
	case !isTrue(claim, karpenterv1.ConditionTypeDrained):
		cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
			c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeDrained)
		})
		w.later(move, w.delay(w.config.Karpenter.Finish, "finish", node.Name))
	}
}

// endOf is when the Node ends whatever holds it: terminationGracePeriod after its claim was deleted.
func (w *World) endOf(node *corev1.Node) (end time.Time, ends bool) {
	claim := w.claimOfNode(node)
	if claim == nil || claim.DeletionTimestamp == nil || claim.Spec.TerminationGracePeriod == nil {
		return time.Time{}, false
	}
	return claim.DeletionTimestamp.Add(claim.Spec.TerminationGracePeriod.Duration), true
}

func graceOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}

// finishNode ends the instance: what was on the Node is gone, then the Node and its claim.
func (w *World) finishNode(move Move) {
	node := w.Node(move.On.Name)
	if node == nil || node.UID != move.UID {
		return
	}
	claim := w.claimOfNode(node)
	for _, pod := range slices.Clone(w.PodsBy(byNode, node.Name)) {
		w.Remove(pod)
	}
	w.Remove(node)
	if claim != nil {
		w.tell("karpenter", "has ended NodeClaim %s", claim.Name)
		w.Remove(claim)
	}
}
