// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("A drain", func() {
	// With a terminationGracePeriod Karpenter ends every drain by force when it is over, so that nothing can hold one beyond
	// the drain bound; without one the bound is an hour and two minutes. To have a drain overdue in little more than two
	// minutes, these claims get a short period and, on the annotation in which Karpenter keeps the instant of the force, a
	// late one.
	const period, forcedAfter = 5 * time.Second, 20 * time.Minute

	It("that is overdue is reported with what holds it, keeps the gate shut, and completes once it is let go (§5.2 stuck drain, §4.2)", func(ctx SpecContext) {
		s := begin(ctx)
		bounded := func(f *fleet) { f.TerminationGracePeriod = period }
		budget := fleetOf("budget", 2, bounded, func(f *fleet) { f.Workload.MaxUnavailable = pods(0) })
		protected := fleetOf("protected", 1, bounded, func(f *fleet) {
			f.Workload.PodAnnotations = map[string]string{karpenterv1.DoNotDisruptAnnotationKey: "true"}
		})
		endless := fleetOf("endless", 1, bounded, func(f *fleet) { f.Workload.EndDelay = 89 * time.Second })
		all := []*fleet{budget, protected, endless}
		for _, f := range all {
			s.stands(ctx, f)
			for _, claim := range f.Originals {
				forceAfter(ctx, claim, forcedAfter)
			}
		}
		held := s.finalize(ctx, endless)
		s.controllerRuns(ctx)
		stuck := map[*fleet]string{}
		for _, f := range all {
			s.governs(ctx, policyFor(f.Name))
		}
		for _, f := range all {
			stuck[f] = s.drains(ctx, f)
			if f != budget {
				freeze(ctx, f.Name) // of these the new nodes alone would be next
			}
		}

		By("waiting until the drains are overdue")
		for f, holder := range map[*fleet]string{
			budget:    "PodDisruptionBudget default/budget allows no disruption (6 of 6 healthy, 6 needed)",
			protected: `has karpenter.sh/do-not-disrupt="true"`,
			endless:   "Pod default/" + held + " should have ended at",
		} {
			event := toldWithin(ctx, 3*time.Minute, "DrainStuck", f.Name)
			Expect(event.Note).To(ContainSubstring("the drain of NodeClaim %s is overdue; it is held by ", stuck[f]))
			Expect(event.Note).To(ContainSubstring(holder))
			Expect(s.reads(ctx, f, "noderotation_drain_stuck")).To(Equal(1.0))
			s.expectOverdue(ctx, stuck[f], event.EventTime.Time, period+rotation.Buffer)
		}
		Expect(verdict.Attempts(s.recording(ctx), budget.Name)).To(HaveLen(1), "the gate is held")

		By("letting go")
		freeze(ctx, budget.Name)
		budget.Workload.MaxUnavailable = pods(1)
		Expect(shared.ApplyWorkload(ctx, budget.Workload)).To(Succeed())
		s.unprotect(ctx, protected)
		release(ctx, held)
		for _, f := range all {
			s.await(ctx, "the rotation of "+f.Name+" is over", func(world record.World) bool {
				return world.Claims[stuck[f]] == nil && world.Pools[f.Name].Annotations[rotation.KeyActiveRotation] == ""
			})
		}

		recording := s.recording(ctx)
		for _, f := range all {
			ExpectEndings(recording, f, verdict.Success)
			Expect(verdict.Rotated(recording, f.Name, stuck[f])).To(BeEmpty(), "rotated")
			ExpectSerial(recording, f)
			ExpectMakeBeforeBreak(recording, f, 1)
			ExpectNeverMoreThan(recording, f, len(f.Originals)+1)
			s.ExpectTransitions(f, "start", "drain", "drained")
		}
		ExpectBudgetNeverViolated(recording, budget)
		ExpectBudgetNeverViolated(recording, protected)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
	}, SpecTimeout(6*time.Minute))

	It("that comes too late for a surge goes without one where the policy allows it, budgets respected (§3.6)", func(ctx SpecContext) {
		const nodes = 2
		// By its own expireAfter each node has less time left than a rotation may take; for the nodes to come the pool's
		// template says better.
		s, f := begin(ctx), fleetOf("late", nodes, func(f *fleet) {
			f.ExpireAfter, f.TerminationGracePeriod = 4*time.Minute, 2*time.Minute
		})
		s.stands(ctx, f)
		liveLonger(ctx, f.Name)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("late", func(spec *v1alpha1.RotationPolicySpec) { spec.Surge.ForcefulFallback.Enabled = true }))
		s.rotatesOnce(ctx, f)

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Success, verdict.Success)
		drains, breaches := verdict.Surgeless(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "surge-less")
		Expect(drains).To(Equal(nodes), "drains judged")
		ExpectSerial(recording, f)
		ExpectBudgetNeverViolated(recording, f)
		ExpectNeverMoreThan(recording, f, nodes+1)
		ExpectAllRotated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start-fallback", "drained", "start-fallback", "drained")
		for _, claim := range f.Originals {
			Expect(s.whoDeleted(claim)).To(Equal(manifests.User), "before Karpenter had to")
		}
		Expect(told(ctx, "ForcefulFallback", f.Name).Type).To(Equal("Warning"))
		Expect(s.reads(ctx, f, "noderotation_forceful_fallback_total")).To(Equal(float64(nodes)))
	}, SpecTimeout(patience))
})

func pods(n int32) *intstr.IntOrString {
	value := intstr.FromInt32(n)
	return &value
}

// forceAfter has Karpenter end the claim's drain by force only this long from now, whatever its terminationGracePeriod: it
// keeps an instant that it finds written down.
func forceAfter(ctx context.Context, claim string, delay time.Duration) {
	GinkgoHelper()
	patch := inMetadata(metav1.ObjectMeta{Annotations: map[string]string{
		karpenterv1.NodeClaimTerminationTimestampAnnotationKey: rotation.FormatStamp(time.Now().Add(delay)),
	}})
	_, err := shared.Dynamic().Resource(nodeClaims).Patch(ctx, claim, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// drains waits until one of the fleet's originals drains in a rotation, and returns its name.
func (s *scenario) drains(ctx context.Context, f *fleet) string {
	GinkgoHelper()
	draining := ""
	s.await(ctx, "a node of "+f.Name+" drains", func(world record.World) bool {
		for _, name := range f.Originals {
			if claim := world.Claims[name]; claim != nil && claim.DeletionTimestamp != nil && isIn(world, name, rotation.StateDraining) {
				draining = name
			}
		}
		return draining != ""
	})
	return draining
}

// expectOverdue holds that it was told when the drain had lasted for longer than it may, and not much later.
func (s *scenario) expectOverdue(ctx context.Context, claim string, told time.Time, bound time.Duration) {
	GinkgoHelper()
	begun := time.Time{}
	s.await(ctx, "NodeClaim "+claim+" is being deleted", func(world record.World) bool {
		found := world.Claims[claim]
		if found == nil || found.DeletionTimestamp == nil {
			return false
		}
		begun = found.DeletionTimestamp.Time
		return true
	})
	Expect(told).To(BeTemporally(">=", begun.Add(bound)), "not before the bound")
	Expect(told).To(BeTemporally("<=", begun.Add(bound+5*time.Second)), "soon after the bound")
}

const holdingFinalizer = "e2e.noderotation.io/hold"

// finalize keeps one Pod of the fleet from ending, and returns its name.
func (s *scenario) finalize(ctx context.Context, f *fleet) string {
	GinkgoHelper()
	all, err := shared.PodsOf(ctx, f.Workload)
	Expect(err).NotTo(HaveOccurred())
	patch := fmt.Appendf(nil, `{"metadata":{"finalizers":[%q]}}`, holdingFinalizer)
	_, err = shared.Client().CoreV1().Pods(all[0].Namespace).Patch(ctx, all[0].Name, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(release, all[0].Name)
	return all[0].Name
}

// release lets the Pod end.
func release(ctx context.Context, pod string) {
	GinkgoHelper()
	_, err := shared.Client().CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, pod, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// unprotect takes the protection off every Pod of the fleet.
func (s *scenario) unprotect(ctx context.Context, f *fleet) {
	GinkgoHelper()
	all, err := shared.PodsOf(ctx, f.Workload)
	Expect(err).NotTo(HaveOccurred())
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, karpenterv1.DoNotDisruptAnnotationKey)
	for _, pod := range all {
		_, err := shared.Client().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
	}
}
