// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"math"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/simulate"
)

var _ = Describe("Trouble", func() {
	first := func(trouble string) *simulate.Rotation {
		result, err := run(5*day, policy+fleet+"kind: Trouble\n"+trouble)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Rotations).NotTo(BeEmpty())
		return result.Rotations[0]
	}
	opening := start.Add(17 * time.Hour)

	It("of a shortage has attempts rolled back (§3.8)", func() {
		Expect(first("shortages: [{from: 0h, for: 2d}]\n").Outcome).To(Equal(simulate.Failed))
	})

	It("of slow provisioning has the surge take longer", func() {
		r := first("slowProvisioning: [{extra: 6m}]\n")
		Expect(r.Draining.Sub(r.Start)).To(BeNumerically(">", 6*time.Minute))
	})

	It("of slow drains has the drain take longer, whatever grace the Pods had", func() {
		r := first("slowDrains: [{endsAfter: 10m}]\n")
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically(">", 10*time.Minute))
	})

	It("of a chance that is no number is refused", func() {
		in := &simulate.Input{}
		Expect(in.Read("fleet.yaml", []byte(policy+fleet))).To(Succeed())
		in.Troubles = []*simulate.Trouble{{Shortages: []simulate.Shortage{{Chance: new(math.NaN())}}}}
		_, err := simulate.Run(context.Background(), in, simulate.Options{Start: start, For: day, Seed: 1, Machine: theTable})
		Expect(err).To(MatchError("a shortage has chance NaN; set it above 0 and to at most 1"))
	})

	It("of a blocking budget has the drain wait for terminationGracePeriod (§5.2)", func() {
		r := first("blockingBudgets: [{namespace: api, for: 2d}]\n")
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("~", time.Hour, 2*time.Minute))
	})

	It("of an outage has nothing begin while it lasts", func() {
		r := first("outages: [{from: 16h, for: 2h}]\n")
		Expect(r.Start).To(BeTemporally(">=", opening.Add(time.Hour)))
	})

	It("of a freeze has nothing begin before it ends, which may be written as a time (§3.1)", func() {
		r := first("freezes: [{pool: api, from: \"2026-01-09T12:00:00Z\", for: 6h}]\n")
		Expect(r.Start).To(BeTemporally(">=", opening.Add(time.Hour)))
	})

	It("of an outage without an end leaves the nodes to expire", func() {
		result, err := run(5*day, policy+fleet+"kind: Trouble\noutages: [{from: 0h}]\n")
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Verdict.Expired).To(Equal(2))
		Expect(result.Verdict.Bad()).To(BeTrue())
		Expect(codes(result)).To(ContainElement(simulate.PoolNotGoverned))
	})

	DescribeTable("of slow drains is as slow as the slowest of those that hold", func(drains string, least time.Duration) {
		r := first("slowDrains: [" + drains + "]\n")
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("~", least, time.Minute))
	},
		Entry("after another one's end", "{endsAfter: 10m}, {from: 1h, for: 2h, endsAfter: 40m}", 10*time.Minute),
		Entry("beside a slower one", "{endsAfter: 10m}, {from: 16h, for: 2h, endsAfter: 40m}", 40*time.Minute),
		Entry("beside one that is less slow and begins later", "{from: 15h, for: 3h, endsAfter: 40m}, {from: 16h, endsAfter: 10m}", 40*time.Minute),
		Entry("in a document of its own", "{from: 1h, for: 2h, endsAfter: 40m}]\n---\nkind: Trouble\nslowDrains: [{endsAfter: 10m}", 10*time.Minute),
	)

	DescribeTable("that lasts goes on where another that it overlaps ends", func(trouble string) {
		Expect(first(trouble).Start).To(BeTemporally("~", start.Add(20*time.Hour), time.Minute))
	},
		Entry("of outages", "outages: [{from: 16h, for: 4h}, {from: 16h30m, for: 1h}]\n"),
		Entry("of outages, the later one longer", "outages: [{from: 12h, for: 6h}, {from: 16h, for: 4h}]\n"),
		Entry("of outages of two documents", "outages: [{from: 16h30m, for: 1h}]\n---\nkind: Trouble\noutages: [{from: 16h, for: 4h}]\n"),
		Entry("of outages one after the other", "outages: [{from: 17h, for: 3h}, {from: 0h, for: 17h}]\n"),
		Entry("of freezes", "freezes: [{pool: api, from: 16h, for: 4h}, {pool: api, from: 16h30m, for: 1h}]\n"),
		Entry("of freezes, the later one longer", "freezes: [{pool: api, from: 12h, for: 6h}, {pool: api, from: 16h, for: 4h}]\n"),
	)

	It("of blocking budgets of two documents blocks until the last of them goes (§5.2)", func() {
		r := first("blockingBudgets: [{namespace: api, for: 2d}]\n---\nkind: Trouble\nblockingBudgets: [{namespace: api, for: 1h}]\n")
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("~", time.Hour, 2*time.Minute))
	})

	DescribeTable("is told by what it met", func(trouble, says string) {
		result, err := run(5*day, policy+fleet+"kind: Trouble\n"+trouble)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Troubles).To(ConsistOf(HaveField("Text", says)))
		var page strings.Builder
		Expect(simulate.Timeline{Out: &page}.Write(result)).To(Succeed())
		Expect(page.String()).To(ContainSubstring("\ntrouble: " + says + "\n"))
	},
		Entry("between windows", "shortages: [{from: 1h, for: 2h}]\n", "the shortage of 1h+2h met no rotation: no window was open then"),
		Entry("after the end of the run", "outages: [{from: 20d, for: 2d}]\n", "the outage of 20d+2d met no rotation: the run had ended before"),
		Entry("over a window in which nothing could begin", "outages: [{from: 16h, for: 6h}]\n",
			"the outage of 16h+6h kept 1 window from being used"),
		Entry("over the end of a window in which nothing was left to begin", "shortages: [{from: 20h, for: 2h}]\n",
			"the shortage of 20h+2h met no rotation, though 1 window was open then"),
		Entry("over half a window", "outages: [{from: 16h, for: 3h}]\n", "the outage of 16h+3h kept 1 window from being used for 2h"),
		Entry("over the other half", "outages: [{from: 19h, for: 3h}]\n", "the outage of 19h+3h kept 1 window from being used for 2h"),
		Entry("over a rotation and the rest of its window", "outages: [{from: 17h30s, for: 2h}]\n",
			"the outage of 17h30s+2h met 1 rotation, 1 of them rolled back, and kept 1 window from being used for 2h"),
		Entry("over a window of the pool that it holds", "freezes: [{pool: api, from: \"2026-01-09T12:00:00Z\", for: 12h}]\n",
			"the freeze of NodePool api of 2026-01-09T12:00:00Z+12h kept 1 window from being used"),
		Entry("while a rotation surges", "slowProvisioning: [{extra: 1m}]\n", "the slow provisioning of the whole run met 2 rotations, none rolled back"),
		Entry("while the nodes drain", "blockingBudgets: [{namespace: api, for: 2d}]\n", "the blocking budget of namespace api of 0s+2d met 2 rotations, none rolled back"),
		Entry("without an end", "outages: [{from: 0h}]\n", "the outage of the whole run met no rotation: no controller ran"),
	)

	DescribeTable("stands out where it has shown nothing", func(trouble, stands string) {
		result, err := run(5*day, policy+fleet+"kind: Trouble\n"+trouble)
		Expect(err).NotTo(HaveOccurred())
		var page strings.Builder
		Expect(simulate.Timeline{Out: &page, Color: true}.Write(result)).To(Succeed())
		Expect(page.String()).To(ContainSubstring("\ntrouble: " + stands))
	},
		Entry("between windows", "outages: [{from: 1h, for: 2h}]\n", "\x1b["),
		Entry("not over a window", "outages: [{from: 16h, for: 6h}]\n", "the outage of"),
	)

	It("that rolls rotations back says how many", func() {
		result, err := run(5*day, policy+fleet+"kind: Trouble\nshortages: [{from: 0h, for: 2d, zone: a}]\n")
		Expect(err).NotTo(HaveOccurred())
		met := result.Troubles[0]
		Expect(met.RolledBack).To(BeNumerically(">", 0))
		Expect(met.RolledBack).To(Equal(result.Verdict.FailedAttempts))
		Expect(met.Text).To(SatisfyAll(HavePrefix("the shortage in zone a of 0s+2d met "), HaveSuffix(" of them rolled back")))
	})

	It("that there is none of is an empty list", func() {
		result, err := run(day, policy+fleet)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Troubles).To(BeEmpty())
		Expect(result.Troubles).NotTo(BeNil())
	})
})
