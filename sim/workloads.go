// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/sim/cluster"
)

// Workload stands for a ReplicaSet: so many Pods of one template, each replaced at once when it goes.
type Workload struct {
	Namespace, Name string
	Replicas        int
	Template        corev1.PodTemplateSpec
	// ReadyAfter is how long a Pod takes from its binding until it is Ready.
	ReadyAfter time.Duration
	// EndsAfter is how long a Pod takes to end once it is asked to; its grace period cuts that short.
	EndsAfter time.Duration
}

const (
	kindReplicaSet = "ReplicaSet"
	kindDaemonSet  = "DaemonSet"
	// pauseStartup is how long a Pod takes to start that belongs to nobody, such as a placeholder.
	pauseStartup = time.Second
)

func (l *Workload) key() cluster.Key { return cluster.Key{Namespace: l.Namespace, Name: l.Name} }

// owner is the controller of a Pod.
type owner struct{ kind, namespace, name string }

func ownerOf(o client.Object) owner {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return owner{}
	}
	return owner{ref.Kind, o.GetNamespace(), ref.Name}
}

// crew is a workload, and what is reckoned of its Pods as they come and go.
type crew struct {
	*Workload
	owner owner
	// active Pods are neither done nor going; healthy ones are Ready.
	active, healthy int
	// names are those of its Pods, by number, as many as were asked for so far. Those below taken are in use.
	names []string
	taken int
}

func crewsOf(workloads []Workload) map[cluster.Key]*crew {
	crews := make(map[cluster.Key]*crew, len(workloads))
	for i := range workloads {
		load := &workloads[i]
		if crews[load.key()] == nil {
			crews[load.key()] = &crew{Workload: load, owner: owner{kindReplicaSet, load.Namespace, load.Name}}
		}
	}
	return crews
}

// count keeps the crew's numbers through a change of one of its Pods.
func (c *crew) count(before, after *corev1.Pod) {
	for _, change := range []struct {
		pod *corev1.Pod
		by  int
	}{{before, -1}, {after, 1}} {
		switch {
		case change.pod == nil || change.pod.DeletionTimestamp != nil:
			continue
		case podReady(change.pod):
			c.healthy += change.by
		}
		if !finished(change.pod) {
			c.active += change.by
		}
	}
	if after == nil {
		number, _ := strings.CutPrefix(before.Name, c.Name+"-")
		if n, err := strconv.Atoi(number); err == nil && 0 <= n && n < c.taken {
			c.taken = n
		}
	}
}

// freeName is the first name that no Pod has, by number.
func (c *crew) freeName(w *World) string {
	for n := c.taken; ; n++ {
		if len(c.names) == n {
			c.names = append(c.names, fmt.Sprintf("%s-%d", c.Name, n))
		}
		pod := w.Pod(c.Namespace, c.names[n])
		if pod == nil {
			return c.names[n]
		}
		if n == c.taken && ownerOf(pod) == c.owner {
			c.taken++ // one that is somebody else's may go unnoticed
		}
	}
}

func (w *World) workloadOf(pod *corev1.Pod) *crew {
	o := ownerOf(pod)
	if o.kind != kindReplicaSet {
		return nil
	}
	return w.crews[cluster.Key{Namespace: o.namespace, Name: o.name}]
}

// ownerCalled has a Pod's owner look after it.
func (w *World) ownerCalled(pod *corev1.Pod) {
	switch o := ownerOf(pod); o.kind {
	case kindReplicaSet:
		w.call(Move{Verb: fillWorkload, On: cluster.Key{Namespace: o.namespace, Name: o.name}})
	case kindDaemonSet:
		w.call(Move{Verb: fillDaemons, On: cluster.Key{Name: pod.Spec.NodeName}})
	}
}

// fillWorkload brings a workload to its number of Pods.
func (w *World) fillWorkload(key cluster.Key) {
	load := w.crews[key]
	if load == nil {
		return
	}
	for range load.Replicas - load.active {
		w.startPod(load.Namespace, load.freeName(w), load.Template, load.owner)
	}
}

// startPod creates a Pod as its controller does.
func (w *World) startPod(namespace, name string, template corev1.PodTemplateSpec, by owner) {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: by.kind, Name: by.name, Controller: new(true)}}
	if err := w.Adopt(pod); err != nil {
		w.tell(by.kind, "%s/%s cannot create Pod %s: %v", by.namespace, by.name, name, err)
	}
}

// startup is how long the kubelet takes to have the Pod running and Ready.
func (w *World) startup(pod *corev1.Pod) time.Duration {
	if load := w.workloadOf(pod); load != nil {
		return load.ReadyAfter
	}
	return pauseStartup
}

// ending is how long the Pod takes to end: its own time, within its grace period.
func (w *World) ending(pod *corev1.Pod) time.Duration {
	grace := max(0, pod.DeletionTimestamp.Sub(w.now))
	if load := w.workloadOf(pod); load != nil {
		return min(max(load.EndsAfter, w.slow), grace)
	}
	return 0
}

// runPod is the kubelet's: the Pod runs and is Ready.
func (w *World) runPod(move Move) {
	pod := w.Pod(move.On.Namespace, move.On.Name)
	if pod == nil || pod.UID != move.UID || pod.DeletionTimestamp != nil || w.Node(pod.Spec.NodeName) == nil {
		return
	}
	cluster.Edit(w.Cluster, pod, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &metav1.Time{Time: w.now.Truncate(time.Second)}
		p.Status.Conditions = cluster.Condition(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	})
}

// endPod is the kubelet's: the Pod has ended.
func (w *World) endPod(move Move) {
	pod := w.Pod(move.On.Namespace, move.On.Name)
	if pod == nil || pod.UID != move.UID || pod.DeletionTimestamp == nil {
		return
	}
	w.Remove(pod)
}

// budgetsCalled has the disruption controller count the Pod's budgets anew.
func (w *World) budgetsCalled(pod *corev1.Pod) {
	for _, b := range w.BudgetsOver(pod) {
		w.call(Move{Verb: countBudget, On: cluster.KeyOf(b)})
	}
}

func (w *World) budgetChanged(before, after *policyv1.PodDisruptionBudget) {
	if after != nil && (before == nil || before.Generation != after.Generation) {
		w.call(Move{Verb: countBudget, On: cluster.KeyOf(after)})
	}
	if after == nil || (before != nil && after.Status.DisruptionsAllowed > before.Status.DisruptionsAllowed) {
		budget := cmp.Or(after, before)
		for _, node := range w.NodesBy(byDeletion, deleting) {
			if w.hosts(node, budget.Namespace) {
				w.call(Move{Verb: drain, On: cluster.KeyOf(node)})
			}
		}
	}
}

// hosts tells whether there are Pods of the namespace on the node.
func (w *World) hosts(node *corev1.Node, namespace string) bool {
	return slices.ContainsFunc(w.PodsBy(byNode, node.Name), func(p *corev1.Pod) bool { return p.Namespace == namespace })
}

// countBudget is the disruption controller's: how many of the budget's Pods may go now.
func (w *World) countBudget(key cluster.Key) {
	budget := w.Budget(key.Namespace, key.Name)
	if budget == nil {
		return
	}
	var healthy, expected int32
	for i := range w.config.Workloads {
		load := &w.config.Workloads[i]
		if load.Namespace != budget.Namespace || !w.Selects(budget, load.Template.Labels) {
			continue
		}
		expected += int32(load.Replicas)
		healthy += int32(w.crews[load.key()].healthy)
	}
	desired := desiredHealthy(budget, expected)
	status := budget.Status
	status.ExpectedPods, status.CurrentHealthy, status.DesiredHealthy = expected, healthy, desired
	status.DisruptionsAllowed, status.ObservedGeneration = max(0, healthy-desired), budget.Generation
	if sameCounts(status, budget.Status) {
		return
	}
	cluster.Edit(w.Cluster, budget, func(b *policyv1.PodDisruptionBudget) { b.Status = status })
}

func sameCounts(a, b policyv1.PodDisruptionBudgetStatus) bool {
	return a.ExpectedPods == b.ExpectedPods && a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy &&
		a.DisruptionsAllowed == b.DisruptionsAllowed && a.ObservedGeneration == b.ObservedGeneration
}

func desiredHealthy(budget *policyv1.PodDisruptionBudget, expected int32) int32 {
	scaled := func(v *intstr.IntOrString) int32 {
		n, err := intstr.GetScaledValueFromIntOrPercent(v, int(expected), true)
		if err != nil {
			return expected
		}
		return int32(n)
	}
	switch {
	case budget.Spec.MinAvailable != nil:
		return scaled(budget.Spec.MinAvailable)
	case budget.Spec.MaxUnavailable != nil:
		return max(0, expected-scaled(budget.Spec.MaxUnavailable))
	default:
		return 0
	}
}
