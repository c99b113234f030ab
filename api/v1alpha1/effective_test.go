// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"noderotation.io/noderotation/api/v1alpha1"
)

var _ = Describe("The values in effect (§5.4)", func() {
	var policy *v1alpha1.RotationPolicy

	BeforeEach(func() {
		policy = &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "api"}}
	})

	It("are the defaults for a policy that sets nothing", func() {
		Expect(policy.MinRotationChances()).To(Equal(2))
		Expect(policy.MaxUnavailable()).To(Equal(1))
		Expect(policy.ReadyTimeout()).To(Equal(15 * time.Minute))
		Expect(policy.CooldownAfter()).To(Equal(10 * time.Minute))
		Expect(policy.RetryBackoff()).To(Equal(30 * time.Minute))
		Expect(policy.RequiredKeys()).To(HaveExactElements(
			v1alpha1.LabelKey("topology.kubernetes.io/zone"),
			v1alpha1.LabelKey("kubernetes.io/arch"),
			v1alpha1.LabelKey("karpenter.sh/capacity-type"),
		))
		Expect(policy.PreferredKeys()).To(BeEmpty())
		Expect(policy.ForcefulFallback()).To(BeFalse())
	})

	It("are the same before and after the defaults are filled in", func() {
		defaulted := policy.DeepCopy()
		defaulted.Default()
		Expect(defaulted.ReadyTimeout()).To(Equal(policy.ReadyTimeout()))
		Expect(defaulted.FailurePause()).To(Equal(policy.FailurePause()))
		Expect(defaulted.RequiredKeys()).To(Equal(policy.RequiredKeys()))
		Expect(defaulted.Spec.Surge.FailurePause).To(BeNil(), "it follows cooldownAfter as long as it is unset")
	})

	It("are the operator's where the operator set them, zero included", func() {
		policy.Spec.MinRotationChances = new(int32(3))
		policy.Spec.Surge.ReadyTimeout = duration(time.Minute)
		policy.Spec.Surge.CooldownAfter = duration(0)
		policy.Spec.Surge.RetryBackoff = duration(time.Hour)
		policy.Spec.Surge.MatchNodeRequirements.Required = []v1alpha1.LabelKey{}
		policy.Spec.Surge.MatchNodeRequirements.Preferred = []v1alpha1.LabelKey{"team"}
		policy.Spec.Surge.ForcefulFallback.Enabled = true
		before := policy.DeepCopy()
		policy.Default()

		Expect(policy.MinRotationChances()).To(Equal(3))
		Expect(policy.ReadyTimeout()).To(Equal(time.Minute))
		Expect(policy.CooldownAfter()).To(BeZero())
		Expect(policy.RetryBackoff()).To(Equal(time.Hour))
		Expect(policy.RequiredKeys()).To(BeEmpty())
		Expect(policy.PreferredKeys()).To(HaveExactElements(v1alpha1.LabelKey("team")))
		Expect(policy.ForcefulFallback()).To(BeTrue())
		Expect(before.Spec.Surge.MaxUnavailable).To(BeNil())
	})

	DescribeTable("the failure pause, gate B",
		func(set, cooldown *metav1.Duration, want time.Duration) {
			policy.Spec.Surge.FailurePause, policy.Spec.Surge.CooldownAfter = set, cooldown
			Expect(policy.FailurePause()).To(Equal(want))
		},
		Entry("is 10m at least", nil, duration(0), 10*time.Minute),
		Entry("follows a longer cooldown", nil, duration(time.Hour), time.Hour),
		Entry("is what was set, even if shorter", duration(time.Minute), duration(time.Hour), time.Minute),
	)

	DescribeTable("the drain estimate (§3.2)",
		func(set *metav1.Duration, grace, want time.Duration, clamped bool) {
			policy.Spec.Surge.DrainEstimate = set
			estimate, wasClamped := policy.DrainEstimate(grace)
			Expect(estimate).To(Equal(want))
			Expect(wasClamped).To(Equal(clamped))
		},
		Entry("is 10m", nil, time.Hour, 10*time.Minute, false),
		Entry("gives way to a shorter grace period", nil, 5*time.Minute, 5*time.Minute, false),
		Entry("is what was set", duration(20*time.Minute), time.Hour, 20*time.Minute, false),
		Entry("may reach the grace period", duration(time.Hour), time.Hour, time.Hour, false),
		Entry("is clamped beyond it", duration(2*time.Hour), time.Hour, time.Hour, true),
	)

	DescribeTable("the provisioning estimate (§3.2)",
		func(set, readyTimeout *metav1.Duration, want time.Duration, clamped bool) {
			policy.Spec.Surge.ProvisioningEstimate, policy.Spec.Surge.ReadyTimeout = set, readyTimeout
			estimate, wasClamped := policy.ProvisioningEstimate()
			Expect(estimate).To(Equal(want))
			Expect(wasClamped).To(Equal(clamped))
		},
		Entry("is 5m", nil, nil, 5*time.Minute, false),
		Entry("gives way to a shorter readyTimeout", nil, duration(time.Minute), time.Minute, false),
		Entry("is what was set", duration(7*time.Minute), nil, 7*time.Minute, false),
		Entry("is clamped beyond readyTimeout", duration(time.Hour), nil, 15*time.Minute, true),
	)

	DescribeTable("the age threshold (§3.2)",
		func(threshold v1alpha1.AgeThreshold, want time.Duration, overridden bool) {
			policy.Spec.AgeThreshold = threshold
			age, isOverridden, err := policy.AgeThresholdOverride()
			Expect(err).NotTo(HaveOccurred())
			Expect(age).To(Equal(want))
			Expect(isOverridden).To(Equal(overridden))
		},
		Entry("is derived when auto", v1alpha1.AgeThresholdAuto, time.Duration(0), false),
		Entry("is derived when unset", v1alpha1.AgeThreshold(""), time.Duration(0), false),
		Entry("is the operator's override", v1alpha1.AgeThreshold("240h"), 240*time.Hour, true),
		Entry("leaves a zero override to the feasibility check", v1alpha1.AgeThreshold("0s"), time.Duration(0), true),
		Entry("leaves a negative override to the feasibility check", v1alpha1.AgeThreshold("-1h"), -time.Hour, true),
	)

	It("say which policy to correct, and how, when an age threshold can't be read", func() {
		policy.Spec.AgeThreshold = "10 days"
		_, _, err := policy.AgeThresholdOverride()
		Expect(err).To(MatchError(HavePrefix(`RotationPolicy "api": set spec.ageThreshold to "auto" or a Go duration such as "240h": `)))
	})
})

var _ = Describe("Targeting (§5.4)", func() {
	selecting := func(selector metav1.LabelSelector) *v1alpha1.RotationPolicy {
		return &v1alpha1.RotationPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "api"},
			Spec:       v1alpha1.RotationPolicySpec{NodePoolSelector: selector},
		}
	}

	It("matches every NodePool with the empty selector, at specificity 0", func() {
		policy := selecting(metav1.LabelSelector{})
		selector, err := policy.Selector()
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.Matches(labels.Set{"any": "pool"})).To(BeTrue())
		Expect(policy.Specificity()).To(Equal(0))
	})

	It("counts labels and expressions alike", func() {
		policy := selecting(metav1.LabelSelector{
			MatchLabels:      map[string]string{"workload": "api", "team": "a"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"x", "y", "z"}}},
		})
		selector, err := policy.Selector()
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.Matches(labels.Set{"workload": "api", "team": "a", "tier": "y"})).To(BeTrue())
		Expect(selector.Matches(labels.Set{"workload": "api", "team": "a"})).To(BeFalse())
		Expect(policy.Specificity()).To(Equal(3))
	})

	It("matches nothing with a selector that can't be read, and says so", func() {
		policy := selecting(metav1.LabelSelector{MatchLabels: map[string]string{"not a key": ""}})
		selector, err := policy.Selector()
		Expect(err).To(MatchError(HavePrefix(`RotationPolicy "api": correct spec.nodePoolSelector: `)))
		Expect(selector.Matches(labels.Set{})).To(BeFalse())
	})
})

var _ = Describe("A day of the week (§3.1)", func() {
	DescribeTable("is Go's",
		func(day v1alpha1.Day, want time.Weekday) {
			weekday, ok := day.Weekday()
			Expect(ok).To(BeTrue())
			Expect(weekday).To(Equal(want))
		},
		Entry(nil, v1alpha1.Monday, time.Monday),
		Entry(nil, v1alpha1.Tuesday, time.Tuesday),
		Entry(nil, v1alpha1.Wednesday, time.Wednesday),
		Entry(nil, v1alpha1.Thursday, time.Thursday),
		Entry(nil, v1alpha1.Friday, time.Friday),
		Entry(nil, v1alpha1.Saturday, time.Saturday),
		Entry(nil, v1alpha1.Sunday, time.Sunday),
	)

	It("is none for any other word", func() {
		for _, word := range []v1alpha1.Day{"", "mon", "Monday", "Mo"} {
			_, ok := word.Weekday()
			Expect(ok).To(BeFalse(), string(word))
		}
	})
})

var _ = Describe("Registration", func() {
	It("makes a scheme know the policy and its list", func() {
		scheme := runtime.NewScheme()
		Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
		Expect(scheme.Recognizes(v1alpha1.GroupVersion.WithKind("RotationPolicy"))).To(BeTrue())
		Expect(scheme.Recognizes(v1alpha1.GroupVersion.WithKind("RotationPolicyList"))).To(BeTrue())
	})
})

func duration(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d}
}
