// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/test/e2e/record"
)

// promptly is how soon a rotation starts once it may (§5.2).
const promptly = 2 * time.Second

var _ = Describe("A rotation starts within two seconds", func() {
	It("of the node's coming of age (§3.2, §5.2)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("aging", 1, withLargePods)
		s.stands(ctx, f)
		s.controllerRuns(ctx, alone)
		var born time.Time
		s.await(ctx, "the node's claim is known", func(world record.World) bool {
			born = world.Claims[f.Originals[0]].CreationTimestamp.Time
			return true
		})
		age := time.Since(born).Truncate(time.Second) + 6*time.Second
		s.governs(ctx, policyFor("aging", func(spec *v1alpha1.RotationPolicySpec) {
			spec.AgeThreshold = v1alpha1.AgeThreshold(age.String())
		}))
		s.rotatesOnce(ctx, f)

		s.ExpectStartedPromptly(f, born.Add(age))
		ExpectOneByOne(s.recording(ctx), f)
		s.ExpectWrites(1)
	}, SpecTimeout(patience))

	It("of the window's opening (§3.1, §5.2)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("opening", 1, withLargePods)
		s.stands(ctx, f)
		s.controllerRuns(ctx, alone)
		// The next full minute, but not one that may have come before the policy is read.
		opens := time.Now().UTC().Add(5 * time.Second).Truncate(time.Minute).Add(time.Minute)
		s.governs(ctx, policyFor("opening", func(spec *v1alpha1.RotationPolicySpec) {
			spec.MaintenanceWindows = always()
			spec.MaintenanceWindows[0].Start = opens.Format("15:04")
			spec.MaintenanceWindows[0].End = opens.Add(time.Hour).Format("15:04")
		}))
		s.rotatesOnce(ctx, f)

		s.ExpectStartedPromptly(f, opens)
		ExpectOneByOne(s.recording(ctx), f)
		s.ExpectWrites(1)
	}, SpecTimeout(patience))
})

// ExpectStartedPromptly holds that the pool's first anchor was written after it could be and within two seconds of that, by
// the API server's clock.
func (s *scenario) ExpectStartedPromptly(f *fleet, possible time.Time) {
	GinkgoHelper()
	succeeded, _ := s.writes()
	Expect(succeeded).NotTo(BeEmpty())
	anchor := succeeded[0]
	Expect(anchor.ObjectRef.Name).To(Equal(f.Name), "the first write is the anchor's: %s", anchor)
	Expect(anchor.At()).To(BeTemporally(">=", possible), "started")
	Expect(anchor.At()).To(BeTemporally("<=", possible.Add(promptly)), "started")
}
