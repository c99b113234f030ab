// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
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
})
