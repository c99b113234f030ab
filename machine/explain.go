// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Explain writes the decision for a person: which row fires, and for each row
// of the state its conditions, whether they hold, and why.
func (d Decision) Explain(w io.Writer) error {
	var b strings.Builder
	if d.Row == nil {
		fmt.Fprintf(&b, "state %s: no row fires\n", d.State)
	} else {
		fmt.Fprintf(&b, "state %s: row %s fires (%s → %s)\n", d.State, d.Row.ID, d.State, d.Row.To)
	}
	for _, row := range d.Rows {
		fmt.Fprintf(&b, "\n%-7s %s → %s: %s\n", d.mark(row), row.Row.ID, row.Row.To, row.Row.About)
		width := 0
		for _, c := range row.Conditions {
			width = max(width, len(c.String()))
		}
		for _, c := range row.Conditions {
			answer := "no"
			if c.Holds {
				answer = "yes"
			}
			fmt.Fprintf(&b, "        %-3s  %-*s  %s%s\n", answer, width, c.Condition, c.Verdict.Reason(), until(c.Verdict.Until))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark is one word on what became of a row.
func (d Decision) mark(row RowVerdict) string {
	switch {
	case row.Row == d.Row:
		return "fires"
	case row.Holds:
		return "behind" // it would fire, did a row before it not
	}
	return "closed"
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (until %s)", t.Format(time.RFC3339))
}

// Obstacle is what keeps the state from being left: a row and the one of its
// conditions that decides it. False when the fired row leaves, or no row could.
//
// Where the fired row stays for a reason of its own, that is its last
// condition: the one that the row is there for. Else it is the first closed
// condition of the row that came furthest of those that leave. Of two that
// came equally far, the one whose condition waits for something to come, not
// for it to go, is the ordinary course; then the later, since exceptions stand
// ahead of what they except from.
func (d Decision) Obstacle() (RowVerdict, ConditionVerdict, bool) {
	if d.Row != nil && d.Row.Leaves(d.State) {
		return RowVerdict{}, ConditionVerdict{}, false
	}
	var chosen RowVerdict
	var obstacle ConditionVerdict
	furthest := -1
	for _, row := range d.Rows {
		if row.Row == d.Row {
			if last := len(row.Conditions) - 1; last >= 0 {
				return row, row.Conditions[last], true
			}
			break
		}
		came := slices.IndexFunc(row.Conditions, func(c ConditionVerdict) bool { return !c.Holds })
		if came < 0 || came < furthest || !row.Row.Leaves(d.State) {
			continue
		}
		if c := row.Conditions[came]; came > furthest || !c.Not || obstacle.Not {
			chosen, obstacle, furthest = row, c, came
		}
	}
	return chosen, obstacle, furthest >= 0
}

// Why is the decision in one sentence: what the row that would leave the state
// waits for, or which row fires.
func (d Decision) Why() string {
	switch row, c, kept := d.Obstacle(); {
	case kept && row.Row != d.Row:
		return fmt.Sprintf("%s waits for %s: %s", row.Row.ID, c.Condition, c.Verdict.Reason())
	case kept:
		return fmt.Sprintf("%s fires for %s: %s", row.Row.ID, c.Condition, c.Verdict.Reason())
	case d.Row == nil:
		return fmt.Sprintf("state %s has no row", d.State)
	}
	return fmt.Sprintf("%s fires: %s", d.Row.ID, d.Row.About)
}
