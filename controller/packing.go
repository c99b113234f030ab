// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// packedPod is a Pod as the cache keeps it. The struct of a Pod with nothing in it takes 1.2 kB, and the Pods of one
// workload differ in little but their names: what they have alike stands once, in a Pod that all of them point to. Nothing
// reads a packed Pod but the cache; everybody else is handed the whole one by podOf.
type packedPod struct {
	// Object answers for what is alike: annotations, owners, finalizers. Nothing may be set through it: others have it too.
	metav1.Object
	alike  *corev1.Pod
	labels *labelSet

	name, namespace, version, node string
	uid                            types.UID
	created                        metav1.Time
	deleted, started               *metav1.Time
}

var _ client.Object = (*packedPod)(nil)

// labelSet is apart from what else is alike, since the Pods of a StatefulSet carry their names in their labels.
type labelSet struct{ labels map[string]string }

// GetName implements client.Object, as do those that follow, for what each Pod has of its own.
func (p *packedPod) GetName() string { return p.name }

// GetNamespace is the Pod's own.
func (p *packedPod) GetNamespace() string { return p.namespace }

// GetUID is the Pod's own.
func (p *packedPod) GetUID() types.UID { return p.uid }

// GetResourceVersion is the Pod's own.
func (p *packedPod) GetResourceVersion() string { return p.version }

// GetCreationTimestamp is the Pod's own.
func (p *packedPod) GetCreationTimestamp() metav1.Time { return p.created }

// GetDeletionTimestamp is the Pod's own.
func (p *packedPod) GetDeletionTimestamp() *metav1.Time { return p.deleted }

// GetLabels are shared with the Pods that have the same ones.
func (p *packedPod) GetLabels() map[string]string { return p.labels.labels }

// GetObjectKind is empty, as it is of everything in the cache.
func (p *packedPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject is the whole Pod.
func (p *packedPod) DeepCopyObject() runtime.Object { return p.whole().DeepCopy() }

// whole is the Pod that was packed. It shares what it has alike with others, and must not be changed.
func (p *packedPod) whole() *corev1.Pod {
	pod := *p.alike
	pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion = p.name, p.namespace, p.uid, p.version
	pod.CreationTimestamp, pod.DeletionTimestamp, pod.Labels = p.created, p.deleted, p.labels.labels
	pod.Spec.NodeName, pod.Status.StartTime = p.node, p.started
	return &pod
}

// podOf is the Pod that an object of a cache is; false where it is something else.
func podOf(object client.Object) (*corev1.Pod, bool) {
	if packed, is := object.(*packedPod); is {
		return packed.whole(), true
	}
	pod, is := object.(*corev1.Pod)
	return pod, is
}

// packing makes packed Pods of Pods, and holds what they have alike. Safe for concurrent use.
type packing struct {
	alike  shared[corev1.Pod]
	labels shared[labelSet]
}

// transform trims and packs a Pod for the cache. What is packed already stays as it is: an informer may ask twice.
func (k *packing) transform(object any) (any, error) {
	trimmed, err := trimPod(object)
	pod, is := trimmed.(*corev1.Pod)
	if err != nil || !is {
		return trimmed, err
	}
	packed, err := k.pack(pod)
	if err != nil {
		return nil, fmt.Errorf("Pod %s/%s cannot be kept: %w", pod.Namespace, pod.Name, err)
	}
	return packed, nil
}

// pack takes the Pod apart.
func (k *packing) pack(pod *corev1.Pod) (*packedPod, error) {
	packed := &packedPod{
		name: pod.Name, namespace: unique.Make(pod.Namespace).Value(), uid: pod.UID, version: pod.ResourceVersion,
		node: unique.Make(pod.Spec.NodeName).Value(), created: pod.CreationTimestamp, deleted: pod.DeletionTimestamp, started: pod.Status.StartTime,
	}
	labels := &labelSet{pod.Labels}
	pod.Name, pod.Namespace, pod.UID, pod.ResourceVersion, pod.Spec.NodeName = "", "", "", "", ""
	pod.CreationTimestamp, pod.DeletionTimestamp, pod.Status.StartTime, pod.Labels = metav1.Time{}, nil, nil, nil
	alike, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	same, err := json.Marshal(labels.labels)
	if err != nil {
		return nil, err
	}
	packed.alike, packed.labels = k.alike.of(string(alike), pod), k.labels.of(string(same), labels)
	packed.Object = packed.alike
	return packed, nil
}
