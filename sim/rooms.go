// SPDX-License-Identifier: Apache-2.0

package sim

import (
	corev1 "k8s.io/api/core/v1"
)

// rooms remembers what every node has left. It is a cache, no state: what it holds was reckoned from objects and lists
// of objects that are never changed, and is good for as long as those are the cluster's.
type rooms struct {
	nodes map[string]reckoned
	// promised are the Pods of unbound that have preempted others.
	unbound, promised []*corev1.Pod
}

// reckoned is what the node had left beside the Pods on it.
type reckoned struct {
	node *corev1.Node
	pods []*corev1.Pod
	left amounts
}

// room is what a node has left for this Pod: what is promised to a Pod that preempted for it is kept from lesser ones.
func (w *World) room(node *corev1.Node, pod *corev1.Pod) amounts {
	room := w.left(node)
	for _, p := range w.promised() {
		if p.Status.NominatedNodeName == node.Name && p.UID != pod.UID && priorityOf(p) >= priorityOf(pod) {
			room = room.minus(requestsOf(p))
		}
	}
	return room
}

func (w *World) left(node *corev1.Node) amounts {
	pods := w.PodsBy(byNode, node.Name)
	known := w.rooms.nodes[node.Name]
	if known.node == node && same(known.pods, pods) {
		return known.left
	}
	left := amountsOf(node.Status.Allocatable)
	for _, p := range pods {
		if !finished(p) {
			left = left.minus(requestsOf(p))
		}
	}
	if w.rooms.nodes == nil {
		w.rooms.nodes = map[string]reckoned{}
	}
	w.rooms.nodes[node.Name] = reckoned{node, pods, left}
	return left
}

// promised are the Pods without a node that one is promised to.
func (w *World) promised() []*corev1.Pod {
	unbound := w.PodsBy(byNode, unbound)
	if same(w.rooms.unbound, unbound) {
		return w.rooms.promised
	}
	var promised []*corev1.Pod
	for _, p := range unbound {
		if p.Status.NominatedNodeName != "" {
			promised = append(promised, p)
		}
	}
	w.rooms.unbound, w.rooms.promised = unbound, promised
	return promised
}

// forget drops what is remembered of a node that is gone.
func (r *rooms) forget(node string) { delete(r.nodes, node) }

// same tells whether two lists are one.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
