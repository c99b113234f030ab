// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"strings"
	"time"
)

// Decision is what a pass makes of a snapshot: the row that fires, and why no
// other does. It is a value: what is explained is what is done.
type Decision struct {
	// State is the state that was decided in.
	State string
	// Row fires; nil if none does, which law total rules out.
	Row *Row
	// Rows has every row of the state, in file order.
	Rows []RowVerdict
}

// RowVerdict is what one row's guards said.
type RowVerdict struct {
	Row *Row
	// Holds says that all conditions are satisfied. Only the first such row fires.
	Holds bool
	// Conditions has every condition of the row, in order.
	Conditions []ConditionVerdict
}

// ConditionVerdict is what a guard said, and whether that satisfies the condition.
type ConditionVerdict struct {
	Condition
	// Verdict is shared by every row that asks for the guard.
	Verdict *Verdict
	// Holds says that the condition is satisfied: with `not`, that the guard does not hold.
	Holds bool
}

// Closed returns the conditions that are not satisfied, in order.
func (r RowVerdict) Closed() []ConditionVerdict {
	var closed []ConditionVerdict
	for _, c := range r.Conditions {
		if !c.Holds {
			closed = append(closed, c)
		}
	}
	return closed
}

// UnknownStateError says that a state is none of the table's.
type UnknownStateError struct {
	// State was asked for; Known are the table's.
	State string
	Known []string
}

func (e *UnknownStateError) Error() string {
	return fmt.Sprintf("%q is not a state of the table, whose states are %s: correct the value that holds the state",
		e.State, strings.Join(e.Known, ", "))
}

// Decide tries the rows of a state in file order; the first whose conditions
// all hold is the decision's row. Each guard is asked once, and every row is
// judged, so that the decision can be explained in full. It is pure. The error
// is an *UnknownStateError.
func (m *Machine[S, A]) Decide(state string, s S) (Decision, error) {
	c, ok := m.states[state]
	if !ok {
		return Decision{}, &UnknownStateError{State: state, Known: m.table.StateNames()}
	}
	verdicts := make([]Verdict, len(c.guards))
	for i, check := range c.guards {
		verdicts[i] = check(s)
	}
	d := Decision{State: state, Rows: make([]RowVerdict, len(c.rows))}
	conditions := make([]ConditionVerdict, 0, c.conditions)
	for i, row := range c.rows {
		start := len(conditions)
		all := true
		for j, condition := range row.row.When {
			v := &verdicts[row.guards[j]]
			satisfied := v.Holds != condition.Not
			all = all && satisfied
			conditions = append(conditions, ConditionVerdict{Condition: condition, Verdict: v, Holds: satisfied})
		}
		d.Rows[i] = RowVerdict{Row: row.row, Holds: all, Conditions: conditions[start:len(conditions):len(conditions)]}
		if all && d.Row == nil {
			d.Row = row.row
		}
	}
	return d, nil
}

// ShortestWake is the least that Wake returns for a moment that has come: a
// guard that compares strictly changes only after the instant it named.
const ShortestWake = time.Millisecond

// Wake is how long the pass may sleep: until the row's requeue, or until the
// decision can change by itself, whichever is earlier. The result is positive,
// but for a row without requeue when no such moment is known: 0 then, as only
// the world can wake the machine.
func (d Decision) Wake(now time.Time) time.Duration {
	var requeue time.Duration
	if d.Row != nil {
		requeue = max(d.Row.Requeue, 0)
	}
	if lasts, known := d.Lasts(now); known && (requeue == 0 || lasts < requeue) {
		return lasts
	}
	return requeue
}

// Lasts is how long the decision cannot change by itself. The second result is
// false when no moment is known at which it can.
func (d Decision) Lasts(now time.Time) (lasts time.Duration, known bool) {
	next, known := d.Changes(now)
	if !known {
		return 0, false
	}
	return max(next.Verdict.Until.Sub(now), ShortestWake), true
}

// Changes is the condition by which the decision can change by itself
// soonest, at its verdict's Until: a closed condition of a row ahead of the
// fired one that can open, or a condition of the fired row that can close;
// other rows have no say before that. Moments before now are of no use. The
// second result is false when no such moment is known.
func (d Decision) Changes(now time.Time) (next ConditionVerdict, known bool) {
	for _, row := range d.Rows {
		fired := row.Row == d.Row
		for _, c := range row.Conditions {
			if c.Holds != fired || c.Verdict.Until.IsZero() || c.Verdict.Until.Before(now) {
				continue
			}
			if !known || c.Verdict.Until.Before(next.Verdict.Until) {
				next, known = c, true
			}
		}
		if fired {
			break
		}
	}
	return next, known
}
