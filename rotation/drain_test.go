// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// aBudget of the namespace shop that selects the web Pods and allows so many of them to go.
func aBudget(name string, allowed int32, edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: 1, DesiredHealthy: 2, ExpectedPods: 3},
	}
	for _, edit := range edits {
		edit(budget)
	}
	return budget
}

func notDisrupted(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{rotation.KeyDoNotDisrupt: value} }
}

func startedFor(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(surgeStart.Add(5*time.Minute - age))) }
}

var _ = Describe("What holds a drain (§4.2, DrainStuck)", func() {
	holders := func(changes ...change) []string { return rotation.DrainHolders(surging(changes...)) }
	now := surgeStart.Add(5 * time.Minute)

	It("is nothing on a node without Pods, or without a claim", func() {
		Expect(holders()).To(BeEmpty())
		Expect(holders(func(s *rotation.Snapshot) { s.Claims = nil })).To(BeEmpty())
	})

	It("is nothing where every Pod may go", func() {
		Expect(holders(withPods(surgeOldNode, workload("web")), withBudgets(aBudget("web", 1)))).To(BeEmpty())
	})

	DescribeTable("is a Pod that must not be disrupted",
		func(holds bool, edits ...func(*corev1.Pod)) {
			expected := BeEmpty()
			if holds {
				expected = ConsistOf(HavePrefix("Pod shop/web has karpenter.sh/do-not-disrupt="))
			}
			Expect(holders(withPods(surgeOldNode, edited(workload("web"), edits...)))).To(expected)
		},
		Entry("protected", true, notDisrupted("true")),
		Entry("protected for a time that has not passed", true, notDisrupted("10m"), startedFor(9*time.Minute)),
		Entry("protected for a time, and not started", true, notDisrupted("10m")),
		Entry("protected for a time that has passed", false, notDisrupted("10m"), startedFor(10*time.Minute)),
		Entry("a value that says nothing", false, notDisrupted("yes")),
		Entry("a negative time", false, notDisrupted("-10m")),
		Entry("finished", false, notDisrupted("true"), inPhase(corev1.PodSucceeded)),
		Entry("within its grace period", false, notDisrupted("true"), ending(now)),
		Entry("a kubelet's own", false, notDisrupted("true"), func(p *corev1.Pod) { p.OwnerReferences = ownedBy("v1", "Node") }),
		Entry("left in place by the drain", false, notDisrupted("true"), func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "karpenter.sh/disrupted", Operator: corev1.TolerationOpExists}}
		}),
	)

	It("is a PodDisruptionBudget that allows no disruption, with the Pods that it keeps", func() {
		Expect(holders(withPods(surgeOldNode, workload("web-2"), workload("web-1")), withBudgets(aBudget("web", 0)))).To(Equal([]string{
			"PodDisruptionBudget shop/web allows no disruption (1 of 3 healthy, 2 needed) of web-1, web-2",
		}))
	})

	DescribeTable("is a budget only for the Pods whose eviction it refuses",
		func(holds bool, budget *policyv1.PodDisruptionBudget, edits ...func(*corev1.Pod)) {
			got := holders(withPods(surgeOldNode, edited(workload("web"), edits...)), withBudgets(budget))
			if holds {
				Expect(got).NotTo(BeEmpty())
			} else {
				Expect(got).To(BeEmpty())
			}
		},
		Entry("its selector is empty: all Pods of the namespace", true, aBudget("all", 0, func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} })),
		Entry("it has no selector: no Pod", false, aBudget("none", 0, func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil })),
		Entry("another namespace", false, aBudget("web", 0, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "billing" })),
		Entry("other labels", false, aBudget("web", 0), func(p *corev1.Pod) { p.Labels = nil }),
		Entry("a Pod that never started", false, aBudget("web", 0), inPhase(corev1.PodPending)),
		Entry("a Pod already ending", false, aBudget("web", 0), ending(now)),
		Entry("an unready Pod while the rest is short", true, aBudget("web", 0), unready),
		Entry("an unready Pod that may always go", false, aBudget("web", 0, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.UnhealthyPodEvictionPolicy = new(policyv1.AlwaysAllow)
		}), unready),
		Entry("an unready Pod while the rest is healthy", false, aBudget("web", 0, func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 2 }), unready),
		Entry("an unready Pod while no other is needed", true, aBudget("web", 0, func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy = 0 }), unready),
		Entry("a ready Pod while just enough are healthy", true, aBudget("web", 0, func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 2 })),
	)

	It("is two budgets over one Pod, whatever they allow", func() {
		Expect(holders(withPods(surgeOldNode, workload("web")), withBudgets(aBudget("web", 1), aBudget("all", 1)))).To(Equal([]string{
			"Pod shop/web is selected by 2 PodDisruptionBudgets (all, web), and cannot be evicted under more than one",
		}))
	})

	DescribeTable("is a Pod that does not end",
		func(expected []string, edits ...func(*corev1.Pod)) {
			Expect(holders(withPods(surgeOldNode, edited(workload("web"), edits...)))).To(Equal(expected))
		},
		Entry("past its grace period", []string{"Pod shop/web should have ended at 2026-01-10T02:04:59Z"}, ending(now.Add(-time.Second))),
		Entry("held by a finalizer", []string{"Pod shop/web should have ended at 2026-01-10T02:04:00Z and has the finalizers example.com/hold"},
			ending(now.Add(-time.Minute)), func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} }),
		Entry("not one that still has time", nil, ending(now.Add(time.Minute))),
	)

	It("is told in one order and not at length", func() {
		many := []change{withBudgets(aBudget("web", 0))}
		for i := range 4 {
			many = append(many,
				withPods(surgeOldNode, edited(workload(fmt.Sprint("late-", 3-i)), ending(surgeStart))),
				withPods(surgeOldNode, edited(workload(fmt.Sprint("kept-", 3-i)), notDisrupted("true"))),
				withPods(surgeOldNode, workload(fmt.Sprint("web-", 3-i))))
		}
		Expect(holders(many...)).To(HaveExactElements(
			HavePrefix("Pod shop/kept-0 "), HavePrefix("Pod shop/kept-1 "), HavePrefix("Pod shop/kept-2 "), HavePrefix("Pod shop/kept-3 "),
			HaveSuffix("of web-0, web-1, web-2, and 1 more"), Equal("and 4 more")))
	})
})
