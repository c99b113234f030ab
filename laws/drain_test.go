// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func illegalDrains() []illegal {
	return slices.Concat(gateOpened(), expiryMissed())
}

func gateOpened() []illegal {
	const (
		cleared    = "it can clear the anchor in draining while the claim still drains; add claim_gone or not governed"
		notDeleted = "it can fire in draining while the claim is not being deleted, and does not delete it; put a row with not deletion_timestamp before it that does delete"
	)
	return []illegal{
		{"the anchor is cleared when the window closes",
			[]edit{replacing("draining-governance-lost", "not governed", "not in_window")},
			[]breach{
				{"gate-held", "draining-governance-lost", "when", cleared},
				{"gate-held", "draining-governance-lost", "when", notDeleted},
			}},
		{"the anchor is cleared when the drain is overdue",
			[]edit{replacing("draining-governance-lost", "not governed", "drain_overdue"), without("drain-stuck")},
			[]breach{{"gate-held", "draining-governance-lost", "when", cleared}}},
		{"a delete that got lost is not issued again",
			[]edit{without("redelete")},
			[]breach{{"gate-held", "draining-wait", "when", notDeleted}}},
		{"a delete that got lost is issued again only in the window",
			[]edit{replacing("redelete", "not deletion_timestamp", "not deletion_timestamp, in_window")},
			[]breach{{"gate-held", "draining-wait", "when", notDeleted}}},
		{"the row for a lost delete deletes nothing",
			[]edit{dropping("redelete", "do", "delete")},
			[]breach{{"gate-held", "redelete", "when", notDeleted}}},
	}
}

func expiryMissed() []illegal {
	missed := func(row, guards string) breach {
		return breach{"force-expiry-first", row, "when",
			"it can fire in pending with " + guards + ", and does not end the rotation as expired; put a row for that before it, to idle or expired with announce_expired"}
	}
	return []illegal{
		{"a timeout comes before the expiry",
			[]edit{moving("pending-timed-out", "pending-force-expired")},
			[]breach{missed("pending-timed-out", "deletion_timestamp")}},
		{"a freeze comes before every expiry",
			[]edit{moving("pending-held", "pending-claim-gone")},
			[]breach{missed("pending-held", "claim_gone or deletion_timestamp")}},
		{"nobody looks for a claim that another hand deletes",
			[]edit{without("pending-force-expired")},
			[]breach{missed("pending-timed-out", "deletion_timestamp"), missed("pending-held", "deletion_timestamp"),
				missed("drain", "deletion_timestamp"), missed("pending-wait", "deletion_timestamp")}},
		{"nobody looks for a claim that is gone",
			[]edit{without("pending-claim-gone")},
			[]breach{missed("pending-held", "claim_gone"), missed("pending-wait", "claim_gone")}},
		{"an expiry is not told",
			[]edit{dropping("pending-force-expired", "do", "announce_expired")},
			[]breach{{"force-expiry-first", "pending-force-expired", "do", "it can end a pending rotation with deletion_timestamp, and does not tell that it has expired; add announce_expired"}}},
		{"a claim that is gone is not told",
			[]edit{dropping("pending-claim-gone", "do", "announce_expired")},
			[]breach{{"force-expiry-first", "pending-claim-gone", "do", "it can end a pending rotation with claim_gone, and does not tell that it has expired; add announce_expired"}}},
	}
}

var _ = Describe("A lost governance", func() {
	It("may come before an expiry (law force-expiry-first)", func() {
		Expect(load(edited(moving("pending-governance-lost", "pending-claim-gone")))).Error().NotTo(HaveOccurred())
	})

	It("may be one row of pending and draining", func() {
		Expect(load(edited(without("draining-governance-lost"),
			replacing("pending-governance-lost", "from: pending", "from: [pending, draining]"),
		))).Error().NotTo(HaveOccurred())
	})
})
