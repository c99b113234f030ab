// SPDX-License-Identifier: Apache-2.0

package sim

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Daemon stands for a DaemonSet: one Pod on every node that it is for and tolerates, and none that keeps a node from being
// drained.
type Daemon struct {
	Namespace, Name string
	Requests        corev1.ResourceList
	// NodeSelector, Affinity and Tolerations say which nodes, as in the template of its Pods.
	NodeSelector map[string]string
	Affinity     *corev1.Affinity
	Tolerations  []corev1.Toleration
}

// daemon is a daemon set made ready for its nodes: what its Pod asks of one, its place included.
type daemon struct {
	Daemon
	wish wish
}

func (w *World) daemonsOf(all []Daemon) []daemon {
	ready := make([]daemon, len(all))
	for i, d := range all {
		ready[i] = daemon{d, w.wishOf(&corev1.Pod{Spec: corev1.PodSpec{
			NodeSelector: d.NodeSelector, Affinity: d.Affinity, Tolerations: d.Tolerations,
			Containers: []corev1.Container{{Name: "daemon", Resources: corev1.ResourceRequirements{Requests: d.Requests}}},
		}})}
	}
	return ready
}

// fillDaemons sees to it that every daemon set has its Pod on the node.
func (w *World) fillDaemons(name string) {
	node := w.Node(name)
	if node == nil || node.DeletionTimestamp != nil || len(w.daemons) == 0 {
		return
	}
	lasting := w.lasting(node)
	for i := range w.daemons {
		d := &w.daemons[i]
		pod := d.Name + "-" + name
		if w.Pod(d.Namespace, pod) != nil || !d.wish.admits(lasting) {
			continue
		}
		w.startPod(d.Namespace, pod, corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeName: name, PriorityClassName: daemonClass, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: d.wish.pod.Spec.Containers,
		}}, owner{kindDaemonSet, d.Namespace, d.Name})
	}
}

// lasting is the node without what passes: the cordon, and the taints of a claim's node while it starts or goes.
func (w *World) lasting(node *corev1.Node) *corev1.Node {
	as := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}}
	as.Spec.Taints = node.Spec.Taints
	if claim := w.claimOfNode(node); claim != nil {
		as.Spec.Taints = claim.Spec.Taints
	}
	return as
}

// roomOf is what the node that a claim will bring has for other Pods than those of daemon sets.
func (w *World) roomOf(claim *karpenterv1.NodeClaim) amounts {
	room := amountsOf(w.config.Karpenter.shapeOf(claim).Allocatable)
	if len(w.daemons) == 0 {
		return room
	}
	node := w.expected(claim)
	for i := range w.daemons {
		if its := &w.daemons[i].wish; its.admits(node) {
			room = room.minus(its.requests)
		}
	}
	return room
}
