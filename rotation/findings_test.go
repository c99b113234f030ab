// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// situation is a policy, a pool and the number of its nodes.
type situation struct {
	policy []policyEdit
	pool   []poolEdit
	nodes  int
}

func (s situation) findings() []rotation.Finding {
	policy := policyNamed("api", s.policy...)
	if a := rotation.Assess(policy, newYear); a.Invalid() {
		return a.Findings
	}
	return judged(policy, poolNamed("web", s.pool...), s.nodes).Findings
}

func with(edits ...policyEdit) []policyEdit { return edits }
func pool(edits ...poolEdit) []poolEdit     { return edits }

var _ = Describe("the findings (§3.2)", func() {
	saturdays := opening("Asia/Tokyo", "02:00", "06:00", v1alpha1.Saturday)
	const rotationBound = time.Hour + 17*time.Minute

	It("are none for the first worked example", func() {
		Expect(situation{nodes: 14}.findings()).To(BeEmpty())
	})

	DescribeTable("come with what they are about, and not with its neighbour",
		func(code string, severity rotation.Severity, level rotation.Level, fires, doesNot situation) {
			Expect(fires.findings()).To(ContainElement(And(
				HaveField("Code", code), HaveField("Severity", severity), HaveField("Level", level), HaveField("Message", HaveSuffix(".")))))
			Expect(codes(doesNot.findings())).NotTo(ContainElement(code))
		},
		Entry("no windows", rotation.NoWindows, rotation.Fatal, rotation.PolicyLevel,
			situation{policy: with(neverOpening())},
			situation{policy: with(opening("UTC", "02:00", "02:01", v1alpha1.Sunday))}),
		Entry("K = 0", rotation.KBelowOne, rotation.Fatal, rotation.PolicyLevel,
			situation{policy: with(chances(0))},
			situation{policy: with(chances(1))}),
		Entry("A = 0", rotation.ANonPositive, rotation.Fatal, rotation.PoolLevel,
			situation{policy: with(saturdays), pool: pool(expiringAfter(14*aDay + rotationBound))},
			situation{policy: with(saturdays), pool: pool(expiringAfter(14*aDay + rotationBound + time.Second))}),
		Entry("A < 0, which an override excuses", rotation.ANonPositive, rotation.Fatal, rotation.PoolLevel,
			situation{policy: with(saturdays)},
			situation{policy: with(saturdays, ageThreshold("24h"))}),
		Entry("an override of zero", rotation.OverrideNonPositive, rotation.Fatal, rotation.PolicyLevel,
			situation{policy: with(ageThreshold("0s"))},
			situation{policy: with(ageThreshold("1s"))}),
		Entry("an override that leaves no chance", rotation.OverrideGBelowOne, rotation.Fatal, rotation.PoolLevel,
			situation{policy: with(ageThreshold("238h43m1s"))},
			situation{policy: with(ageThreshold("238h43m"))}),
		Entry("K = 1", rotation.KBelowTwo, rotation.Warn, rotation.PolicyLevel,
			situation{policy: with(chances(1))},
			situation{policy: with(chances(2))}),
		Entry("A just below P", rotation.AVeryAggressive, rotation.Warn, rotation.PoolLevel,
			situation{pool: pool(expiringAfter(12*aDay + rotationBound - time.Second))},
			situation{pool: pool(expiringAfter(12*aDay + rotationBound))}),
		Entry("A barely positive, but not once it is fatal", rotation.AVeryAggressive, rotation.Warn, rotation.PoolLevel,
			situation{pool: pool(expiringAfter(8*aDay + rotationBound + time.Second))},
			situation{pool: pool(expiringAfter(8*aDay + rotationBound))}),
		Entry("A < P, but not by override", rotation.AVeryAggressive, rotation.Warn, rotation.PoolLevel,
			situation{pool: pool(expiringAfter(9 * aDay))},
			situation{pool: pool(expiringAfter(9 * aDay)), policy: with(ageThreshold("22h"))}),
		Entry("an override that leaves one chance of two", rotation.OverrideGBelowK, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(ageThreshold("142h43m1s"))},
			situation{policy: with(ageThreshold("142h43m"))}),
		Entry("an override that leaves none is fatal instead", rotation.OverrideGBelowK, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(ageThreshold("238h43m"))},
			situation{policy: with(ageThreshold("238h43m1s"))}),
		Entry("a life of more than 21 days", rotation.HardCapExceeded, rotation.Warn, rotation.PoolLevel,
			situation{pool: pool(expiringAfter(21*aDay-time.Hour+time.Second), grace(time.Hour))},
			situation{pool: pool(expiringAfter(21*aDay-time.Hour), grace(time.Hour))}),
		Entry("no terminationGracePeriod", rotation.TGPUnset, rotation.Warn, rotation.PoolLevel,
			situation{pool: pool(withoutGrace())},
			situation{pool: pool(grace(0))}),
		Entry("a short retryBackoff", rotation.RetryBackoffShort, rotation.Warn, rotation.PolicyLevel,
			situation{policy: with(retryBackoff(15*time.Minute - 1))},
			situation{policy: with(retryBackoff(15 * time.Minute))}),
		Entry("a drainEstimate above terminationGracePeriod", rotation.DrainEstimateAboveTGP, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(drainEstimate(time.Hour + 1))},
			situation{policy: with(drainEstimate(time.Hour))}),
		Entry("a drainEstimate above the hour that stands in", rotation.DrainEstimateAboveTGP, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(drainEstimate(2 * time.Hour)), pool: pool(withoutGrace())},
			situation{policy: with(drainEstimate(2 * time.Hour)), pool: pool(grace(2 * time.Hour))}),
		Entry("a provisioningEstimate above readyTimeout", rotation.ProvisioningEstimateAboveReadyTimeout, rotation.Warn, rotation.PolicyLevel,
			situation{policy: with(provisioningEstimate(15*time.Minute + 1))},
			situation{policy: with(provisioningEstimate(15 * time.Minute))}),
		Entry("more arrivals than room: 10 · 5d22h43m < 15 · 4d", rotation.ThroughputBelowArrival, rotation.Warn, rotation.PoolLevel,
			situation{nodes: 15},
			situation{nodes: 14}),
		Entry("more arrivals than an always open window serves: 25m each in 13d22h41m", rotation.ThroughputBelowArrival, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(alwaysOpen()), nodes: 804},
			situation{policy: with(alwaysOpen()), nodes: 803}),
		Entry("a batch beyond K·C", rotation.ThroughputBurstShortfall, rotation.Warn, rotation.PoolLevel,
			situation{nodes: 21},
			situation{nodes: 20}),
		Entry("a batch beyond what can begin in K ticks of an always open window", rotation.ThroughputBurstShortfall, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(alwaysOpen(), chances(26)), nodes: 3},
			situation{policy: with(alwaysOpen(), chances(26)), nodes: 2}),
		Entry("a batch of nodes without a deadline is in no hurry", rotation.ThroughputBurstShortfall, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(ageThreshold("100h")), nodes: 21},
			situation{policy: with(ageThreshold("100h")), pool: pool(neverExpiring()), nodes: 21}),
		Entry("a rotation of 12m, closed for 11m", rotation.RotationSpansNextWindow, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(openingEveryHalfHour(19), cooldownAfter(2*time.Minute), drainEstimate(5*time.Minute))},
			situation{policy: with(openingEveryHalfHour(18), cooldownAfter(2*time.Minute), drainEstimate(5*time.Minute))}),
		Entry("no next window where it never closes", rotation.RotationSpansNextWindow, rotation.Warn, rotation.PoolLevel,
			situation{policy: with(openingEveryHalfHour(29))},
			situation{policy: with(alwaysOpen())}),
		Entry("the zone left out", rotation.ZoneNotReplicated, rotation.Warn, rotation.PolicyLevel,
			situation{policy: with(requiring("kubernetes.io/arch"))},
			situation{policy: with(requiring("topology.kubernetes.io/zone"))}),
	)

	It("come in the order of §3.2, those of the policy among those of the pool", func() {
		Expect(codes(situation{
			policy: with(saturdays, chances(1), retryBackoff(time.Minute), drainEstimate(2*time.Hour), provisioningEstimate(time.Hour), requiring()),
			pool:   pool(expiringAfter(30*aDay), withoutGrace()), nodes: 100,
		}.findings())).To(Equal([]string{rotation.KBelowTwo, rotation.HardCapExceeded, rotation.TGPUnset, rotation.RetryBackoffShort,
			rotation.DrainEstimateAboveTGP, rotation.ProvisioningEstimateAboveReadyTimeout, rotation.ThroughputBelowArrival,
			rotation.ThroughputBurstShortfall, rotation.ZoneNotReplicated}))
	})

	Describe("say the facts and what to change:", func() {
		It("the smallest expireAfter that would do, and the two occurrences around the largest gap", func() {
			Expect(message(situation{policy: with(saturdays)}.findings(), rotation.ANonPositive)).To(Equal(
				"NodePool web: its nodes expire after 14d, which leaves no age at which to rotate them: " +
					"2 (minRotationChances) × 7d (window period) + 1h 17m (longest rotation) = 14d 1h 17m is wanted before that. " +
					"The smallest expireAfter that would do is 337h17m1s; or open windows closer together, or lower minRotationChances or " +
					"terminationGracePeriod. The windows lie furthest apart between Sat 2026-01-03 02:00–06:00 Asia/Tokyo and " +
					"Sat 2026-01-10 02:00–06:00 Asia/Tokyo."))
		})

		It("the clock change that lies in the largest gap", func() {
			hour := opening("Europe/Berlin", "02:00", "03:00", v1alpha1.Sunday)
			Expect(message(situation{policy: with(hour)}.findings(), rotation.ANonPositive)).To(And(
				ContainSubstring("2 (minRotationChances) × 13d 23h (window period)"),
				ContainSubstring("The smallest expireAfter that would do is 671h17m1s;"),
				HaveSuffix("The windows lie furthest apart between Sun 2026-03-22 02:00–03:00 Europe/Berlin and Sun 2026-04-05 02:00–03:00 Europe/Berlin; "+
					"in between, Europe/Berlin sets its clocks forward by 1h0m0s at 2026-03-29T03:00:00+02:00.")))
		})

		It("no occurrences where the windows never close", func() {
			Expect(message(situation{policy: with(alwaysOpen()), pool: pool(expiringAfter(time.Hour))}.findings(), rotation.ANonPositive)).To(
				HaveSuffix("or lower minRotationChances or terminationGracePeriod."))
		})

		It("the latest override that would do", func() {
			Expect(message(situation{policy: with(ageThreshold("400h"))}.findings(), rotation.OverrideGBelowOne)).To(Equal(
				"RotationPolicy api: an ageThreshold of 16d 16h leaves the nodes of NodePool web, which expire after 14d, no window in which to be rotated: " +
					"a rotation can take 1h 17m and windows lie up to 4d apart; set ageThreshold to 238h43m or less, or to \"auto\"."))
			Expect(message(situation{policy: with(ageThreshold("200h"))}.findings(), rotation.OverrideGBelowK)).To(Equal(
				"RotationPolicy api: an ageThreshold of 8d 8h leaves the nodes of NodePool web, which expire after 14d, " +
					"1 window instead of the 2 that minRotationChances asks for: " +
					"a rotation can take 1h 17m and windows lie up to 4d apart; set ageThreshold to 142h43m or less, or to \"auto\"."))
		})

		It("that no override would do", func() {
			Expect(message(situation{policy: with(ageThreshold("1h")), pool: pool(expiringAfter(4 * aDay))}.findings(), rotation.OverrideGBelowOne)).To(
				HaveSuffix("; no ageThreshold would do; lengthen expireAfter, or open windows closer together."))
		})

		It("how many nodes of a batch are left over", func() {
			Expect(message(situation{nodes: 23}.findings(), rotation.ThroughputBurstShortfall)).To(Equal(
				"NodePool web: if its 23 nodes came of age together, their chances would have room for 20 rotations and 3 would be left over " +
					"for Karpenter's forceful expiration; lengthen the windows or open more of them, lower cooldownAfter, " +
					"or spread the nodes over several NodePools, or raise minRotationChances (2)."))
		})

		It("what the windows have room for", func() {
			Expect(message(situation{nodes: 23}.findings(), rotation.ThroughputBelowArrival)).To(Equal(
				"NodePool web: the windows have room for 10 rotations every 4d, too few for a fleet of 23 nodes, each due again after 5d 22h 43m; " +
					"lengthen the windows or open more of them, lower cooldownAfter, or spread the nodes over several NodePools."))
		})
	})
})

var _ = DescribeTable("a duration spelled for a person",
	func(d time.Duration, text string) { Expect(rotation.Spell(d)).To(Equal(text)) },
	Entry("nothing", time.Duration(0), "0s"),
	Entry("days, hours and minutes", 5*aDay+22*time.Hour+43*time.Minute, "5d 22h 43m"),
	Entry("days and seconds", aDay+time.Second, "1d 1s"),
	Entry("less than zero", -(time.Hour+17*time.Minute), "-1h 17m"),
	Entry("fractions", time.Minute+1500*time.Millisecond, "1m 1.5s"),
	Entry("less than a second", -time.Nanosecond, "-1ns"),
	Entry("the least there is", time.Duration(math.MinInt64), "-106751d 23h 47m 16.854775807s"),
)
