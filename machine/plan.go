// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
)

// Step is what one effect of a row asks for.
type Step[A any] struct {
	Effect  string
	Actions []A
}

// Plan is what a row wants done, in order. It is a value; nothing has happened yet.
type Plan[S, A any] struct {
	// Row is the row that was planned.
	Row *Row
	// Steps has one entry for each of the row's effects, in order, also for
	// those that ask for nothing.
	Steps []Step[A]
	// Snapshot is how things stand once everything is done.
	Snapshot S
}

// Actions returns the actions of all steps, in order.
func (p Plan[S, A]) Actions() []A {
	var all []A
	for _, s := range p.Steps {
		all = append(all, s.Actions...)
	}
	return all
}

// Plan runs the decided row's effects in order, each on the snapshot that the
// one before it left. It is pure. An error names row and effect and wraps the
// effect's own; the plan then has the steps before it, and nothing of it should
// be carried out.
func (m *Machine[S, A]) Plan(d Decision, s S) (Plan[S, A], error) {
	c, err := m.decided(d)
	if err != nil {
		return Plan[S, A]{Snapshot: s}, err
	}
	p := Plan[S, A]{Row: d.Row, Snapshot: s, Steps: make([]Step[A], 0, len(c.effects))}
	for i, apply := range c.effects {
		next, actions, err := apply(p.Snapshot)
		if err != nil {
			return p, fmt.Errorf("row %s, effect %s: %w", d.Row.ID, d.Row.Do[i], err)
		}
		p.Snapshot = next
		p.Steps = append(p.Steps, Step[A]{Effect: d.Row.Do[i], Actions: actions})
	}
	return p, nil
}

// ErrNoRow says that a decision has no row to fire: the table is not total.
var ErrNoRow = errors.New("no row fires: end the state with a row without `when`")

// ErrForeignDecision says that a decision was made by another machine.
var ErrForeignDecision = errors.New("the decision is not of this machine's table: decide and fire with the same one")

// decided returns what was compiled for the decision's row.
func (m *Machine[S, A]) decided(d Decision) (*compiledRow[S, A], error) {
	if d.Row == nil {
		return nil, fmt.Errorf("state %s: %w", d.State, ErrNoRow)
	}
	if state, ok := m.states[d.State]; ok {
		for _, row := range state.rows {
			if row.row == d.Row {
				return row, nil
			}
		}
	}
	return nil, fmt.Errorf("state %s, row %s: %w", d.State, d.Row.ID, ErrForeignDecision)
}
