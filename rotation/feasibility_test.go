// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/window"
)

var _ = Describe("the symbols of a pool (§3.2)", func() {
	type symbols struct {
		P, RotationBound, A, RotationEstimate time.Duration
		C                                     int
	}

	DescribeTable("are those of the worked examples",
		func(policy []policyEdit, pool []poolEdit, expected symbols, findings ...string) {
			f := judged(policyNamed("api", policy...), poolNamed("web", pool...), 1)
			Expect(f.Known && f.HasAgeThreshold && f.HasDeadline).To(BeTrue())
			Expect(symbols{f.P, f.RotationBound, f.AgeThreshold, f.RotationEstimate, f.Capacity}).To(Equal(expected))
			Expect(f.LeadTime).To(Equal(2*expected.P + expected.RotationBound))
			Expect(f.Chances).To(Equal(2))
			Expect(codes(f.Findings)).To(ConsistOf(findings))
		},
		Entry("Wednesdays and Saturdays", nil, nil,
			symbols{4 * aDay, time.Hour + 17*time.Minute, 5*aDay + 22*time.Hour + 43*time.Minute, 15 * time.Minute, 10}),
		Entry("Saturdays only", with(opening("Asia/Tokyo", "02:00", "06:00", v1alpha1.Saturday)), nil,
			symbols{7 * aDay, time.Hour + 17*time.Minute, -(time.Hour + 17*time.Minute), 15 * time.Minute, 10}, rotation.ANonPositive),
		Entry("a terminationGracePeriod of 24h", nil, pool(grace(24*time.Hour)),
			symbols{4 * aDay, 24*time.Hour + 17*time.Minute, 4*aDay + 23*time.Hour + 43*time.Minute, 15 * time.Minute, 10}),
		Entry("28 of every 30 minutes",
			with(openingEveryHalfHour(28), readyTimeout(5*time.Minute), cooldownAfter(2*time.Minute),
				drainEstimate(5*time.Minute), provisioningEstimate(5*time.Minute)),
			pool(expiringAfter(2*time.Hour+12*time.Minute), grace(5*time.Minute)),
			symbols{30 * time.Minute, 12 * time.Minute, time.Hour, 10 * time.Minute, 3}, rotation.RotationSpansNextWindow),
	)

	It("are unknown for a pool that is not governed", func() {
		f := rotation.Judge(rotation.Snapshot{Pool: poolNamed("web"), Claims: fleetOf(3)})
		Expect(f).To(Equal(rotation.Feasibility{}))
		_, fatal := f.Fatal()
		Expect(fatal).To(BeFalse())
	})

	It("have no A, and nothing is found, where nodes never expire and no override says when they are due", func() {
		f := judged(policyNamed("api", chances(1), requiring()), poolNamed("web", neverExpiring(), withoutGrace()), 500)
		Expect(f.Known).To(BeTrue())
		Expect(f.HasAgeThreshold).To(BeFalse())
		Expect(f.Findings).To(BeEmpty())
		Expect(f.P).To(Equal(4 * aDay))
	})

	It("have the override as A where nodes never expire, and no chances to count", func() {
		f := judged(policyNamed("api", ageThreshold("240h")), poolNamed("web", neverExpiring()), 1)
		Expect(f.HasAgeThreshold).To(BeTrue())
		Expect(f.AgeThreshold).To(Equal(10 * aDay))
		Expect(f.HasDeadline).To(BeFalse())
		Expect(f.Findings).To(BeEmpty())
	})

	It("reckon with one hour in place of an unset terminationGracePeriod", func() {
		f := judged(policyNamed("api"), poolNamed("web", withoutGrace()), 1)
		Expect(f.RotationBound).To(Equal(time.Hour + 17*time.Minute))
		Expect(f.RotationEstimate).To(Equal(15 * time.Minute))
	})

	DescribeTable("take estimates that are unset from their bounds, and clamp those that are set to them",
		func(expected time.Duration, grace time.Duration, edits ...policyEdit) {
			f := judged(policyNamed("api", edits...), poolNamed("web", func(p *rotation.Pool) { p.TerminationGracePeriod = &grace }), 1)
			Expect(f.RotationEstimate).To(Equal(expected))
			Expect(f.RotationBound).To(Equal((&rotation.Claim{TerminationGracePeriod: &grace}).RotationBound(f.RotationBound-grace-rotation.Buffer)),
				"t_rot never depends on an estimate")
		},
		Entry("unset, with room", 15*time.Minute, time.Hour),
		Entry("unset, within a short terminationGracePeriod", 7*time.Minute, 2*time.Minute),
		Entry("unset, within a short readyTimeout", 13*time.Minute, time.Hour, readyTimeout(3*time.Minute)),
		Entry("set", 21*time.Minute, time.Hour, drainEstimate(20*time.Minute), provisioningEstimate(time.Minute)),
		Entry("set above both bounds", time.Hour+15*time.Minute, time.Hour, drainEstimate(3*time.Hour), provisioningEstimate(time.Hour)),
	)

	DescribeTable("count the chances that an override leaves, below zero too",
		func(override v1alpha1.AgeThreshold, chances int) {
			Expect(judged(policyNamed("api", ageThreshold(override)), poolNamed("web"), 1).Chances).To(Equal(chances))
		},
		Entry("three and a bit", v1alpha1.AgeThreshold("10h"), 3),
		Entry("exactly two", v1alpha1.AgeThreshold("142h43m"), 2),
		Entry("none", v1alpha1.AgeThreshold("300h"), 0),
		Entry("exactly none", v1alpha1.AgeThreshold("334h43m"), 0),
		Entry("a nanosecond too late", v1alpha1.AgeThreshold("334h43m0.000000001s"), -1),
		Entry("far too late", v1alpha1.AgeThreshold("500h"), -2),
	)

	It("count windows that never close in ticks", func() {
		f := judged(policyNamed("api", alwaysOpen(), cooldownAfter(0), drainEstimate(5*time.Second), provisioningEstimate(5*time.Second)),
			poolNamed("web"), 1)
		Expect(f.AlwaysOpen).To(BeTrue())
		Expect(f.P).To(Equal(window.Tick))
		Expect(f.Capacity).To(Equal(6))
		Expect(judged(policyNamed("api", alwaysOpen()), poolNamed("web"), 1).Capacity).To(Equal(1))
	})

	It("do not wrap round where nothing is bounded", func() {
		policy := policyNamed("api", chances(250), cooldownAfter(0), drainEstimate(1), provisioningEstimate(1))
		terms, err := rotation.TermsOf(policy)
		Expect(err).NotTo(HaveOccurred())
		forever := time.Duration(1<<63 - 1)
		f := rotation.Judge(rotation.Snapshot{
			Pool:   poolNamed("web", expiringAfter(forever), grace(forever)),
			Claims: fleetOf(500),
			Governance: rotation.Governance{Policy: policy, Terms: terms,
				Survey: window.Survey{Occurrences: 2, P: window.Horizon, D: window.Horizon, Gap: 1}},
		})
		Expect(f.RotationBound).To(Equal(forever))
		Expect(f.LeadTime).To(Equal(forever))
		Expect(f.AgeThreshold).To(BeZero())
		Expect(f.Capacity).To(Equal(int(window.Horizon) / 2))
		Expect(codes(f.Findings)).To(Equal([]string{rotation.ANonPositive, rotation.HardCapExceeded, rotation.RotationSpansNextWindow}))
	})

	It("do not wrap round below zero, nor with more chances than admission allows", func() {
		policy := policyNamed("api", ageThreshold("2000000h"), chances(1<<31-1))
		terms, err := rotation.TermsOf(policy)
		Expect(err).To(MatchError(ContainSubstring("spec.minRotationChances")))
		forever := time.Duration(1<<63 - 1)
		f := rotation.Judge(rotation.Snapshot{
			Pool: poolNamed("web", expiringAfter(0), grace(forever)),
			Governance: rotation.Governance{Policy: policy, Terms: terms,
				Survey: window.Survey{Occurrences: 2, P: window.Horizon, D: 1, Gap: 1}},
		})
		Expect(f.LeadTime).To(Equal(forever))
		Expect(f.Chances).To(Equal(-267), "the longest time there is, in periods of 400 days")
	})

	It("compare products that no int64 holds", func() {
		policy := policyNamed("api")
		terms, err := rotation.TermsOf(policy)
		Expect(err).NotTo(HaveOccurred())
		f := rotation.Judge(rotation.Snapshot{
			Pool: poolNamed("web", expiringAfter(1000*aDay)), Claims: fleetOf(500),
			Governance: rotation.Governance{Policy: policy, Terms: terms,
				Survey: window.Survey{Occurrences: 2, P: window.Horizon, D: time.Hour, Gap: aDay}},
		})
		Expect(codes(f.Findings)).To(ContainElement(rotation.ThroughputBelowArrival), "3 · 200d < 500 · 400d")
	})

	It("do not divide by a window period that is not known", func() {
		policy := policyNamed("api", ageThreshold("24h"))
		terms, err := rotation.TermsOf(policy)
		Expect(err).NotTo(HaveOccurred())
		f := rotation.Judge(rotation.Snapshot{Pool: poolNamed("web"), Governance: rotation.Governance{Policy: policy, Terms: terms}})
		finding, fatal := f.Fatal()
		Expect(fatal).To(BeTrue())
		Expect(finding.Code).To(Equal(rotation.NoWindows))
	})

	It("are fatal by the first fatal finding", func() {
		f := judged(policyNamed("api", chances(1), ageThreshold("300h"), requiring()), poolNamed("web"), 1)
		finding, fatal := f.Fatal()
		Expect(fatal).To(BeTrue())
		Expect(finding.Code).To(Equal(rotation.OverrideGBelowOne))
		warned := judged(policyNamed("api", chances(1), requiring()), poolNamed("web"), 1)
		_, fatal = warned.Fatal()
		Expect(fatal).To(BeFalse(), "warnings stop nothing")
	})
})

var _ = Describe("the size of a fleet, N (§3.2)", func() {
	nodes := func(pool rotation.Pool, claims []*rotation.Claim) int {
		governance := rotation.Govern(assessments(policyNamed("api")), nil)
		return rotation.Judge(rotation.Snapshot{Now: newYear, Pool: pool, Governance: governance, Claims: claims}).Nodes
	}
	anchored := func(pool rotation.Pool, claim string) rotation.Pool {
		pool.Annotations = map[string]string{rotation.KeyActiveRotation: claim}
		return pool
	}
	surging := func(startedAt string) []*rotation.Claim {
		claims := fleetOf(4)
		claims[0].Annotations = map[string]string{rotation.KeyStartedAt: startedAt}
		claims[3].Created = newYear.Add(aDay)
		return claims
	}

	It("is the number of claims that are not being deleted", func() {
		claims := fleetOf(4)
		claims[1].Deleted = newYear.Add(time.Hour)
		Expect(nodes(poolNamed("web"), claims)).To(Equal(3))
	})

	It("stays what it was through a whole rotation", func() {
		pool := anchored(poolNamed("web"), "claim-0000")
		Expect(nodes(pool, surging("2026-01-02T00:00:00Z"))).To(Equal(3), "while the replacement comes up beside the old node")
		draining := surging("2026-01-02T00:00:00Z")
		draining[0].Deleted = newYear.Add(2 * aDay)
		Expect(nodes(pool, draining)).To(Equal(3), "while the old node drains")
		Expect(nodes(poolNamed("web"), draining[1:])).To(Equal(3), "once it is gone")
	})

	It("leaves nothing out where no rotation is anchored, or its start cannot be read", func() {
		Expect(nodes(poolNamed("web"), surging("2026-01-02T00:00:00Z"))).To(Equal(4))
		Expect(nodes(anchored(poolNamed("web"), "claim-0000"), surging("yesterday"))).To(Equal(4))
	})
})

var _ = Describe("a claim with a short lead (§3.2)", func() {
	lead := 2*4*aDay + time.Hour + 17*time.Minute
	f := judged(policyNamed("api"), poolNamed("web"), 1)

	DescribeTable("lives no longer than the lead time by its own values",
		func(short bool, expireAfter, grace *time.Duration) {
			Expect(f.ShortLead(&rotation.Claim{ExpireAfter: expireAfter, TerminationGracePeriod: grace})).To(Equal(short))
		},
		Entry("exactly the lead time", true, &lead, ptr.To(time.Hour)),
		Entry("a nanosecond more", false, ptr.To(lead+1), ptr.To(time.Hour)),
		Entry("more, but with a longer grace period", true, ptr.To(lead+time.Minute), ptr.To(time.Hour+time.Minute)),
		Entry("without a grace period, which counts as an hour", true, &lead, nil),
		Entry("for ever", false, nil, ptr.To(time.Hour)),
	)

	It("has no lead to be short of where the pool is not governed", func() {
		Expect((&rotation.Feasibility{}).ShortLead(&rotation.Claim{ExpireAfter: new(time.Duration)})).To(BeFalse())
	})
})

// draw makes up a governed pool whose windows are known by their survey alone.
func draw(t *rapid.T, edits ...policyEdit) rotation.Snapshot {
	minutes := func(label string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * time.Minute
	}
	edits = append(edits, chances(rapid.Int32Range(1, 250).Draw(t, "K")), readyTimeout(minutes("readyTimeout", 1, 600)))
	policy := policyNamed("api", edits...)
	terms, err := rotation.TermsOf(policy)
	if err != nil {
		t.Fatal(err)
	}
	period := minutes("P", 1, 60*24*30)
	return rotation.Snapshot{
		Pool: poolNamed("web", expiringAfter(minutes("E", 1, 60*24*400)), grace(minutes("tGP", 0, 60*48))),
		Governance: rotation.Governance{Policy: policy, Terms: terms,
			Survey: window.Survey{Occurrences: 2, P: period, D: period / 2, Gap: period / 2}},
		Claims: fleetOf(rapid.IntRange(0, 50).Draw(t, "N")),
	}
}

// A + K·P + t_rot = E and G = K, whatever the input (§3.2).
func TestDerivedThresholdLeavesExactlyTheChancesAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		f := rotation.Judge(s)
		if sum := f.AgeThreshold + time.Duration(f.K)*f.P + f.RotationBound; sum != *s.Pool.ExpireAfter {
			t.Fatalf("A + K·P + t_rot = %s, and E = %s", sum, *s.Pool.ExpireAfter)
		}
		if f.Chances != f.K {
			t.Fatalf("G = %d, and K = %d", f.Chances, f.K)
		}
		if _, fatal := f.Fatal(); fatal != (f.AgeThreshold <= 0) {
			t.Fatalf("A = %s, and fatal: %t", f.AgeThreshold, fatal)
		}
	})
}

// An override of the derived age is as good as none; one nanosecond later costs a chance (§3.2).
func TestOverrideLosesAChanceJustBeyondTheDerivedThreshold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		age := time.Duration(rapid.IntRange(1, 60*24*400).Draw(t, "A")) * time.Minute
		s.Pool.ExpireAfter = ptr.To(rotation.Judge(s).LeadTime + age)
		derived := rotation.Judge(s)
		for _, c := range []struct {
			later time.Duration
			lost  int
		}{{0, 0}, {1, 1}, {derived.P, 1}, {derived.P + 1, 2}} {
			s.Governance.Terms.AgeThreshold = ptr.To(derived.AgeThreshold + c.later)
			if g := rotation.Judge(s).Chances; g != derived.K-c.lost {
				t.Fatalf("%s later than A, G = %d, and K = %d", c.later, g, derived.K)
			}
		}
	})
}

// The age that the message of ANonPositive names would do, and one second less would not (§3.2).
func TestSmallestExpireAfterThatWouldDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		least := rotation.Judge(s).LeadTime + time.Second
		s.Pool.ExpireAfter = &least
		enough := rotation.Judge(s)
		if _, fatal := enough.Fatal(); fatal {
			t.Fatalf("%s does not do", least)
		}
		s.Pool.ExpireAfter = ptr.To(least - time.Second)
		tooLittle := rotation.Judge(s)
		if _, fatal := tooLittle.Fatal(); !fatal {
			t.Fatalf("%s does", least-time.Second)
		}
	})
}

// BenchmarkJudge is the feasibility part of one idle pass: a sound policy over 500 claims.
func BenchmarkJudge(b *testing.B) {
	s := rotation.Snapshot{
		Now: newYear, Pool: poolNamed("web", expiringAfter(20*aDay)), Claims: fleetOf(500),
		Governance: rotation.Govern(assessments(policyNamed("api", opening("UTC", "02:00", "06:00", everyDay...), chances(5),
			cooldownAfter(0), drainEstimate(time.Minute), provisioningEstimate(time.Minute))), nil),
	}
	if findings := rotation.Judge(s).Findings; len(findings) > 0 {
		b.Fatal(findings)
	}
	b.ReportAllocs()
	for b.Loop() {
		rotation.Judge(s)
	}
}
