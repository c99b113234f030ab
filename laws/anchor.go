// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"slices"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// anchorFirst: a row from idle writes nothing, or leaves idle with the anchor as its first write; no other state
// anchors (§5.2 anchor semantics).
func anchorFirst() machine.Law {
	rows := ofRows(func(r row) []machine.Problem { return append(anchorsElsewhere(r), startsWithoutAnchor(r)...) })
	return machine.Law{
		Name:   "anchor-first",
		Reason: "What a rotation writes must be found again after a crash, and the anchor is what finds it.",
		Check: func(m *machine.Model) []machine.Problem {
			problems := rows(m)
			if t := m.Table(); t.Initial != rotation.StateIdle {
				problems = append(problems, machine.Problem{Line: t.InitialLine,
					Message: "initial is " + t.Initial + ", but a NodePool without an anchor is " + rotation.StateIdle + "; make that the initial state"})
			}
			return problems
		},
	}
}

func anchorsElsewhere(r row) []machine.Problem {
	if !r.has(effectAnchor) || !r.startsBeside(rotation.StateIdle) {
		return nil
	}
	return r.wrongIn("do", "it has %s although a rotation is anchored already outside of idle; remove it", effectAnchor)
}

func startsWithoutAnchor(r row) []machine.Problem {
	writes := r.model.Writes(r.Row)
	switch {
	case !r.startsIn(rotation.StateIdle) || len(writes) == 0:
		return nil
	case !r.Leaves(rotation.StateIdle):
		return r.wrongIn("do", "it stays in idle and writes (%s), with no anchor by which that is found again; let it write nothing, or leave idle", writes[0].Effect)
	case !r.counts(writes[0].Effect, effectAnchor):
		return r.wrongIn("do", "its first write is %s, which a crash would leave with no anchor by which it is found again; put %s before it",
			writes[0].Effect, effectAnchor)
	}
	return nil
}

// clearLast: the anchor is cleared by the last write of exactly those rows that end a rotation (§5.3 clearing the
// anchor).
func clearLast() machine.Law {
	return machine.Law{
		Name:   "clear-last",
		Reason: "Once the anchor is gone nobody looks after what is left, so it goes last, whenever a rotation ends and never before.",
		Check:  ofRows(checkClearLast),
	}
}

func checkClearLast(r row) []machine.Problem {
	ends := slices.Contains([]string{rotation.StateIdle, rotation.StateFailed, rotation.StateExpired}, r.To)
	anchored := r.startsBeside(rotation.StateIdle)
	if !r.has(effectClearAnchor) {
		if !ends || !anchored {
			return nil
		}
		return r.wrongIn("do", "it ends the rotation in %s and leaves its anchor, which keeps the pool closed; add %s as its last write", r.To, effectClearAnchor)
	}
	var problems []machine.Problem
	if !ends {
		problems = append(problems, r.wrongIn("do", "it clears the anchor of a rotation that goes on in %s; remove %s", r.To, effectClearAnchor)...)
	}
	if r.startsIn(rotation.StateIdle) {
		problems = append(problems, r.wrongIn("do", "it clears the anchor in idle, where none is; remove %s", effectClearAnchor)...)
	}
	return append(problems, writesAfterClearing(r)...)
}

func writesAfterClearing(r row) []machine.Problem {
	for _, name := range r.Do[r.first(effectClearAnchor):] {
		if e, _ := r.model.Effect(name); !e.Announces() && !r.counts(name, effectClearAnchor) {
			return r.wrongIn("do", "%s writes after the anchor is cleared, and a crash between the two would lose it; put it before %s", name, effectClearAnchor)
		}
	}
	return nil
}

// anchorRenewed: an attempt that begins on a standing anchor takes it over first (§5.2 anchor semantics).
func anchorRenewed() machine.Law {
	return machine.Law{
		Name:   "anchor-renewed",
		Reason: "A process that was overtaken may be about to clear the anchor, and would clear it from under the attempt.",
		Check: ofRows(func(r row) []machine.Problem {
			if !r.startsBeside(rotation.StateIdle) {
				return nil
			}
			for _, begins := range []string{effectMarkPending, effectMarkDraining} {
				if r.has(begins) && !r.hasBefore(effectRenewAnchor, begins) {
					return r.wrongIn("do", "it may begin an attempt on an anchor that another process is letting go of; put %s before %s",
						effectRenewAnchor, begins)
				}
			}
			return nil
		}),
	}
}

// noOrphanState: a claim that is let go from pending or draining is gone, or its state no longer says that a rotation
// is under way (§5.3 state).
func noOrphanState() machine.Law {
	return machine.Law{
		Name:   "no-orphan-state",
		Reason: "A claim that says pending or draining without an anchor is a candidate no more, and nobody's business either.",
		Check: ofCases([]string{rotation.StatePending, rotation.StateDraining}, func(r row, fires cases) []machine.Problem {
			if !r.has(effectClearAnchor) || !fires.some(r, machine.IsNot(guardClaimGone)) {
				return nil
			}
			if writes := r.stateWrites(); len(writes) > 0 {
				switch writes[len(writes)-1].What {
				case rotation.StateFailed, rotation.StateExpired, "":
					return nil
				}
			}
			return r.wrongIn("do", "it lets a claim that still exists go in state %s; write its end with %s, %s or %s, or ask for %s",
				fires.state, effectMarkFailed, effectMarkExpired, effectResetClaim, guardClaimGone)
		}),
	}
}
