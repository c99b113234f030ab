// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// news names the pools in which something has changed since an actor last looked at them. What an actor found nothing to
// do about, and what nothing has changed of since, it need not look at again: the scheduler and the provisioner are
// called at nearly every change of the cluster, and for nearly every pool it is not theirs.
type news struct {
	scheduler, provisioner map[string]bool
	// roaming counts the Pods that may be placed in any pool.
	roaming int
}

func newNews() news {
	return news{scheduler: map[string]bool{}, provisioner: map[string]bool{}}
}

// note takes a change down. Neither actor looks at a Pod's pool but by its selector, or at a Node's but by its label.
func (w *World) note(c cluster.Change) {
	switch c.Kind {
	case cluster.NodePool:
		w.news.provisioner[c.Object().GetName()] = true
	case cluster.NodeClaim:
		before, _ := c.Before.(*karpenterv1.NodeClaim)
		after, _ := c.After.(*karpenterv1.NodeClaim)
		w.news.provisioner[poolOf(before, after)] = true
	case cluster.Node:
		if c.Before != nil {
			w.news.of(c.Before.GetLabels()[rotation.LabelNodePool])
		}
		if c.After != nil {
			w.news.of(c.After.GetLabels()[rotation.LabelNodePool])
		}
	case cluster.Pod:
		if c.Before != nil {
			w.notePod(c.Before, -1)
		}
		if c.After != nil {
			w.notePod(c.After, 1)
		}
	case cluster.Budget:
		if c.Before == nil || c.After == nil || c.Before.GetGeneration() != c.After.GetGeneration() {
			for _, node := range w.going() { // a Pod that may never be evicted needs no room, and needs it from then on
				w.news.provisioner[node.Labels[rotation.LabelNodePool]] = true
			}
		}
	default:
	}
}

func (n *news) of(pool string) { n.scheduler[pool], n.provisioner[pool] = true, true }

func (w *World) notePod(o client.Object, count int) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	own, bound := poolOfPod(pod)
	if bound {
		w.news.of(own)
	}
	if roams(pod) {
		w.news.roaming += count
	}
	if pod.Spec.NodeName == "" {
		return
	}
	if node := w.Node(pod.Spec.NodeName); node != nil {
		w.news.of(node.Labels[rotation.LabelNodePool])
	}
}

// roams tells whether the Pod may be placed in any pool.
func roams(pod *corev1.Pod) bool {
	_, bound := poolOfPod(pod)
	return !bound && ownerOf(pod).kind != kindDaemonSet
}

// poolOfPod is the pool that the Pod is bound to by its selector; false for one that may be placed in any.
func poolOfPod(pod *corev1.Pod) (pool string, bound bool) {
	pool = pod.Spec.NodeSelector[rotation.LabelNodePool]
	return pool, pool != ""
}

// toSchedule are the pools that the scheduler must look at now, which it then has done; nil for all of them: while a Pod
// waits that may be placed in any, no pool is by itself.
func (w *World) toSchedule() map[string]bool {
	pools := w.news.scheduler
	w.news.scheduler = map[string]bool{}
	if w.news.roaming > 0 && slices.ContainsFunc(w.PodsBy(byNode, unbound), roams) {
		return nil
	}
	return pools
}

// toProvision are the pools that the provisioner must look at now; nil for all of them, as for the scheduler.
func (w *World) toProvision() map[string]bool {
	if w.news.roaming > 0 {
		if slices.ContainsFunc(w.PodsBy(byNode, unbound), roams) {
			return nil
		}
		for _, node := range w.going() {
			if slices.ContainsFunc(w.PodsBy(byNode, node.Name), roams) {
				return nil
			}
		}
	}
	return w.news.provisioner
}

// provisioned tells that the provisioner has looked, and which pools it must look at again though nothing changes: it may
// find a zone in which capacity is no longer short.
func (n *news) provisioned(looked, unserved map[string]bool) {
	if looked != nil {
		n.provisioner = unserved
		return
	}
	maps.Copy(n.provisioner, unserved)
}
