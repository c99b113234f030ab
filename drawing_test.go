// SPDX-License-Identifier: Apache-2.0

package noderotation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine/graph"
)

var _ = Describe("The drawing of the table", func() {
	It("tells rows apart by their effects: a start without surge, an end without success, and all else", func() {
		m, err := engine()
		Expect(err).NotTo(HaveOccurred())
		kinds := map[graph.Kind][]string{}
		for i := range m.Table().Rows {
			row := &m.Table().Rows[i]
			kind := effects.Drawing(m.Model()).Kind(row)
			kinds[kind] = append(kinds[kind], row.ID)
		}
		Expect(kinds[graph.Fallback]).To(ConsistOf("start-fallback"))
		Expect(kinds[graph.Failure]).To(ConsistOf(
			"pending-claim-gone", "pending-force-expired", "pending-governance-lost", "pending-timed-out",
			"draining-governance-lost", "failed-force-expired", "failed-release", "expired-release"))
		Expect(kinds[graph.Ordinary]).To(ContainElements("start", "drain", "drained", "retry", "redelete"))
	})
})
