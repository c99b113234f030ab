// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func illegalWrites() []illegal {
	return slices.Concat(deletedTooSoon(), stateNotWritten(), outcomeNotRecorded(), stateMissing())
}

func deletedTooSoon() []illegal {
	return []illegal{
		{"the drain begins without the mirror",
			[]edit{dropping("drain", "do", "mirror")},
			[]breach{{"mirror-before-delete", "drain", "do", "it deletes the claim before its drain is on record; put mirror before delete"}}},
		{"the claim says draining only after it is deleted",
			[]edit{dropping("drain", "do", "mark_draining"), putting("drain", "do", "mark_draining", "delete_placeholder")},
			[]breach{{"mirror-before-delete", "drain", "do", "it deletes the claim before its drain is on record; put mark_draining before delete"}}},
		{"the fallback deletes without the mirror",
			[]edit{dropping("start-fallback", "do", "mirror")},
			[]breach{{"mirror-before-delete", "start-fallback", "do", "it deletes the claim before its drain is on record; put mirror before delete"}}},
		{"the delete is issued again with neither mirror nor state",
			[]edit{dropping("redelete", "do", "mirror", "mark_draining")},
			[]breach{{"mirror-before-delete", "redelete", "do", "it deletes the claim before its drain is on record; put mirror and mark_draining before delete"}}},
		{"a row that waits for the replacement deletes",
			[]edit{putting("pending-wait", "do", "delete", "")},
			[]breach{{"mirror-before-delete", "pending-wait", "do", "it deletes the claim on the way to pending, but a claim is deleted only on the way to draining; remove delete"}}},
		{"a failed attempt deletes the claim",
			[]edit{putting("failed-release", "do", "delete", "record_failure")},
			[]breach{{"mirror-before-delete", "failed-release", "do", "it deletes the claim on the way to failed, but a claim is deleted only on the way to draining; remove delete"}}},
	}
}

func stateNotWritten() []illegal {
	return []illegal{
		{"a start marks another state than the one it goes to",
			[]edit{replacing("start", "mark_pending", "mark_draining")},
			[]breach{{"state-written", "start", "do", "it goes to pending, but mark_draining makes the claim's state draining; remove that, or write the row's own state with mark_pending"}}},
		{"a retry does not write that it is pending again",
			[]edit{dropping("retry", "do", "mark_pending")},
			[]breach{{"state-written", "retry", "do", "it goes to pending without writing that to the claim, so the next pass would not know; add mark_pending"}}},
		{"a rotation that is taken back leaves its claim expired",
			[]edit{replacing("pending-governance-lost", "reset_claim", "mark_expired")},
			[]breach{{"state-written", "pending-governance-lost", "do", "it goes to idle, but mark_expired makes the claim's state expired; remove that, or write the row's own state with reset_claim"}}},
		{"a drain that goes on takes the claim's state back",
			[]edit{putting("draining-wait", "do", "reset_claim", "")},
			[]breach{{"state-written", "draining-wait", "do", "it goes to draining, but reset_claim takes the claim's state back; remove that, or write the row's own state with mark_draining"}}},
		{"a failure does not mark the claim",
			[]edit{dropping("pending-timed-out", "do", "mark_failed")},
			[]breach{
				{"state-written", "pending-timed-out", "do", "it goes to failed without writing that to the claim, so the next pass would not know; add mark_failed"},
				{"no-orphan-state", "pending-timed-out", "do", "it lets a claim that still exists go in state pending; write its end with mark_failed, mark_expired or reset_claim, or ask for claim_gone"},
			}},
		{"a row goes to a state that no effect writes",
			[]edit{withPaused},
			[]breach{{"state-written", "pause", "do", "it goes to paused without writing that to the claim, so the next pass would not know; add an effect that does"}}},
		{"a start writes the state twice",
			[]edit{putting("start", "do", "mark_pending", "cordon")},
			[]breach{{"state-written", "start", "do", "it writes the claim's state 2 times; keep one of mark_pending and mark_pending"}}},
	}
}

func outcomeNotRecorded() []illegal {
	return []illegal{
		{"a success begins no cooldown",
			[]edit{dropping("drained", "do", "record_success")},
			[]breach{{"outcome-recorded", "drained", "do", "it ends a finished drain without recording that in the update that clears the anchor; put record_success directly before clear_anchor"}}},
		{"a success begins no cooldown, in a row that says nowhere that the claim is gone",
			[]edit{withDrainedLast},
			[]breach{{"outcome-recorded", "drained-last", "do", "it ends a finished drain without recording that in the update that clears the anchor; put record_success directly before clear_anchor"}}},
		{"an announcement tears record and clearing apart",
			[]edit{dropping("drained", "do", "announce_completed"), putting("drained", "do", "announce_completed", "clear_anchor")},
			[]breach{{"outcome-recorded", "drained", "do", "it ends a finished drain without recording that in the update that clears the anchor; put record_success directly before clear_anchor"}}},
		{"a failure begins no pause",
			[]edit{dropping("pending-timed-out", "do", "record_failure")},
			[]breach{{"outcome-recorded", "pending-timed-out", "do", "it ends a failed attempt without recording that in the update that clears the anchor; put record_failure directly before clear_anchor"}}},
		{"a failure that a crash cut short begins no pause",
			[]edit{dropping("failed-release", "do", "record_failure")},
			[]breach{{"outcome-recorded", "failed-release", "do", "it ends a failed attempt without recording that in the update that clears the anchor; put record_failure directly before clear_anchor"}}},
		{"a failure is recorded in an update of its own",
			[]edit{dropping("pending-timed-out", "do", "record_failure"), putting("pending-timed-out", "do", "record_failure", "mark_failed")},
			[]breach{{"outcome-recorded", "pending-timed-out", "do", "it ends a failed attempt without recording that in the update that clears the anchor; put record_failure directly before clear_anchor"}}},
	}
}

func stateMissing() []illegal {
	return []illegal{
		{"nothing is said of a rotation that Karpenter's expiry overtook",
			[]edit{
				func(text string) string { return once(text, "  expired:\n    about: ", "  # ") },
				without("expired-release"),
				replacing("pending-force-expired", "to: expired", "to: idle"), replacing("pending-force-expired", "mark_expired", "reset_claim"),
				replacing("failed-force-expired", "to: expired", "to: idle"), replacing("failed-force-expired", "mark_expired", "reset_claim"),
			},
			[]breach{{"derived-states", "", "  idle", "it has no state expired, but a pool can be found in it; add the state, and rows that lead out of it"}}},
	}
}

// withPaused adds a state between pending and idle, and the rows into it and out of it.
func withPaused(text string) string {
	text = once(text, "states:\n", "states:\n  paused:\n    about: The rotation takes a rest.\n")
	into := "- id: pause\n  from: pending\n  event: paused\n  to: paused\n  when: [backoff_elapsed]\n  requeue: 1m\n  about: Rest.\n\n"
	out := "- id: resume\n  from: paused\n  event: resumed\n  to: idle\n  do: [reset_claim, clear_anchor]\n  requeue: 1m\n  about: Go on.\n\n"
	return once(text, "- id: pending-wait\n", into+out+"- id: pending-wait\n")
}

// withDrainedLast has rows in draining for every claim that is still there, and one without conditions for what is left.
func withDrainedLast(text string) string {
	for _, id := range []string{"drained", "draining-governance-lost", "redelete", "drain-stuck", "draining-wait"} {
		text = without(id)(text)
	}
	row := func(id, event, to, when, do string) string {
		return "- id: " + id + "\n  from: draining\n  event: " + event + "\n  to: " + to + "\n" + when + "  do: [" + do + "]\n  requeue: 30s\n  about: It.\n\n"
	}
	rows := row("lost", "governance_lost", "idle", "  when: [not claim_gone, not governed]\n", "delete_placeholder, unfreeze, reset_claim, announce_governance_lost, clear_anchor") +
		row("again", "deletion_missing", "draining", "  when: [not claim_gone, not deletion_timestamp]\n", "renew_anchor, mirror, mark_draining, announce_fallback, delete, delete_placeholder") +
		row("goes-on", "reconcile", "draining", "  when: [not claim_gone]\n", "mirror, delete_placeholder") +
		row("drained-last", "claim_gone", "idle", "", "delete_placeholder, unfreeze, announce_completed, clear_anchor")
	return once(text, "- id: failed-force-expired\n", rows+"- id: failed-force-expired\n")
}

var _ = Describe("A claim that is gone", func() {
	It("has no state left to write (law state-written)", func() {
		Expect(load(edited(replacing("pending-claim-gone", "to: idle", "to: expired")))).Error().NotTo(HaveOccurred())
	})
})
