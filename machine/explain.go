// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"io"
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
			fmt.Fprintf(&b, "        %-3s  %-*s  %s%s\n", answer, width, c.Condition, c.Verdict.Reason, until(c.Verdict.Until))
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

// FirstClosed is what stands in the way: of the rows ahead of the fired one,
// the first that would leave the state, or else the first, and its first closed
// condition. False if there is no row ahead of it.
func (d Decision) FirstClosed() (RowVerdict, ConditionVerdict, bool) {
	var ahead []RowVerdict
	for _, row := range d.Rows {
		if row.Row == d.Row {
			break
		}
		ahead = append(ahead, row)
	}
	if len(ahead) == 0 {
		return RowVerdict{}, ConditionVerdict{}, false
	}
	chosen := ahead[0]
	for _, row := range ahead {
		if row.Row.Leaves(d.State) {
			chosen = row
			break
		}
	}
	return chosen, chosen.Closed()[0], true
}

// Why is the decision in one sentence: what the row that would leave the state
// waits for, or which row fires.
func (d Decision) Why() string {
	switch row, c, waits := d.FirstClosed(); {
	case waits && (d.Row == nil || !d.Row.Leaves(d.State)):
		return fmt.Sprintf("%s waits for %s: %s", row.Row.ID, c.Condition, c.Verdict.Reason)
	case d.Row == nil:
		return fmt.Sprintf("state %s has no row", d.State)
	}
	return fmt.Sprintf("%s fires: %s", d.Row.ID, d.Row.About)
}
