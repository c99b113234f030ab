// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"

	"noderotation.io/noderotation/rotation"
)

// podAnnotations are those of a Pod that anything of ours reads.
var podAnnotations = []string{rotation.KeySurgeFor, rotation.KeyDoNotDisrupt, corev1.MirrorPodAnnotationKey}

func keptAnnotations(annotations map[string]string) map[string]string {
	var kept map[string]string
	for _, key := range podAnnotations {
		value, present := annotations[key]
		if !present {
			continue
		}
		if kept == nil {
			kept = make(map[string]string, 1)
		}
		kept[key] = value
	}
	return kept
}

// slimOwner keeps the kind: it tells DaemonSet Pods and static Pods from others.
func slimOwner(owner metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, Controller: owner.Controller}
}

// keptTolerations leaves out the two that admission gives to nearly every Pod, for evictions from a Node that is not
// Ready or not reachable: none such is judged by its taints.
func keptTolerations(tolerations []corev1.Toleration) []corev1.Toleration {
	var kept []corev1.Toleration
	for _, t := range tolerations {
		byAdmission := t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
		if !byAdmission || t.Effect != corev1.TaintEffectNoExecute {
			kept = append(kept, t)
		}
	}
	return kept
}

// keptConditions are the scheduler's word on a Pod that it could not place, and that a Pod is Ready.
func keptConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range conditions {
		unplaced := c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		if unplaced || (c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue) {
			kept = append(kept, corev1.PodCondition{Type: c.Type, Status: c.Status, Message: c.Message})
		}
	}
	return kept
}

// requiredNodeAffinity keeps the part of an affinity that can pin a Pod to its host.
func requiredNodeAffinity(affinity *corev1.Affinity) *corev1.Affinity {
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
}

// oneContainer stands for all that the Pod runs: it asks for what the scheduler reserves for the whole Pod, init
// containers, overhead and Pod-level resources included.
func oneContainer(pod *corev1.Pod) []corev1.Container {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
}

// trimPod keeps what sizing, drain and reaping read of a Pod.
func trimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{}
	slim.Name, slim.Namespace, slim.UID, slim.ResourceVersion = pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion
	slim.Labels, slim.Annotations = pod.Labels, keptAnnotations(pod.Annotations)
	slim.CreationTimestamp, slim.DeletionTimestamp = pod.CreationTimestamp, pod.DeletionTimestamp
	slim.Finalizers = pod.Finalizers
	for _, owner := range pod.OwnerReferences {
		slim.OwnerReferences = append(slim.OwnerReferences, slimOwner(owner))
	}
	slim.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, NodeSelector: pod.Spec.NodeSelector, SchedulingGates: pod.Spec.SchedulingGates,
		Tolerations: keptTolerations(pod.Spec.Tolerations),
		Affinity:    requiredNodeAffinity(pod.Spec.Affinity),
		Containers:  oneContainer(pod),
	}
	slim.Status.Phase, slim.Status.StartTime = pod.Status.Phase, pod.Status.StartTime
	slim.Status.NominatedNodeName = pod.Status.NominatedNodeName
	slim.Status.Conditions = keptConditions(pod.Status.Conditions)
	return slim, nil
}

// trimNode drops what a Node carries for others: images, volumes, addresses.
func trimNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{ObjectMeta: node.ObjectMeta}
	slim.ManagedFields = nil
	slim.Spec = corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints, ProviderID: node.Spec.ProviderID}
	slim.Status = corev1.NodeStatus{Allocatable: node.Status.Allocatable}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			slim.Status.Conditions = append(slim.Status.Conditions, c)
		}
	}
	return slim, nil
}
