// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// mirrorBeforeDelete: the claim is deleted only on the way into draining, and only once pool and claim both say so
// (§5.2 completion outcome).
func mirrorBeforeDelete() machine.Law {
	return machine.Law{
		Name:   "mirror-before-delete",
		Reason: "Once the claim is gone only the mirror tells a finished drain from an expiry.",
		Check: ofRows(func(r row) []machine.Problem {
			if !r.has(effectDelete) {
				return nil
			}
			if r.To != rotation.StateDraining {
				return r.wrongIn("do", "it deletes the claim on the way to %s, but a claim is deleted only on the way to draining; remove %s", r.To, effectDelete)
			}
			var missing []string
			for _, e := range []string{effectMirror, effectMarkDraining} {
				if !r.hasBefore(e, effectDelete) {
					missing = append(missing, e)
				}
			}
			if missing == nil {
				return nil
			}
			return r.wrongIn("do", "it deletes the claim before its drain is on record; put %s before %s", list(missing, "and"), effectDelete)
		}),
	}
}

// stateWritten: a row writes no claim state but its own `to`, and writes it once when it gets there (§5.3 state).
// Mirror and anchor are written to the pool and do not count.
func stateWritten() machine.Law {
	return machine.Law{
		Name:   "state-written",
		Reason: "The next pass derives its state from what this one wrote.",
		Check: ofRows(func(r row) []machine.Problem {
			own := r.To
			if own == rotation.StateIdle {
				own = ""
			}
			writes := r.stateWrites()
			for _, w := range writes {
				if w.What != own {
					return r.wrongIn("do", "it goes to %s, but %s %s; remove that, or write the row's own state with %s",
						r.To, w.Effect, stateSentence(w.What), marker(r.To))
				}
			}
			arrives := r.startsBeside(r.To) && r.To != rotation.StateIdle && !r.requires(machine.Is(guardClaimGone))
			switch {
			case !arrives || len(writes) == 1:
				return nil
			case len(writes) == 0:
				return r.wrongIn("do", "it goes to %s without writing that to the claim, so the next pass would not know; add %s", r.To, marker(r.To))
			}
			return r.wrongIn("do", "it writes the claim's state %d times; keep one of %s and %s", len(writes), writes[0].Effect, writes[1].Effect)
		}),
	}
}

func stateSentence(state string) string {
	if state == "" {
		return "takes the claim's state back"
	}
	return "makes the claim's state " + state
}

// outcomeRecorded: the pause after a success or a failure begins in the update that clears the anchor (§5.2 gates A
// and B). Only neighbours in `do` are certain to merge into one update.
func outcomeRecorded() machine.Law {
	return machine.Law{
		Name:   "outcome-recorded",
		Reason: "The pause after a rotation begins in the very update that lets the next one start.",
		Check: func(m *machine.Model) []machine.Problem {
			return append(ofCases([]string{rotation.StateDraining}, checkSuccessRecorded)(m), ofRows(checkFailureRecorded)(m)...)
		},
	}
}

// checkSuccessRecorded judges the rows that let go of a drain, and fire only once its claim is gone.
func checkSuccessRecorded(r row, fires cases) []machine.Problem {
	if !r.has(effectClearAnchor) || !fires.some(r) || fires.some(r, machine.IsNot(guardClaimGone)) {
		return nil
	}
	return recordedApart(r, "a finished drain", effectRecordSuccess)
}

func checkFailureRecorded(r row) []machine.Problem {
	if r.has(effectMarkFailed) || r.has(effectClearAnchor) && r.To == rotation.StateFailed {
		return recordedApart(r, "a failed attempt", effectRecordFailure)
	}
	return nil
}

// recordedApart is a problem where no record stands next to the clearing of the anchor.
func recordedApart(r row, outcome, record string) []machine.Problem {
	for i := range len(r.Do) - 1 {
		a, b := r.Do[i], r.Do[i+1]
		if r.counts(a, record) && r.counts(b, effectClearAnchor) || r.counts(a, effectClearAnchor) && r.counts(b, record) {
			return nil
		}
	}
	return r.wrongIn("do", "it ends %s without recording that in the update that clears the anchor; put %s directly before %s",
		outcome, record, effectClearAnchor)
}
