// SPDX-License-Identifier: Apache-2.0

package laws_test

func illegalGates() []illegal {
	unfrozen := func(row, does string) breach {
		return breach{"freeze-holds", row, "when", "it can fire in pending with frozen, and does " + does + "; add not frozen, or put a row for frozen before it"}
	}
	return []illegal{
		{"the drain begins on something else than the replacement",
			[]edit{replacing("drain", "surge_ready, surge_settled", "surge_headroom")},
			[]breach{{"surge-first", "drain", "when", "it can begin a drain from pending without a replacement; add surge_ready"}}},
		{"a failed attempt goes straight to draining",
			[]edit{replacing("retry", "to: pending", "to: draining"), replacing("retry", "mark_pending", "mark_draining")},
			[]breach{{"surge-first", "retry", "when", "it can begin a drain from failed without a replacement; add surge_ready"}}},
		{"nothing holds a frozen rotation",
			[]edit{without("pending-held")},
			[]breach{unfrozen("drain", "delete"), unfrozen("pending-wait", "placeholder")}},
		{"the drain comes before the freeze",
			[]edit{moving("drain", "pending-held")},
			[]breach{unfrozen("drain", "delete")}},
		{"a held rotation gets a placeholder",
			[]edit{putting("pending-held", "do", "placeholder", "")},
			[]breach{unfrozen("pending-held", "placeholder")}},
		{"a freeze holds only while the window is open",
			[]edit{replacing("pending-held", "when: [frozen]", "when: [frozen, in_window]")},
			[]breach{unfrozen("drain", "delete"), unfrozen("pending-wait", "placeholder")}},
	}
}
