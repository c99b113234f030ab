// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

var (
	birth = metav1.NewTime(time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC))
	now   = metav1.NewTime(birth.Add(time.Minute))
	// two is a fleet of two nodes with two Pods.
	two = fleet{Pool: "web", App: "web", Nodes: 2, Replicas: 2, Cooldown: 5 * time.Second, Originals: []string{"old", "other"}}
)

// annotated are annotations, given by key and value in turn.
func annotated(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

func meta(name string, annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: metav1.NamespaceDefault, Annotations: annotations, CreationTimestamp: birth,
		Labels: map[string]string{karpenterv1.NodePoolLabelKey: "web"},
	}
}

func pool(annotations ...string) *karpenterv1.NodePool {
	return &karpenterv1.NodePool{ObjectMeta: meta("web", annotated(annotations...))}
}

// claim lives for a day and has been launched; its Node is node-NAME.
func claim(name string, annotations ...string) *karpenterv1.NodeClaim {
	c := &karpenterv1.NodeClaim{ObjectMeta: meta(name, annotated(annotations...))}
	c.Labels[corev1.LabelTopologyZone] = "test-zone-b"
	c.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: new(24 * time.Hour)}
	c.Status.NodeName, c.Status.ProviderID = "node-"+name, "kwok://"+name
	c.StatusConditions().SetTrue(karpenterv1.ConditionTypeLaunched)
	return c
}

func deleted[O record.Object](object O) O {
	object.SetDeletionTimestamp(&now)
	return object
}

// node is the Node of the claim of that name.
func node(name string, ready bool, annotations ...string) *corev1.Node {
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return &corev1.Node{
		ObjectMeta: meta("node-"+name, annotated(annotations...)),
		Spec:       corev1.NodeSpec{ProviderID: "kwok://" + name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
	}
}

// pod is one of the workload's, on the Node of the claim of that name.
func pod(name, on string, ready bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(name, nil), Spec: corev1.PodSpec{NodeName: "node-" + on}}
	p.Labels = map[string]string{"app": "web"}
	if ready {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

func evictedPod(name, on string) *corev1.Pod {
	p := deleted(pod(name, on, true))
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: evictedByAPI,
	})
	return p
}

// placeholder asks for 3 CPU in a zone, for the claim old.
func placeholder(phase corev1.PodPhase, on string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta("surge-for-old", annotated(rotation.KeySurgeFor, "old"))}
	p.Labels = rotation.PlaceholderLabels()
	p.Status.Phase = phase
	if on != "" {
		p.Spec.NodeName = "node-" + on
	}
	p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
	}}}
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"test-zone-b"},
			}},
		}}},
	}}
	return p
}

func budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: meta("web", nil),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
}

func comes(object record.Object) record.Event {
	return record.Event{Change: watch.Added, After: object}
}
func turns(object record.Object) record.Event {
	return record.Event{Change: watch.Modified, After: object}
}
func goes(object record.Object) record.Event {
	return record.Event{Change: watch.Deleted, After: object}
}

// standing is the fleet of two before any rotation.
func standing() []record.Object {
	other := claim("other")
	other.CreationTimestamp = metav1.NewTime(birth.Add(time.Hour))
	return []record.Object{
		pool(), claim("old"), other, node("old", true), node("other", true), budget(), pod("a", "old", true), pod("b", "other", true),
	}
}

// told is what narrate says of the events, each line with its actor.
func told(f fleet, start []record.Object, events ...record.Event) (lines []string) {
	record.NewRecording(start, events...).Replay(func(event record.Event, world record.World) {
		for _, h := range f.narrate(event, world) {
			lines = append(lines, string(h.Actor)+" "+h.Text)
		}
	})
	return lines
}
