// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// rooms keeps what every node has left through all changes of the cluster: scheduler and provisioner ask for those of a
// whole pool again and again. It is no state: the objects say the same.
type rooms struct {
	// berths are those of each pool's nodes, in the order of their names; those of nodes without a pool are under "".
	berths map[string][]berth
	// promised are the Pods of unbound that have preempted others.
	unbound, promised []*corev1.Pod
}

// berth is a node, and what the Pods on it leave of it.
type berth struct {
	name string
	node *corev1.Node
	left amounts
}

// berthsFor are those of the nodes that a Pod may be placed on as far as its pool decides, in the order of their names.
// They are good until the next change of the cluster.
func (w *World) berthsFor(pod *corev1.Pod) []berth {
	if pool, bound := poolOfPod(pod); bound {
		return w.rooms.berths[pool]
	}
	nodes := w.Nodes()
	all := make([]berth, len(nodes))
	for i, node := range nodes {
		all[i] = *w.berth(node)
	}
	return all
}

// berth of a node that there is.
func (w *World) berth(node *corev1.Node) *berth {
	berths := w.rooms.berths[node.Labels[rotation.LabelNodePool]]
	i, _ := berthNamed(berths, node.Name)
	return &berths[i]
}

// following finds the berths of a pool's nodes by name, quickly where the names are asked for in their order; nil where
// there is no such node.
func (w *World) following(pool string) func(name string) *berth {
	ahead := w.rooms.berths[pool]
	return func(name string) *berth {
		for len(ahead) > 0 && ahead[0].name < name {
			ahead = ahead[1:]
		}
		if len(ahead) > 0 && ahead[0].name == name {
			return &ahead[0]
		}
		if node := w.Node(name); node != nil {
			return w.berth(node)
		}
		return nil
	}
}

func berthNamed(berths []berth, name string) (at int, found bool) {
	return slices.BinarySearchFunc(berths, name, func(b berth, name string) int { return cmp.Compare(b.name, name) })
}

// room is what a node has left for this Pod: what is promised to a Pod that preempted for it is kept from lesser ones.
func (w *World) room(b *berth, pod *corev1.Pod) amounts {
	room := b.left
	for _, p := range w.promised() {
		if p.Status.NominatedNodeName == b.name && p.UID != pod.UID && priorityOf(p) >= priorityOf(pod) {
			room = room.minus(requestsOf(p))
		}
	}
	return room
}

// furnish keeps the rooms through a change of a Node or a Pod.
func (w *World) furnish(c cluster.Change) {
	switch object := c.Object().(type) {
	case *corev1.Node:
		before, _ := c.Before.(*corev1.Node)
		after, _ := c.After.(*corev1.Node)
		w.furnishNode(before, after)
	case *corev1.Pod:
		if before, was := c.Before.(*corev1.Pod); was {
			w.furnishPod(before, 1)
		}
		if c.After != nil {
			w.furnishPod(object, -1)
		}
	}
}

func (w *World) furnishNode(before, after *corev1.Node) {
	if before != nil && after != nil && before.Labels[rotation.LabelNodePool] == after.Labels[rotation.LabelNodePool] {
		b := w.berth(after)
		b.left = b.left.minus(amountsOf(before.Status.Allocatable)).plus(amountsOf(after.Status.Allocatable))
		b.node = after
		return
	}
	if before != nil {
		pool := before.Labels[rotation.LabelNodePool]
		at, _ := berthNamed(w.rooms.berths[pool], before.Name)
		w.rooms.berths[pool] = slices.Delete(w.rooms.berths[pool], at, at+1)
	}
	if after != nil {
		left := amountsOf(after.Status.Allocatable)
		for _, p := range w.PodsBy(byNode, after.Name) {
			if !finished(p) {
				left = left.minus(requestsOf(p))
			}
		}
		pool := after.Labels[rotation.LabelNodePool]
		at, _ := berthNamed(w.rooms.berths[pool], after.Name)
		w.rooms.berths[pool] = slices.Insert(w.rooms.berths[pool], at, berth{after.Name, after, left})
	}
}

// furnishPod has the Pod leave its node's berth, or enter it with a sign of -1.
func (w *World) furnishPod(pod *corev1.Pod, sign int64) {
	if pod.Spec.NodeName == "" || finished(pod) {
		return
	}
	if node := w.Node(pod.Spec.NodeName); node != nil {
		b := w.berth(node)
		b.left = b.left.combine(requestsOf(pod), sign)
	}
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

// same tells whether two lists are one.
func same[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
