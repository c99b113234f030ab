// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"slices"
	"sync"

	"github.com/looplab/fsm"
)

// Machine is a table that obeys its laws, bound to its guards and effects. It
// is immutable and safe for concurrent use.
type Machine[S, A any] struct {
	table    *Table
	registry Registry[S, A]
	model    *Model
	laws     []Law
	states   map[string]*compiledState[S, A]
	events   []fsm.EventDesc
	// idle holds looplab machines of these events that have fired and may fire again.
	idle sync.Pool
}

// compiledState has what Decide needs of a state, looked up beforehand.
type compiledState[S, A any] struct {
	guards     []func(S) Verdict
	rows       []*compiledRow[S, A]
	conditions int
}

type compiledRow[S, A any] struct {
	row *Row
	// guards are the conditions' places in the state's guards.
	guards  []int
	effects []func(S) (S, []A, error)
}

// Compile checks a table against the registry and the laws and returns the
// machine that runs it. The error is Problems: all of them at once.
//
// Law known-names is checked whether or not it is among the laws: the machine
// could not run without it. In particular looplab/fsm lets a second row with
// the same event and state silently replace the first.
func Compile[S, A any](t *Table, r Registry[S, A], laws []Law) (*Machine[S, A], error) {
	if !slices.ContainsFunc(laws, func(l Law) bool { return l.Name == knownNames.Name }) {
		laws = append([]Law{knownNames}, laws...)
	}
	model := NewModel(t, r.GuardDecls(), r.EffectDecls())
	if err := model.Check(laws).err(); err != nil {
		return nil, err
	}
	m := &Machine[S, A]{
		table:    t,
		registry: r,
		model:    model,
		laws:     slices.Clone(laws),
		states:   make(map[string]*compiledState[S, A], len(t.States)),
	}
	rows := make(map[*Row][]func(S) (S, []A, error), len(t.Rows))
	for i := range t.Rows {
		row := &t.Rows[i]
		rows[row] = m.effectsOf(row)
		m.events = append(m.events, fsm.EventDesc{Name: row.Event, Src: row.From, Dst: row.To})
	}
	for _, s := range t.States {
		m.states[s.Name] = m.compileState(model.Rows(s.Name), rows)
	}
	return m, nil
}

func (m *Machine[S, A]) effectsOf(row *Row) []func(S) (S, []A, error) {
	effects := make([]func(S) (S, []A, error), len(row.Do))
	for i, name := range row.Do {
		e, _ := m.registry.Effect(name)
		effects[i] = e.Apply
	}
	return effects
}

func (m *Machine[S, A]) compileState(rows []*Row, effects map[*Row][]func(S) (S, []A, error)) *compiledState[S, A] {
	state := &compiledState[S, A]{}
	places := map[string]int{}
	for _, row := range rows {
		compiled := &compiledRow[S, A]{row: row, effects: effects[row]}
		for _, c := range row.When {
			place, seen := places[c.Guard]
			if !seen {
				g, _ := m.registry.Guard(c.Guard)
				place = len(state.guards)
				places[c.Guard] = place
				state.guards = append(state.guards, g.Check)
			}
			compiled.guards = append(compiled.guards, place)
		}
		state.conditions += len(row.When)
		state.rows = append(state.rows, compiled)
	}
	return state
}

// Table is the table that the machine runs.
func (m *Machine[S, A]) Table() *Table { return m.table }

// Registry is what the table's names are bound to.
func (m *Machine[S, A]) Registry() Registry[S, A] { return m.registry }

// Model is the table as the laws saw it.
func (m *Machine[S, A]) Model() *Model { return m.model }

// Laws are the laws that the table was found to obey.
func (m *Machine[S, A]) Laws() []Law { return slices.Clone(m.laws) }

// Unused returns the registered guards and effects that no row names.
func (m *Machine[S, A]) Unused() (guards, effects []string) { return m.model.Unused() }

// Warnings returns what is worth a look in a table that may run.
func (m *Machine[S, A]) Warnings() Problems { return m.model.Warnings() }
