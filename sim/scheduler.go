// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"noderotation.io/noderotation/sim/cluster"
)

// The scheduler stands for kube-scheduler: it binds Pods by requests, node selector, required and preferred node
// affinity, taints and the cordon, most important Pod first, to the node that the Pod prefers and that has most room. A
// Pod that fits nowhere preempts lesser ones if its policy lets it, else it is marked Unschedulable.

// schedule looks at every Pod that has no node, as far as it could not be placed for a reason that may be gone.
func (w *World) schedule() {
	pools := w.toSchedule()
	var waiting []*corev1.Pod
	for _, pod := range w.PodsBy(byNode, unbound) {
		if pool, _ := poolOfPod(pod); pools == nil || pools[pool] {
			waiting = append(waiting, pod)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(priorityOf(b), priorityOf(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	for _, pod := range waiting {
		if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 {
			continue
		}
		if node := w.place(pod); node != nil {
			w.bind(pod, node)
		} else if !w.preempt(pod) {
			w.refuse(pod)
		}
	}
}

// place finds the node for a Pod; nil when none will do.
func (w *World) place(pod *corev1.Pod) *corev1.Node {
	wish := w.wishOf(pod)
	var best *corev1.Node
	var bestScore, bestRoom int64
	berths := w.berthsFor(pod)
	for i := range berths {
		b := &berths[i]
		room := w.room(b, pod) // known, and sooner compared than labels
		if !room.holds(wish.requests) || !wish.admits(b.node) {
			continue
		}
		score := wish.score(b.node)
		if best == nil || score > bestScore || (score == bestScore && room.cpu > bestRoom) {
			best, bestScore, bestRoom = b.node, score, room.cpu
		}
	}
	return best
}

func (w *World) bind(pod *corev1.Pod, node *corev1.Node) {
	cluster.Edit(w.Cluster, pod, func(p *corev1.Pod) {
		p.Spec.NodeName = node.Name
		p.Status.NominatedNodeName = ""
		p.Status.Conditions = cluster.Condition(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	})
}

// refuse marks the Pod as one that Karpenter should find a node for.
func (w *World) refuse(pod *corev1.Pod) {
	if unschedulable(pod) {
		return
	}
	cluster.Edit(w.Cluster, pod, func(p *corev1.Pod) {
		p.Status.Conditions = cluster.Condition(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "no node fits the Pod's requests and requirements",
		})
	})
}

// preempt deletes the fewest lesser Pods of a node whose going makes room, the least important first.
func (w *World) preempt(pod *corev1.Pod) bool {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		return false
	}
	if nominated := w.Node(pod.Status.NominatedNodeName); nominated != nil && w.leaving(nominated, pod) {
		return true
	}
	wish := w.wishOf(pod)
	var chosen *corev1.Node
	var victims []*corev1.Pod
	berths := w.berthsFor(pod)
	for i := range berths {
		b := &berths[i]
		if !wish.admits(b.node) {
			continue
		}
		if v := w.victims(b, pod, wish.requests); v != nil && (chosen == nil || len(v) < len(victims)) {
			chosen, victims = b.node, v
		}
	}
	if chosen == nil {
		return false
	}
	cluster.Edit(w.Cluster, pod, func(p *corev1.Pod) { p.Status.NominatedNodeName = chosen.Name })
	for _, victim := range victims {
		w.tell("scheduler", "preempts Pod %s for Pod %s", cluster.KeyOf(victim), cluster.KeyOf(pod))
		_ = w.Delete(victim, nil)
	}
	return true
}

// leaving tells whether a Pod that was preempted for this one is still on its way out.
func (w *World) leaving(node *corev1.Node, pod *corev1.Pod) bool {
	return slices.ContainsFunc(w.PodsBy(byNode, node.Name), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil && priorityOf(p) < priorityOf(pod)
	})
}

func (w *World) victims(b *berth, pod *corev1.Pod, requests amounts) []*corev1.Pod {
	var lesser []*corev1.Pod
	for _, p := range w.PodsBy(byNode, b.name) {
		if priorityOf(p) < priorityOf(pod) && p.DeletionTimestamp == nil {
			lesser = append(lesser, p)
		}
	}
	if len(lesser) == 0 {
		return nil
	}
	room := w.room(b, pod)
	slices.SortStableFunc(lesser, func(a, b *corev1.Pod) int { return cmp.Compare(priorityOf(a), priorityOf(b)) })
	for i, p := range lesser {
		room = room.plus(requestsOf(p))
		if room.holds(requests) {
			return lesser[:i+1]
		}
	}
	return nil
}

// wish is what a Pod asks of its node.
type wish struct {
	pod      *corev1.Pod
	requests amounts
	affinity *affinity
}

// affinity is a Pod's node affinity, made ready for matching. Copies of a Pod share it, and Pods of one template too.
type affinity struct {
	required  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms
}

// mostAffinities is how many are kept ready; beyond that they are made anew.
const mostAffinities = 256

func (w *World) wishOf(pod *corev1.Pod) wish {
	wish := wish{pod: pod, requests: requestsOf(pod)}
	stated := pod.Spec.Affinity
	if stated == nil || stated.NodeAffinity == nil {
		return wish
	}
	known, made := w.affinities[stated]
	if !made {
		known = &affinity{required: nodeaffinity.NewRequiredNodeAffinity(nil, stated)}
		if preferred := stated.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(preferred) > 0 {
			known.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(preferred)
		}
		if len(w.affinities) >= mostAffinities || w.affinities == nil {
			w.affinities = map[*corev1.Affinity]*affinity{}
		}
		w.affinities[stated] = known
	}
	wish.affinity = known
	return wish
}

// admits tells whether the Pod may be put on the node, room aside.
func (w *wish) admits(node *corev1.Node) bool {
	if node.Spec.Unschedulable || !w.toleratesAll(node.Spec.Taints) {
		return false
	}
	for key, value := range w.pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	if w.affinity == nil {
		return true
	}
	matches, err := w.affinity.required.Match(node)
	return err == nil && matches
}

func (w *wish) toleratesAll(taints []corev1.Taint) bool {
	if len(taints) == 0 {
		return true
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(klog.Logger{}, taints, w.pod.Spec.Tolerations, keepsOut, false)
	return !untolerated
}

func keepsOut(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }

func (w *wish) score(node *corev1.Node) int64 {
	if w.affinity == nil || w.affinity.preferred == nil {
		return 0
	}
	return w.affinity.preferred.Score(node)
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
