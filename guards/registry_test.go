// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The guards", func() {
	It("have the names that tables are exchanged by (architecture, transitions.yaml)", func() {
		var names []string
		for _, g := range guards.All() {
			names = append(names, g.Name)
		}
		Expect(names).To(ConsistOf(
			"in_window", "frozen", "cooldown_elapsed", "failure_pause_elapsed", "backoff_elapsed", "eligible", "candidate", "surge_headroom",
			"surge_ready", "surge_settled", "forceful_fallback", "ready_timeout_elapsed", "deletion_timestamp", "claim_gone", "governed", "drain_overdue",
			"pool_settled", "feasible"))
	})

	It("each say in a line what they ask and where it is specified", func() {
		for _, g := range guards.All() {
			Expect(g.About).To(MatchRegexp(`^\w[^\n]*\.$`), g.Name)
			Expect(g.Section).To(MatchRegexp(`^§\d\.\d`), g.Name)
		}
	})

	It("make a registry: no name twice, no implication of an unknown guard, none that can never hold", func() {
		Expect(machine.NewRegistry[*rotation.Snapshot, string](guards.All(), nil)).Error().NotTo(HaveOccurred())
	})
})
