// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// negation is the one word that may stand before a guard's name.
const negation = "not"

// Condition is one entry of a row's `when`: a guard's name, or `not` and a
// guard's name.
type Condition struct {
	Guard string
	Not   bool
}

// Is is the condition that the guard holds.
func Is(guard string) Condition { return Condition{Guard: guard} }

// IsNot is the condition that the guard does not hold.
func IsNot(guard string) Condition { return Condition{Guard: guard, Not: true} }

// Negated is the opposite condition.
func (c Condition) Negated() Condition { return Condition{Guard: c.Guard, Not: !c.Not} }

// String writes the condition as a table does: "not frozen".
func (c Condition) String() string {
	if c.Not {
		return negation + " " + c.Guard
	}
	return c.Guard
}

var conditionForm = regexp.MustCompile(`^(not +)?([a-z][a-z0-9_]*)$`)

// ParseCondition reads a condition as it stands in a table.
func ParseCondition(text string) (Condition, error) {
	m := conditionForm.FindStringSubmatch(text)
	if len(m) == 0 || m[2] == negation {
		return Condition{}, fmt.Errorf("%q is no condition: write a guard's snake_case name, or %q and the name; "+
			"deeper logic is a guard of its own", text, negation)
	}
	return Condition{Guard: m[2], Not: m[1] != ""}, nil
}

// State is one state of a table.
type State struct {
	Name, About string
	Line        int
}

// Row is one transition of a table.
type Row struct {
	// ID names the row for good: in logs, metrics, documents and diffs.
	ID string
	// From lists the states in which the row is tried.
	From []string
	// Event is what happened; To is the state that the row leaves behind.
	Event, To string
	// When must hold altogether; empty means always.
	When []Condition
	// Do names the effects, in order.
	Do []string
	// Requeue is the longest that the pass may sleep after this row. Zero: the
	// table does not say.
	Requeue time.Duration
	// About is one line for the reader.
	About string
	// Line is where the row begins in its file.
	Line int

	lines map[string]int
	// called is how problems call the row where its id could not be read.
	called string
}

// LineOf is the line of one of the row's keys ("when", "do", …), and the row's
// own line if that key is absent.
func (r *Row) LineOf(key string) int {
	if line, ok := r.lines[key]; ok {
		return line
	}
	return r.Line
}

// name is how problems call the row.
func (r *Row) name() string { return cmp.Or(r.ID, r.called) }

// Leaves reports whether the row, fired in the state, ends in another one.
func (r *Row) Leaves(state string) bool { return r.To != state }

// Does reports whether the row has the effect.
func (r *Row) Does(effect string) bool { return slices.Contains(r.Do, effect) }

// Has reports whether the row has the condition among its own.
func (r *Row) Has(c Condition) bool { return slices.Contains(r.When, c) }

// String names the row by what it is: "start: idle → pending on selected".
func (r *Row) String() string {
	return fmt.Sprintf("%s: %s → %s on %s", r.ID, strings.Join(r.From, ", "), r.To, r.Event)
}

// Table is a state machine as it stands in its file, in file order.
type Table struct {
	// Name is the file's name; problems begin with it.
	Name string
	// Initial is the state in which nothing is under way.
	Initial string
	// InitialLine is where the file says so.
	InitialLine int
	States      []State
	Rows        []Row

	// partial is true of a table of which something could not be read: what is empty in it need not be so in the file.
	// statesUnread is true where that is so of some state's name.
	partial, statesUnread bool
}

// unread is true of a name that is empty because it could not be read, which has been said.
func (t *Table) unread(name string) bool { return t.partial && name == "" }

// State returns the state of that name.
func (t *Table) State(name string) (State, bool) {
	i := slices.IndexFunc(t.States, func(s State) bool { return s.Name == name })
	if i < 0 {
		return State{}, false
	}
	return t.States[i], true
}

// Row returns the first row with that id, or nil.
func (t *Table) Row(id string) *Row {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &t.Rows[i]
}

// RowsFrom returns the rows that are tried in a state, in file order.
func (t *Table) RowsFrom(state string) []*Row {
	var rows []*Row
	for i := range t.Rows {
		if slices.Contains(t.Rows[i].From, state) {
			rows = append(rows, &t.Rows[i])
		}
	}
	return rows
}

// RowIDs returns the ids of the rows, in file order.
func (t *Table) RowIDs() []string {
	ids := make([]string, len(t.Rows))
	for i := range t.Rows {
		ids[i] = t.Rows[i].ID
	}
	return ids
}

// StateNames returns the names of the states, in file order.
func (t *Table) StateNames() []string {
	names := make([]string, len(t.States))
	for i, s := range t.States {
		names[i] = s.Name
	}
	return names
}
