// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// How long the Pods of a dump take: it does not say.
const (
	usualStart = 20 * time.Second
	usualEnd   = 5 * time.Second
)

// guests are the Pods of the input. Those of one controller become one workload, whatever the controller is; those of a
// DaemonSet are made anew on every Node.
func (in *Input) guests(config *sim.Config, start time.Time) []client.Object {
	var objects []client.Object
	loads := map[client.ObjectKey]int{}
	daemons := map[client.ObjectKey]bool{}
	for _, pod := range in.Pods {
		by := metav1.GetControllerOf(pod)
		switch {
		case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil:
		case by != nil && by.Kind == "Node":
			// A static Pod comes and goes with its Node.
		case rotation.IsPlaceholder(pod):
			config.Settings = rotation.Settings{Namespace: pod.Namespace, PriorityClass: pod.Spec.PriorityClassName}
			objects = append(objects, pod)
		case by != nil && by.Kind == "DaemonSet":
			key := client.ObjectKey{Namespace: pod.Namespace, Name: by.Name}
			if !daemons[key] {
				config.Daemons = append(config.Daemons, daemonOf(key, pod))
			}
			daemons[key] = true
		case by != nil:
			key := client.ObjectKey{Namespace: pod.Namespace, Name: by.Name}
			i, known := loads[key]
			if !known {
				i = len(config.Workloads)
				loads[key] = i
				config.Workloads = append(config.Workloads, workloadOf(key, pod))
			}
			config.Workloads[i].Replicas++
			objects = append(objects, tenant(pod, by.Name, start))
		default:
			objects = append(objects, pod)
		}
	}
	return objects
}

// daemonOf is the DaemonSet of a Pod. Which node the Pod itself is for is left out.
func daemonOf(key client.ObjectKey, pod *corev1.Pod) sim.Daemon {
	d := sim.Daemon{
		Namespace: key.Namespace, Name: key.Name, Requests: requestsOf(pod), Tolerations: pod.Spec.Tolerations, NodeSelector: map[string]string{},
	}
	for label, value := range pod.Spec.NodeSelector {
		d.NodeSelector[normal(label)] = value
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return d
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.DeepCopy()
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchFields = nil
		if len(term.MatchExpressions) == 0 {
			return d // the template asks for nothing: the DaemonSet's controller has added the Node's name alone
		}
		for n := range term.MatchExpressions {
			term.MatchExpressions[n].Key = normal(term.MatchExpressions[n].Key)
		}
	}
	d.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	return d
}

// normal is a label by its name of today.
func normal(label string) string {
	if today, old := karpenterv1.NormalizedLabels[label]; old {
		return today
	}
	return label
}

func workloadOf(key client.ObjectKey, pod *corev1.Pod) sim.Workload {
	spec := *pod.Spec.DeepCopy()
	spec.NodeName = ""
	return sim.Workload{
		Namespace: key.Namespace, Name: key.Name, ReadyAfter: usualStart, EndsAfter: usualEnd,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: spec},
	}
}

// tenant is the Pod with an owner that the simulated cluster knows.
func tenant(pod *corev1.Pod, owner string, start time.Time) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, Controller: new(true)}}
	if pod.Spec.NodeName != "" && pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.StartTime = &metav1.Time{Time: start.Truncate(time.Second)}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}
	}
	return pod
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for i := range pod.Spec.Containers {
		for name, quantity := range pod.Spec.Containers[i].Resources.Requests {
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}
