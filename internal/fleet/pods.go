// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
)

// PodFact is one thing that is so of a Pod, at the snapshot's Now.
type PodFact func(p *corev1.Pod, now time.Time)

// WithPlaceholderOn has the placeholder of the anchored claim, bound to the node, in this phase. Without a node it
// waits for one. Anchored comes before it.
func WithPlaceholderOn(node string, phase corev1.PodPhase, facts ...PodFact) Fact {
	return func(s *rotation.Snapshot) {
		claim := s.Anchor()
		name := rotation.PlaceholderName(claim)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: s.Settings.Namespace, UID: types.UID("uid-of-" + name),
				Labels: rotation.PlaceholderLabels(), Annotations: map[string]string{rotation.KeySurgeFor: claim},
				CreationTimestamp: metav1.NewTime(s.Now.Add(-time.Minute)),
			},
			Spec:   corev1.PodSpec{NodeName: node, NodeSelector: map[string]string{rotation.LabelNodePool: s.Pool.Name}},
			Status: corev1.PodStatus{Phase: phase},
		}
		for _, fact := range facts {
			fact(pod, s.Now)
		}
		s.Placeholders = append(s.Placeholders, pod)
		if node == "" {
			s.Unbound = append(s.Unbound, pod)
		} else {
			s.PodsByNode[node] = append(s.PodsByNode[node], pod)
		}
	}
}

// Preempted is still there, with a deletionTimestamp.
func Preempted(p *corev1.Pod, now time.Time) { p.DeletionTimestamp = &metav1.Time{Time: now} }

// RunningFor has the kubelet know the Pod since then.
func RunningFor(since time.Duration) PodFact {
	return func(p *corev1.Pod, now time.Time) { p.Status.StartTime = &metav1.Time{Time: now.Add(-since)} }
}

// Unschedulable is what the scheduler could find no node for.
func Unschedulable(message string) PodFact {
	return func(p *corev1.Pod, _ time.Time) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		})
	}
}

// WithWorkloadOn runs a Pod of a Deployment on the node that asks for the amounts, "cpu=1".
func WithWorkloadOn(node, name string, requests ...string) Fact {
	return func(s *rotation.Snapshot) {
		s.PodsByNode[node] = append(s.PodsByNode[node], &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "shop", UID: types.UID("uid-of-" + name),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}},
			},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
				Name: "main", Resources: corev1.ResourceRequirements{Requests: Amounts(requests...)},
			}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
}
