// SPDX-License-Identifier: Apache-2.0

package laws_test

import "slices"

func illegalAnchors() []illegal {
	return slices.Concat(anchoredLate(), notRenewed(), clearedWrongly(), orphaned())
}

func anchoredLate() []illegal {
	return []illegal{
		{"the claim is marked before the anchor stands",
			[]edit{dropping("start", "do", "anchor"), putting("start", "do", "anchor", "freeze")},
			[]breach{{"anchor-first", "start", "do", "its first write is mark_pending, which a crash would leave with no anchor by which it is found again; put anchor before it"}}},
		{"the fallback is marked before the anchor stands",
			[]edit{dropping("start-fallback", "do", "anchor"), putting("start-fallback", "do", "anchor", "mirror")},
			[]breach{{"anchor-first", "start-fallback", "do", "its first write is mark_fallback, which a crash would leave with no anchor by which it is found again; put anchor before it"}}},
		{"a rotation starts without any anchor",
			[]edit{dropping("start", "do", "anchor")},
			[]breach{{"anchor-first", "start", "do", "its first write is mark_pending, which a crash would leave with no anchor by which it is found again; put anchor before it"}}},
		{"a row that stays in idle writes",
			[]edit{putting("rest", "do", "unfreeze", "")},
			[]breach{{"anchor-first", "rest", "do", "it stays in idle and writes (unfreeze), with no anchor by which that is found again; let it write nothing, or leave idle"}}},
		{"a retry anchors again",
			[]edit{putting("retry", "do", "anchor", "mark_pending")},
			[]breach{{"anchor-first", "retry", "do", "it has anchor although a rotation is anchored already outside of idle; remove it"}}},
		{"the initial state is another than the one without an anchor",
			[]edit{withInitial("pending")},
			[]breach{{"anchor-first", "", "initial", "initial is pending, but a NodePool without an anchor is idle; make that the initial state"}}},
	}
}

func notRenewed() []illegal {
	return []illegal{
		{"a retry begins on an anchor that may be on its way out",
			[]edit{dropping("retry", "do", "renew_anchor")},
			[]breach{{"anchor-renewed", "retry", "do", "it may begin an attempt on an anchor that another process is letting go of; put renew_anchor before mark_pending"}}},
		{"a torn start is taken up and its anchor is taken over too late",
			[]edit{dropping("pending-wait", "do", "renew_anchor"), putting("pending-wait", "do", "renew_anchor", "freeze")},
			[]breach{{"anchor-renewed", "pending-wait", "do", "it may begin an attempt on an anchor that another process is letting go of; put renew_anchor before mark_pending"}}},
		{"a drain is decided again on an anchor that may be on its way out",
			[]edit{dropping("redelete", "do", "renew_anchor")},
			[]breach{{"anchor-renewed", "redelete", "do", "it may begin an attempt on an anchor that another process is letting go of; put renew_anchor before mark_draining"}}},
	}
}

func clearedWrongly() []illegal {
	return []illegal{
		{"the pause is recorded after the anchor is cleared",
			[]edit{dropping("drained", "do", "record_success"), putting("drained", "do", "record_success", "announce_drained")},
			[]breach{{"clear-last", "drained", "do", "record_success writes after the anchor is cleared, and a crash between the two would lose it; put it before clear_anchor"}}},
		{"a rotation ends and keeps its anchor",
			[]edit{dropping("pending-governance-lost", "do", "clear_anchor")},
			[]breach{{"clear-last", "pending-governance-lost", "do", "it ends the rotation in idle and leaves its anchor, which keeps the pool closed; add clear_anchor as its last write"}}},
		{"a recorded expiry is never let go",
			[]edit{dropping("failed-force-expired", "do", "clear_anchor")},
			[]breach{{"clear-last", "failed-force-expired", "do", "it ends the rotation in expired and leaves its anchor, which keeps the pool closed; add clear_anchor as its last write"}}},
		{"a retry clears the anchor of the attempt it begins",
			[]edit{putting("retry", "do", "clear_anchor", "")},
			[]breach{{"clear-last", "retry", "do", "it clears the anchor of a rotation that goes on in pending; remove clear_anchor"}}},
		{"a start clears its anchor at once",
			[]edit{putting("start", "do", "clear_anchor", "announce_started")},
			[]breach{
				{"clear-last", "start", "do", "it clears the anchor of a rotation that goes on in pending; remove clear_anchor"},
				{"clear-last", "start", "do", "it clears the anchor in idle, where none is; remove clear_anchor"},
			}},
	}
}

func orphaned() []illegal {
	return []illegal{
		{"a rotation is taken back and its claim still says pending",
			[]edit{dropping("pending-governance-lost", "do", "reset_claim")},
			[]breach{{"no-orphan-state", "pending-governance-lost", "do", "it lets a claim that still exists go in state pending; write its end with mark_failed, mark_expired or reset_claim, or ask for claim_gone"}}},
		{"a drain is let go and its claim still says draining",
			[]edit{dropping("draining-governance-lost", "do", "reset_claim")},
			[]breach{{"no-orphan-state", "draining-governance-lost", "do", "it lets a claim that still exists go in state draining; write its end with mark_failed, mark_expired or reset_claim, or ask for claim_gone"}}},
		{"an expiry does not mark the claim",
			[]edit{dropping("pending-force-expired", "do", "mark_expired")},
			[]breach{
				{"no-orphan-state", "pending-force-expired", "do", "it lets a claim that still exists go in state pending; write its end with mark_failed, mark_expired or reset_claim, or ask for claim_gone"},
				{"state-written", "pending-force-expired", "do", "it goes to expired without writing that to the claim, so the next pass would not know; add mark_expired"},
			}},
	}
}
