// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
)

// Law is one rule that a table must obey.
type Law struct {
	// Name is how people and problems refer to it; Reason is one line.
	Name, Reason string
	// Check returns what breaks the law. It may leave out Law and File. It is
	// also asked about tables with unknown names, and then answers as if an
	// unknown guard implied nothing and an unknown effect wrote nothing.
	Check func(*Model) []Problem
}

// Model is what a law may look at: the table, and what guards and effects
// declare about themselves.
type Model struct {
	table   *Table
	rows    map[string][]*Row
	guards  []GuardDecl
	effects []EffectDecl
	guard   map[string]GuardDecl
	effect  map[string]EffectDecl
	logic   *logic
}

// NewModel sees a table through declarations.
func NewModel(t *Table, guards []GuardDecl, effects []EffectDecl) *Model {
	m := &Model{
		table:   t,
		rows:    make(map[string][]*Row, len(t.States)),
		guards:  guards,
		effects: effects,
		guard:   make(map[string]GuardDecl, len(guards)),
		effect:  make(map[string]EffectDecl, len(effects)),
	}
	for _, g := range guards {
		m.guard[g.Name] = g
	}
	for _, e := range effects {
		m.effect[e.Name] = e
	}
	for _, s := range t.States {
		m.rows[s.Name] = t.RowsFrom(s.Name)
	}
	var named []string
	for _, r := range t.Rows {
		for _, c := range r.When {
			named = append(named, c.Guard)
		}
	}
	m.logic = newLogic(guards, named)
	return m
}

// Check asks every law and returns all that is wrong, sorted by line.
func (m *Model) Check(laws []Law) Problems {
	var all Problems
	for _, law := range laws {
		for _, p := range law.Check(m) {
			p.Law = law.Name
			p.File = m.table.Name
			all = append(all, p)
		}
	}
	return all.sorted()
}

// Table is the table itself.
func (m *Model) Table() *Table { return m.table }

// Rows returns the rows that are tried in a state, in file order.
func (m *Model) Rows(state string) []*Row { return m.rows[state] }

// Guards returns what the registered guards declare, in the order of registration.
func (m *Model) Guards() []GuardDecl { return m.guards }

// Effects returns what the registered effects declare, in the order of registration.
func (m *Model) Effects() []EffectDecl { return m.effects }

// Guard returns what the guard declares; false for an unregistered one.
func (m *Model) Guard(name string) (GuardDecl, bool) {
	g, ok := m.guard[name]
	return g, ok
}

// Effect returns what the effect declares; false for an unregistered one.
func (m *Model) Effect(name string) (EffectDecl, bool) {
	e, ok := m.effect[name]
	return e, ok
}

// Write is one durable write of a row.
type Write struct {
	// Effect asks for it.
	Effect string
	// What is the effect's own word for it.
	What string
}

// Writes returns what a row durably writes, in order.
func (m *Model) Writes(r *Row) []Write {
	var writes []Write
	for _, name := range r.Do {
		for _, what := range m.effect[name].Writes {
			writes = append(writes, Write{Effect: name, What: what})
		}
	}
	return writes
}

// Returns reports whether the row leaves the machine in its initial state,
// whatever its `to`.
func (m *Model) Returns(r *Row) bool {
	for _, name := range r.Do {
		if m.effect[name].Returns {
			return true
		}
	}
	return false
}

// Assume returns the facts with the conditions and what follows from them, and
// false if no case is left. Facts{} is a start that knows nothing.
func (m *Model) Assume(f Facts, conditions ...Condition) (Facts, bool) {
	if f.logic == nil {
		f = m.logic.nothing()
	}
	return m.logic.assume(f, conditions...)
}

// Consistent reports whether some case has the facts and all the conditions.
func (m *Model) Consistent(f Facts, conditions ...Condition) bool {
	_, ok := m.Assume(f, conditions...)
	return ok
}

// CanFail reports whether in some case with the facts the condition is not satisfied.
func (m *Model) CanFail(f Facts, c Condition) bool { return m.Consistent(f, c.Negated()) }

// RowProblem is a problem with a row, at the row's line.
func (m *Model) RowProblem(r *Row, format string, args ...any) Problem {
	return Problem{File: m.table.Name, Line: r.Line, Row: r.name(), Message: fmt.Sprintf(format, args...)}
}

// RowKeyProblem is a problem with one key of a row ("when", "do", …), at its line.
func (m *Model) RowKeyProblem(r *Row, key, format string, args ...any) Problem {
	p := m.RowProblem(r, format, args...)
	p.Line = r.LineOf(key)
	return p
}

// StateProblem is a problem with a state, at the state's line.
func (m *Model) StateProblem(state, format string, args ...any) Problem {
	s, _ := m.table.State(state)
	return Problem{File: m.table.Name, Line: s.Line, State: state, Message: fmt.Sprintf(format, args...)}
}
