// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// Daemon stands for a DaemonSet: one Pod on every node that it tolerates, and none that keeps a node from being drained.
type Daemon struct {
	Namespace, Name string
	Requests        corev1.ResourceList
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

func (o owner) String() string { return o.kind + "/" + o.namespace + "/" + o.name }

func ownerOf(o client.Object) owner {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return owner{}
	}
	return owner{ref.Kind, o.GetNamespace(), ref.Name}
}

func (w *World) workload(key cluster.Key) *Workload {
	i := slices.IndexFunc(w.config.Workloads, func(l Workload) bool { return l.key() == key })
	if i < 0 {
		return nil
	}
	return &w.config.Workloads[i]
}

func (w *World) workloadOf(pod *corev1.Pod) *Workload {
	o := ownerOf(pod)
	if o.kind != kindReplicaSet {
		return nil
	}
	return w.workload(cluster.Key{Namespace: o.namespace, Name: o.name})
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
	load := w.workload(key)
	if load == nil {
		return
	}
	active := slices.DeleteFunc(slices.Clone(w.PodsBy(byOwner, owner{kindReplicaSet, key.Namespace, key.Name}.String())), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || finished(p)
	})
	for n, missing := 0, load.Replicas-len(active); missing > 0; n++ {
		name := fmt.Sprintf("%s-%d", load.Name, n)
		if w.Pod(load.Namespace, name) != nil {
			continue
		}
		missing--
		w.startPod(load.Namespace, name, load.Template, owner{kindReplicaSet, load.Namespace, load.Name})
	}
}

// startPod creates a Pod as its controller does.
func (w *World) startPod(namespace, name string, template corev1.PodTemplateSpec, by owner) {
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: by.kind, Name: by.name, Controller: new(true)}}
	if err := w.Create(pod); err != nil {
		w.tell(by.kind, "%s/%s cannot create Pod %s: %v", by.namespace, by.name, name, err)
	}
}

// fillDaemons sees to it that every daemon set has its Pod on the node.
func (w *World) fillDaemons(name string) {
	node := w.Node(name)
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	for _, d := range w.config.Daemons {
		pod := d.Name + "-" + name
		if w.Pod(d.Namespace, pod) != nil {
			continue
		}
		w.startPod(d.Namespace, pod, corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeName: name, PriorityClassName: daemonClass, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "daemon", Resources: corev1.ResourceRequirements{Requests: d.Requests}}},
		}}, owner{kindDaemonSet, d.Namespace, d.Name})
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
		for _, node := range w.NodesBy(byDeletion, deleting) {
			w.call(Move{Verb: drain, On: cluster.KeyOf(node)})
		}
	}
}

// countBudget is the disruption controller's: how many of the budget's Pods may go now.
func (w *World) countBudget(key cluster.Key) {
	budget := w.Budget(key.Namespace, key.Name)
	if budget == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return
	}
	var healthy, expected int32
	counted := map[owner]bool{}
	for i := range w.config.Workloads {
		load := &w.config.Workloads[i]
		if load.Namespace != budget.Namespace || !selector.Matches(labels.Set(load.Template.Labels)) {
			continue
		}
		o := owner{kindReplicaSet, load.Namespace, load.Name}
		counted[o] = true
		expected += int32(load.Replicas)
		for _, pod := range w.PodsBy(byOwner, o.String()) {
			if podReady(pod) {
				healthy++
			}
		}
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
