// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

// karpenter is the name under which Karpenter writes.
const karpenter = "system:karpenter"

// noPause is how soon a rotation starts that no pause of pausesLong keeps back.
const noPause = time.Minute

// pausesLong has a success, and a failure, keep the pool closed for longer than any scenario takes.
func pausesLong(spec *v1alpha1.RotationPolicySpec) {
	spec.Surge.CooldownAfter = seconds(600)
	spec.Surge.FailurePause = seconds(600)
}

var _ = Describe("A force-expiry", func() {
	It("by another hand, while the replacement is pending, ends the rotation without a cooldown (§5.2 force-expiry, early path)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("taken", 1)
		s.stands(ctx, f)
		claim := f.Originals[0]
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("taken", pausesLong))
		s.comesTo(ctx, claim, rotation.StatePending)
		Expect(shared.DeleteNodeClaim(ctx, claim)).To(Succeed())
		s.comesTo(ctx, claim, rotation.StateExpired)
		freeze(ctx, f.Name) // the fleet gets new nodes, and those are due at once
		s.settles(ctx, f)

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Expired)
		ExpectBudgetNeverViolated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "pending-force-expired")
		s.expectExpiredOnce(ctx, f, claim)
		s.expectNoCooldown(ctx, f)
	}, SpecTimeout(patience))

	It("by Karpenter at the deadline, after a freeze that ended too shortly before it, ends it likewise (§5.2 force-expiry, §3.1 freeze)", func(ctx SpecContext) {
		const life, late = time.Minute, 8 * time.Second
		s, f := begin(ctx), fleetOf("expiring", 1, func(f *fleet) {
			f.ExpireAfter, f.TerminationGracePeriod = life, time.Minute
		})
		s.stands(ctx, f)
		claim := f.Originals[0]
		deadline := s.deadlineOf(ctx, claim)
		lifted := deadline.Add(-late)
		freezeUntil(ctx, f.Name, lifted)
		liveLonger(ctx, f.Name)
		launchesTake(ctx, 2*late)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("expiring", pausesLong))
		s.comesTo(ctx, claim, rotation.StatePending)
		s.comesTo(ctx, claim, rotation.StateExpired)
		freeze(ctx, f.Name)
		s.settles(ctx, f)

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Expired)
		s.ExpectStartedPromptly(f, lifted)
		Expect(s.whoDeleted(claim)).To(Equal(karpenter))
		ExpectBudgetNeverViolated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "pending-force-expired")
		s.expectExpiredOnce(ctx, f, claim)
		Expect(told(ctx, "ShortLead", claim).Type).To(Equal("Warning"))
		s.expectNoCooldown(ctx, f)
	}, SpecTimeout(patience))

	It("that nobody saw, because the claim was finalized while the controller was stopped, ends it likewise (§5.2 force-expiry, late path)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("unseen", 1)
		s.stands(ctx, f)
		claim := f.Originals[0]
		launchesTake(ctx, 10*time.Second)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("unseen", pausesLong))
		s.await(ctx, "a replacement is launched", func(world record.World) bool { return len(world.ClaimsOf(f.Name)) == 2 })
		Expect(s.controller.Stop()).To(Succeed())
		freeze(ctx, f.Name)
		Expect(shared.DeleteNodeClaim(ctx, claim)).To(Succeed())
		s.await(ctx, "NodeClaim "+claim+" is gone", func(world record.World) bool { return world.Claims[claim] == nil })
		s.controllerRuns(ctx)
		s.settles(ctx, f)

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Expired)
		ExpectBudgetNeverViolated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "pending-claim-gone")
		s.expectExpiredOnce(ctx, f, f.Name)
		s.expectNoCooldown(ctx, f)
	}, SpecTimeout(patience))
})

// expectExpiredOnce holds that the expiry was counted, once, and told about the claim, or its pool once it is gone.
func (s *scenario) expectExpiredOnce(ctx context.Context, f *fleet, about string) {
	GinkgoHelper()
	Expect(s.reads(ctx, f, "noderotation_completed_total", `outcome="expired"`)).To(Equal(1.0))
	Expect(s.reads(ctx, f, "noderotation_completed_total", `outcome="success"`)).To(BeZero())
	Expect(told(ctx, "RotationExpired", about).Type).To(Equal("Warning"))
}

// expectNoCooldown lifts the freeze and holds that the next node's rotation starts long before a pause of its policy could be
// over.
func (s *scenario) expectNoCooldown(ctx context.Context, f *fleet) {
	GinkgoHelper()
	thawed := time.Now()
	thaw(ctx, f.Name)
	s.await(ctx, "the next rotation starts", func(world record.World) bool {
		return world.Pools[f.Name].Annotations[rotation.KeyActiveRotation] != ""
	})
	Expect(verdict.StartedWithin(verdict.Attempts(s.recording(ctx), f.Name), thawed, noPause)).To(BeEmpty(), "after the freeze")
}

// deadlineOf is when Karpenter expires the claim: by the claim's own expireAfter (§3.2).
func (s *scenario) deadlineOf(ctx context.Context, claim string) time.Time {
	GinkgoHelper()
	var deadline time.Time
	s.await(ctx, "NodeClaim "+claim+" is known", func(world record.World) bool {
		found := world.Claims[claim]
		if found == nil || found.Spec.ExpireAfter.Duration == nil {
			return false
		}
		deadline = found.CreationTimestamp.Add(*found.Spec.ExpireAfter.Duration)
		return true
	})
	return deadline
}

// liveLonger has the pool's future nodes live long enough for any policy. The present ones keep their own expireAfter,
// and are not replaced for the difference.
func liveLonger(ctx context.Context, pool string) {
	GinkgoHelper()
	liveFor(ctx, pool, longLife)
}

// liveFor is liveLonger with a time of its own.
func liveFor(ctx context.Context, pool string, expireAfter time.Duration) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"spec":{"disruption":{"budgets":[{"nodes":"0"}]},"template":{"spec":{"expireAfter":%q}}}}`, expireAfter.String())
	_, err := shared.Dynamic().Resource(nodePools).Patch(ctx, pool, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// whoDeleted is the user whose request was the first to have the claim deleted: Karpenter repeats a deletion that it finds.
func (s *scenario) whoDeleted(claim string) string {
	GinkgoHelper()
	all, err := audit.Since(shared.AuditLog(), s.auditFrom)
	Expect(err).NotTo(HaveOccurred())
	for _, request := range all {
		if request.Verb == "delete" && request.ObjectRef.Resource == "nodeclaims" && request.ObjectRef.Name == claim && request.Succeeded() {
			return request.User.Username
		}
	}
	return ""
}

// placeholdersFor are the names of the placeholders that stand for the claim.
func placeholdersFor(world record.World, claim string) []string {
	var names []string
	for _, pod := range world.Pods {
		if pod.Annotations[rotation.KeySurgeFor] == claim && pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}
