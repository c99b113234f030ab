// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/window"
)

var _ = Describe("the terms of a policy (§5.4)", func() {
	It("resolves every default", func() {
		terms, err := rotation.TermsOf(policyNamed("api"))
		Expect(err).NotTo(HaveOccurred())
		Expect(terms).To(Equal(rotation.Terms{
			K: 2, MaxUnavailable: 1,
			ReadyTimeout: 15 * time.Minute, CooldownAfter: 10 * time.Minute, FailurePause: 10 * time.Minute, RetryBackoff: 30 * time.Minute,
			Required:  []string{"topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/capacity-type"},
			Preferred: []string{},
		}))
	})

	It("takes what the operator wrote", func() {
		terms, err := rotation.TermsOf(policyNamed("api", chances(3), ageThreshold("240h"), readyTimeout(time.Minute), cooldownAfter(0),
			failurePause(2*time.Minute), retryBackoff(time.Hour), requiring("example.com/rack"), func(p *v1alpha1.RotationPolicy) {
				p.Spec.Surge.MatchNodeRequirements.Preferred = []v1alpha1.LabelKey{"kubernetes.io/os"}
				p.Spec.Surge.ForcefulFallback.Enabled = true
			}))
		Expect(err).NotTo(HaveOccurred())
		Expect(terms).To(Equal(rotation.Terms{
			K: 3, MaxUnavailable: 1, AgeThreshold: ptr.To(240 * time.Hour),
			ReadyTimeout: time.Minute, CooldownAfter: 0, FailurePause: 2 * time.Minute, RetryBackoff: time.Hour,
			Required: []string{"example.com/rack"}, Preferred: []string{"kubernetes.io/os"}, FallbackEnabled: true,
		}))
	})

	It("pauses after a failure for as long as after a success, where that is longer than 10m", func() {
		terms, err := rotation.TermsOf(policyNamed("api", cooldownAfter(25*time.Minute)))
		Expect(err).NotTo(HaveOccurred())
		Expect(terms.FailurePause).To(Equal(25 * time.Minute))
	})

	It("reports every field that cannot be read at once", func() {
		_, err := rotation.TermsOf(policyNamed("api", ageThreshold("ten days"), readyTimeout(0)))
		Expect(err).To(MatchError(And(ContainSubstring("spec.ageThreshold"), ContainSubstring("spec.surge.readyTimeout"))))
	})
})

var _ = Describe("the assessment of a policy (§3.2, §5.4)", func() {
	assess := func(edits ...policyEdit) rotation.Assessment {
		return rotation.Assess(policyNamed("api", edits...), newYear)
	}

	It("finds nothing wrong with a sound policy, and surveys its windows", func() {
		a := assess()
		Expect(a.Findings).To(BeEmpty())
		Expect(a.Invalid()).To(BeFalse())
		Expect(a.Reason()).To(BeEmpty())
		Expect(a.Survey.P).To(Equal(4 * aDay))
		Expect(a.Windows.Open(time.Date(2026, time.January, 9, 17, 0, 0, 0, time.UTC))).To(BeTrue(), "Sat 02:00 in Tokyo")
	})

	It("keeps a policy with warnings valid", func() {
		a := assess(chances(1), retryBackoff(time.Minute), provisioningEstimate(time.Hour), requiring())
		Expect(codes(a.Findings)).To(Equal([]string{rotation.KBelowTwo, rotation.RetryBackoffShort,
			rotation.ProvisioningEstimateAboveReadyTimeout, rotation.ZoneNotReplicated}))
		Expect(a.Findings).To(HaveEach(HaveField("Severity", rotation.Warn)))
		Expect(a.Findings).To(HaveEach(HaveField("Level", rotation.PolicyLevel)))
		Expect(a.Invalid()).To(BeFalse())
	})

	It("finds everything that is wrong at once, in the order of §3.2", func() {
		a := assess(neverOpening(), chances(0), ageThreshold("-1h"), requiring())
		Expect(codes(a.Findings)).To(Equal([]string{rotation.NoWindows, rotation.KBelowOne, rotation.OverrideNonPositive, rotation.ZoneNotReplicated}))
		Expect(a.Invalid()).To(BeTrue())
		Expect(a.Reason()).To(Equal("RotationPolicy api: none of its maintenanceWindows opens in the coming 400d, so that no rotation could ever start; " +
			"add a window that does. RotationPolicy api: minRotationChances is 0, which guarantees no node a rotation; set it to 1 or more. " +
			"RotationPolicy api: ageThreshold is -1h0m0s, at which every node would be due from its birth; set it to \"auto\" or to a duration greater than zero."))
	})

	DescribeTable("does not trust admission",
		func(complaint string, edits ...policyEdit) {
			a := assess(edits...)
			Expect(codes(a.Findings)).To(ContainElement(rotation.InvalidSpec))
			Expect(a.Invalid()).To(BeTrue())
			Expect(a.Reason()).To(And(HavePrefix("RotationPolicy api: "), ContainSubstring(complaint)))
		},
		Entry("an age that is no duration", `spec.ageThreshold is "10 days"; set it to "auto" or to a Go duration such as "240h".`, ageThreshold("10 days")),
		Entry("an unknown zone", `spec.maintenanceWindows[0]: timezone "Asia/Atlantis" cannot be used`, opening("Asia/Atlantis", "02:00", "06:00", v1alpha1.Monday)),
		Entry("a window without a day", "days is empty", opening("UTC", "02:00", "06:00")),
		Entry("a readyTimeout of zero", "spec.surge.readyTimeout is 0s; set it to a Go duration greater than zero", readyTimeout(0)),
		Entry("a negative cooldownAfter", "spec.surge.cooldownAfter is -1ns; set it to a Go duration of zero or more", cooldownAfter(-1)),
		Entry("a failurePause of zero", "spec.surge.failurePause is 0s", failurePause(0)),
		Entry("a retryBackoff of zero", "spec.surge.retryBackoff is 0s", retryBackoff(0)),
		Entry("a drainEstimate of zero", "spec.surge.drainEstimate is 0s", drainEstimate(0)),
		Entry("a negative provisioningEstimate", "spec.surge.provisioningEstimate is -1m0s", provisioningEstimate(-time.Minute)),
		Entry("a duration beyond the horizon", "spec.surge.retryBackoff is 9600h0m1s; set it to at most 400d", retryBackoff(window.Horizon+time.Second)),
		Entry("too many chances", "spec.minRotationChances is 251; set it to at most 250", chances(251)),
		Entry("more than one rotation at a time", "spec.surge.maxUnavailable is 2",
			func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.MaxUnavailable = ptr.To[int32](2) }),
		Entry("pre-pull", "spec.prePull.enabled is true", func(p *v1alpha1.RotationPolicy) { p.Spec.PrePull.Enabled = true }),
		Entry("the host name as a requirement", "kubernetes.io/hostname, which no replacement can share", requiring("kubernetes.io/hostname")),
		Entry("a key that is none", `names "a b", which is no label key`, requiring("a b")),
		Entry("an unknown operator in the selector", `spec.nodePoolSelector.matchExpressions[0] has operator "Near"`,
			selecting(nil, expression("team", "Near", "web"))),
		Entry("an operator without its values", "spec.nodePoolSelector.matchExpressions[0] cannot be read", selecting(nil, expression("team", "In"))),
		Entry("a label value that is none", `spec.nodePoolSelector.matchLabels["team"] cannot be read`, selecting(map[string]string{"team": "a b"})),
	)

	It("accepts the bounds themselves", func() {
		a := assess(chances(250), cooldownAfter(0), readyTimeout(1), failurePause(1), retryBackoff(window.Horizon))
		Expect(a.Invalid()).To(BeFalse())
	})

	It("does not call windows that cannot be read windows that never open", func() {
		a := assess(opening("Asia/Atlantis", "02:00", "06:00", v1alpha1.Monday))
		Expect(codes(a.Findings)).To(Equal([]string{rotation.InvalidSpec}))
		Expect(a.Windows.Open(newYear)).To(BeFalse())
	})

	It("makes each fault of the windows a finding of its own", func() {
		a := assess(opening("Asia/Atlantis", "02:00", "02:00", v1alpha1.Monday))
		Expect(a.Findings).To(ConsistOf(
			HaveField("Message", ContainSubstring("Atlantis")),
			HaveField("Message", ContainSubstring("leaves the window no length"))))
	})
})
