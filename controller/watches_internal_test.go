// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// news is an update of an object of one kind, and whether it can change a decision.
type news[O client.Object] struct {
	about string
	edit  func(O)
	wakes bool
}

// lookedAt has the predicate look at each update of the object.
func lookedAt[O client.Object](t *testing.T, p predicate.Predicate, object O, updates []news[O]) {
	for _, u := range updates {
		t.Run(u.about, func(t *testing.T) {
			after := object.DeepCopyObject().(O)
			u.edit(after)
			if got := p.Update(event.UpdateEvent{ObjectOld: object, ObjectNew: after}); got != u.wakes {
				t.Errorf("wakes the pool: %t, want %t", got, u.wakes)
			}
		})
	}
	g := NewWithT(t)
	g.Expect(p.Create(event.CreateEvent{Object: object})).To(BeTrue())
	g.Expect(p.Delete(event.DeleteEvent{Object: object})).To(BeTrue())
	g.Expect(p.Generic(event.GenericEvent{Object: object})).To(BeFalse())
}

func gone(meta *metav1.ObjectMeta) { meta.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func TestPoolWakesByWhatAGuardReads(t *testing.T) {
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "api", Generation: 1, Annotations: map[string]string{"a": "1"}}}
	pool.StatusConditions().SetTrue(karpenterv1.ConditionTypeValidationSucceeded)
	type p = *karpenterv1.NodePool
	lookedAt(t, changed(poolChanged), pool, []news[p]{
		{"its spec changed", func(np p) { np.Generation++ }, true},
		{"an operator froze it", func(np p) { np.Annotations = map[string]string{rotation.KeyFreeze: "x"} }, true},
		{"its labels changed, and with them perhaps its policy", func(np p) { np.Labels = map[string]string{"workload": "api"} }, true},
		{"it is being deleted", func(np p) { gone(&np.ObjectMeta) }, true},
		{"Karpenter finds it not Ready", func(np p) {
			np.StatusConditions().SetFalse(karpenterv1.ConditionTypeValidationSucceeded, "Broken", "it is")
		}, true},
		{"its use of resources moved, and nothing limits it", func(np p) { np.Status.Resources = someCPU("1") }, false},
		{"Karpenter touched its status", func(np p) { np.Status.NodeClassObservedGeneration++; np.ResourceVersion = "2" }, false},
	})

	limited := pool.DeepCopy()
	limited.Spec.Limits, limited.Status.Resources = karpenterv1.Limits(someCPU("10")), someCPU("1000m")
	lookedAt(t, changed(poolChanged), limited, []news[p]{
		{"its use of limited resources moved", func(np p) { np.Status.Resources = someCPU("2") }, true},
		{"the same use is written another way", func(np p) { np.Status.Resources = someCPU("1") }, false},
	})
}

func TestClaimWakesByWhatAGuardReads(t *testing.T) {
	claim := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "old", Labels: map[string]string{rotation.LabelNodePool: "api"}}}
	for _, c := range []string{karpenterv1.ConditionTypeLaunched, karpenterv1.ConditionTypeRegistered, karpenterv1.ConditionTypeInitialized} {
		claim.StatusConditions().SetTrue(c)
	}
	type p = *karpenterv1.NodeClaim
	lookedAt(t, changed(claimChanged), claim, []news[p]{
		{"its state changed", func(nc p) { nc.Annotations = map[string]string{rotation.KeyState: "failed"} }, true},
		{"it is being deleted", func(nc p) { gone(&nc.ObjectMeta) }, true},
		{"its node has registered", func(nc p) { nc.Status.NodeName = "n" }, true},
		{"it is not Ready any more", func(nc p) { nc.StatusConditions().SetFalse(karpenterv1.ConditionTypeInitialized, "Lost", "it is") }, true},
		{"a Pod came or went on its node", func(nc p) { nc.Status.LastPodEventTime = metav1.Now() }, false},
		{"Karpenter finds it consolidatable", func(nc p) { nc.StatusConditions().SetTrue(karpenterv1.ConditionTypeConsolidatable) }, false},
	})
}

func TestNodeWakesByWhatAGuardReads(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{rotation.LabelNodePool: "api"}}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	annotate := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Annotations = map[string]string{key: "true"} }
	}
	lookedAt(t, changed(nodeChanged), node, []news[*corev1.Node]{
		{"it was cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		{"it is not Ready", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
		{"an operator protects it", annotate(rotation.KeyDoNotDisrupt), true},
		{"somebody removed our marker", annotate(rotation.KeyCordoned), true},
		{"it lost its pool", func(n *corev1.Node) { n.Labels = nil }, true},
		{"it is being deleted", func(n *corev1.Node) { gone(&n.ObjectMeta) }, true},
		{"its startup taint was lifted", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}} }, true},
		{"the kubelet sent its heartbeat", func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.Now() }, false},
		{"another annotation changed", annotate("volumes.kubernetes.io/controller-managed-attach-detach"), false},
		{"its images changed", func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}} }, false},
	})
}

func TestPlaceholderWakesByWhatAGuardReads(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "surge-for-old", Labels: rotation.PlaceholderLabels(), Annotations: map[string]string{rotation.KeySurgeFor: "old"}}}
	type p = *corev1.Pod
	lookedAt(t, predicate.And(placeholders(), changed(podChanged)), pod, []news[p]{
		{"it was bound", func(pod p) { pod.Spec.NodeName = "n" }, true},
		{"it runs", func(pod p) { pod.Status.Phase = corev1.PodRunning }, true},
		{"it is preempted", func(pod p) { gone(&pod.ObjectMeta) }, true},
		{"the scheduler said again why it has no node", func(pod p) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3"}}
		}, false},
	})
	workload := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	NewWithT(t).Expect(placeholders().Create(event.CreateEvent{Object: workload})).To(BeFalse(), "a workload wakes nobody")
}

func someCPU(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// Every object is mapped to the pool that it belongs to, and a policy to all (§5.2, §5.4 policy change propagation).
// Whoever ends every placeholder at once must not have the next one created at once, for as long as readyTimeout (§3.3).
func TestAPlaceholdersEndIsLetRest(t *testing.T) {
	g := NewWithT(t)
	placeholder := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "surge-for-old"}}
	placeholder.Spec.NodeSelector = map[string]string{rotation.LabelNodePool: "api"}
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "api"}}
	met := map[string]int{}
	for _, w := range (&Reconciler{}).Watches() {
		clock := testclock.NewFakeClock(time.Date(2026, time.January, 10, 2, 0, 0, 0, time.UTC))
		queue := workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request](),
			workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Clock: clock})
		t.Cleanup(queue.ShutDown)
		switch w.Object.(type) {
		case *corev1.Pod:
			met["Pod"]++
			w.handler().Delete(t.Context(), event.DeleteEvent{Object: placeholder}, queue)
			g.Consistently(queue.Len, "50ms").Should(BeZero())
			g.Eventually(clock.HasWaiters).WithTimeout(time.Minute).Should(BeTrue())
			clock.Step(RestAfterPlaceholder)
			g.Eventually(queue.Len).WithTimeout(time.Minute).Should(Equal(1))
		case *karpenterv1.NodePool:
			met["NodePool"]++
			w.handler().Delete(t.Context(), event.DeleteEvent{Object: pool}, queue)
			g.Expect(queue.Len()).To(Equal(1))
		}
	}
	g.Expect(met).To(Equal(map[string]int{"Pod": 1, "NodePool": 1}), "watches")
}

func TestWhoIsWoken(t *testing.T) {
	g := NewWithT(t)
	ctx := context.Background()
	labelled := metav1.ObjectMeta{Labels: map[string]string{rotation.LabelNodePool: "api"}}
	placeholder := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: labelled.Labels}}
	api := []reconcile.Request{requestFor("api")[0]}

	g.Expect(poolByLabel(ctx, &karpenterv1.NodeClaim{ObjectMeta: labelled})).To(Equal(api))
	g.Expect(poolByLabel(ctx, &corev1.Node{ObjectMeta: labelled})).To(Equal(api))
	g.Expect(poolByLabel(ctx, &corev1.Node{})).To(BeEmpty(), "a node of nobody's wakes nobody")
	g.Expect(poolOfPlaceholder(ctx, placeholder)).To(Equal(api))
	g.Expect(poolOfPlaceholder(ctx, &corev1.Node{ObjectMeta: labelled})).To(BeEmpty())

	scheme, err := NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	cache := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "api"}}, &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "web"}}).Build()
	r := &Reconciler{Reader: &Reader{Cache: cache}}
	g.Expect(r.everyPool(ctx, nil)).To(ConsistOf(requestFor("api")[0], requestFor("web")[0]))
}
