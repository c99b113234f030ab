// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
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

// The pool of every story here, its first claim with the Node that it has, and the claim that comes in its place.
const (
	thePool  = "web"
	oldClaim = "web-old"
	newClaim = "web-new"
)

var start = time.Date(2026, 1, 10, 2, 0, 0, 0, time.UTC)

// at is the instant some seconds into the story.
func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func comes(seconds float64, object record.Object) record.Event {
	return record.Event{At: at(seconds), Change: watch.Added, After: object}
}

func turns(seconds float64, object record.Object) record.Event {
	return record.Event{At: at(seconds), Change: watch.Modified, After: object}
}

func goes(seconds float64, object record.Object) record.Event {
	return record.Event{At: at(seconds), Change: watch.Deleted, After: object}
}

// noted reads annotations from "key=value", the keys without their prefix.
func noted(annotations ...string) map[string]string {
	found := map[string]string{}
	for _, annotation := range annotations {
		key, value, _ := strings.Cut(annotation, "=")
		if key == "protected" {
			found[rotation.KeyDoNotDisrupt] = rotation.ValueTrue
		} else {
			found["noderotation.io/"+key] = value
		}
	}
	return found
}

func pool(annotations ...string) *karpenterv1.NodePool {
	return &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: thePool, Annotations: noted(annotations...)}}
}

func ofPool(name string, annotations []string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{karpenterv1.NodePoolLabelKey: thePool}, Annotations: noted(annotations...)}
}

// claim has been launched and has a Node, whose name is its own with "node-" before it.
func claim(name string, annotations ...string) *karpenterv1.NodeClaim {
	c := &karpenterv1.NodeClaim{ObjectMeta: ofPool(name, annotations)}
	c.Status.ProviderID, c.Status.NodeName = "kwok://"+name, "node-"+name
	return c
}

// wanted is a claim that has not been launched.
func wanted(name string) *karpenterv1.NodeClaim {
	c := claim(name)
	c.Status = karpenterv1.NodeClaimStatus{}
	return c
}

// deleted is the object with a deletionTimestamp.
func deleted[O record.Object](object O) O {
	object.SetDeletionTimestamp(&metav1.Time{Time: start})
	return object
}

func nodeOf(claim string, annotations ...string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: ofPool("node-"+claim, annotations)}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

func cordoned(node *corev1.Node) *corev1.Node {
	node.Spec.Unschedulable = true
	return node
}

func notReady(node *corev1.Node) *corev1.Node {
	node.Status.Conditions = nil
	return node
}

// guarded is the Node of the old claim as a rotation guards it.
func guarded() *corev1.Node {
	return cordoned(nodeOf(oldClaim, "protected", "do-not-disrupt-owned=true", "cordoned=true", "surge-for="+oldClaim))
}

// workload is a Ready Pod of one CPU on the Node of a claim.
func workload(name, claim string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": "web"}}}
	pod.Spec.NodeName = "node-" + claim
	pod.Spec.Containers = []corev1.Container{asking("1")}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

// placeholder for the old claim runs on the Node of another and holds so much CPU.
func placeholder(host, cpu string) *corev1.Pod {
	pod := workload("surge-for-"+oldClaim, host)
	pod.Namespace, pod.Labels, pod.Annotations = "noderotation-system", nil, noted("surge-for="+oldClaim)
	pod.Spec.NodeSelector = map[string]string{karpenterv1.NodePoolLabelKey: thePool}
	pod.Spec.Containers = []corev1.Container{asking(cpu)}
	return pod
}

func asking(cpu string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}
}

func budget(maxUnavailable intstr.IntOrString) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &maxUnavailable, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
}

// fleet is the pool at rest: one claim, its Node and a Pod on it.
func fleet() []record.Object {
	return []record.Object{pool(), claim(oldClaim), nodeOf(oldClaim), workload("web-0", oldClaim)}
}

// judged holds that a verdict found nothing, or, if a breach is expected, exactly one that says so.
func judged(t *testing.T, found []string, breach string) {
	t.Helper()
	g := NewWithT(t)
	if breach == "" {
		g.Expect(found).To(BeEmpty())
	} else {
		g.Expect(found).To(ConsistOf(ContainSubstring(breach)))
	}
}
