// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// This file plays Karpenter, the scheduler, the kubelet and the operator by hand, one sentence at a time.

const (
	day       = 24 * time.Hour
	finalizer = "karpenter.sh/termination"
	// namespace is the controller's own.
	namespace = "noderotation-system"
)

// aPool is a NodePool whose nodes live for 14 days and may take an hour to drain.
func (w *world) aPool(name string, edits ...func(*karpenterv1.NodePool)) {
	np := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"workload": name}}}
	np.Spec.Template.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: ptr.To(14 * day)}
	np.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	for _, edit := range edits {
		edit(np)
	}
	w.exists(np)
}

// aPolicy governs every pool; its windows are Wednesday and Saturday, 02:00–06:00 in Tokyo.
func (w *world) aPolicy(name string, edits ...func(*v1alpha1.RotationPolicy)) {
	w.exists(wedAndSat(name, edits...))
}

// aNode is a NodeClaim of the pool of this age, with its Ready Node of the same name.
func (w *world) aNode(name, pool string, age time.Duration, edits ...func(*karpenterv1.NodeClaim)) {
	created := metav1.NewTime(w.clock.Now().Add(-age))
	nc := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{rotation.LabelNodePool: pool}, CreationTimestamp: created, Finalizers: []string{finalizer},
	}}
	nc.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: ptr.To(14 * day)}
	nc.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	nc.Status.NodeName = name
	nc.Status.Allocatable = quantities("cpu", "3900m", "memory", "14Gi", "pods", "58")
	for _, condition := range []string{karpenterv1.ConditionTypeLaunched, karpenterv1.ConditionTypeRegistered, karpenterv1.ConditionTypeInitialized} {
		nc.StatusConditions().SetTrue(condition)
	}
	for _, edit := range edits {
		edit(nc)
	}
	w.exists(nc)
	if nc.Status.NodeName == "" {
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nc.Status.NodeName, CreationTimestamp: created,
		Labels: map[string]string{rotation.LabelNodePool: pool, corev1.LabelHostname: nc.Status.NodeName, corev1.LabelTopologyZone: "zone-a",
			corev1.LabelArchStable: "amd64", karpenterv1.CapacityTypeLabelKey: karpenterv1.CapacityTypeOnDemand},
	}}
	node.Status.Allocatable = quantities("cpu", "3920m", "memory", "14Gi", "pods", "58")
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.exists(node)
}

// aWorkload runs on the node, and belongs to a ReplicaSet.
func (w *world) aWorkload(name, node string) {
	w.exists(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", Labels: map[string]string{"app": "shop"}, CreationTimestamp: metav1.NewTime(w.clock.Now().Add(-day)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "shop", UID: "shop", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "shop", Image: "shop:1", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "500m", "memory", "1Gi")},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	})
}

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func (w *world) exists(object client.Object) {
	GinkgoHelper()
	Expect(w.server.hand.Create(w.ctx, object)).To(Succeed())
}

// change has somebody else change an object.
func change[O client.Object](w *world, object O, name string, edit func(O)) {
	GinkgoHelper()
	key := client.ObjectKey{Name: name}
	if _, isPod := any(object).(*corev1.Pod); isPod {
		key.Namespace = namespace
	}
	Expect(w.server.hand.Get(w.ctx, key, object)).To(Succeed())
	edit(object)
	// What a status says is written apart from the rest, and first: the other write is answered with the stored one.
	changed := object.DeepCopyObject().(O)
	Expect(w.server.hand.Status().Update(w.ctx, changed)).To(Succeed())
	object.SetResourceVersion(changed.GetResourceVersion())
	Expect(w.server.hand.Update(w.ctx, object)).To(Succeed())
}

// theOperatorAnnotates the NodePool; an empty value removes the annotation.
func (w *world) theOperatorAnnotates(pool, key, value string) {
	GinkgoHelper()
	change(w, &karpenterv1.NodePool{}, pool, func(np *karpenterv1.NodePool) {
		np.Annotations = rotation.Annotate(np.Annotations, map[string]string{key: value})
		if value == "" {
			delete(np.Annotations, key)
		}
	})
}

// theClaimSays sets an annotation of a claim.
func (w *world) theClaimSays(name, key, value string) {
	GinkgoHelper()
	change(w, &karpenterv1.NodeClaim{}, name, func(nc *karpenterv1.NodeClaim) {
		nc.Annotations = rotation.Annotate(nc.Annotations, map[string]string{key: value})
	})
}

// thePlaceholderRunsOn has the scheduler bind the placeholder for the claim, and the kubelet run it.
func (w *world) thePlaceholderRunsOn(node, claim string) {
	GinkgoHelper()
	change(w, &corev1.Pod{}, rotation.PlaceholderName(claim), func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	})
}

// anotherHandDeletes the claim: Karpenter's own expiry, or an operator.
func (w *world) anotherHandDeletes(claim string) {
	GinkgoHelper()
	Expect(w.server.hand.Delete(w.ctx, &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: claim}})).To(Succeed())
}

// theClaimFinalizes has Karpenter finish a claim: its Pods have gone, then the Node, then the claim.
func (w *world) theClaimFinalizes(claim string) {
	GinkgoHelper()
	for _, pod := range w.podsOn(claim) {
		Expect(w.server.hand.Delete(w.ctx, &pod)).To(Succeed())
	}
	Expect(client.IgnoreNotFound(w.server.hand.Delete(w.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: claim}}))).To(Succeed())
	nc := &karpenterv1.NodeClaim{}
	Expect(w.server.hand.Get(w.ctx, client.ObjectKey{Name: claim}, nc)).To(Succeed())
	nc.Finalizers = nil
	Expect(w.server.hand.Update(w.ctx, nc)).To(Succeed())
}

func (w *world) podsOn(node string) []corev1.Pod {
	var all corev1.PodList
	Expect(w.server.hand.List(w.ctx, &all)).To(Succeed())
	var on []corev1.Pod
	for _, pod := range all.Items {
		if pod.Spec.NodeName == node {
			on = append(on, pod)
		}
	}
	return on
}

// karpenterReports changes the NodePool's status, as Karpenter does whenever a node comes or goes.
func (w *world) karpenterReports(pool string) {
	GinkgoHelper()
	np := w.pool(pool)
	np.Status.Resources = quantities("nodes", "2", "cpu", w.clock.Now().Format("05"))
	np.Status.NodeClassObservedGeneration++
	Expect(w.server.hand.Status().Update(w.ctx, np)).To(Succeed())
}

func nodeNotReady(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionFalse }
