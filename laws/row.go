// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"slices"
	"strings"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// row is a row of the table with the questions that laws ask of it.
//
// An effect counts as another one when it writes all that the other declares to write: a law about `delete` is a law
// about whatever deletes the claim, so that no new effect slips past it under a name of its own.
type row struct {
	*machine.Row
	model *machine.Model
}

// counts tells whether the effect of that name counts as another one.
func (r row) counts(name, as string) bool {
	if name == as {
		return true
	}
	mine, _ := r.model.Effect(name)
	its, _ := r.model.Effect(as)
	lacks := func(write string) bool { return !slices.Contains(mine.Writes, write) }
	return len(its.Writes) > 0 && !slices.ContainsFunc(its.Writes, lacks)
}

// first is the place in `do` of the first step that counts as the effect; -1 if there is none.
func (r row) first(effect string) int {
	return slices.IndexFunc(r.Do, func(name string) bool { return r.counts(name, effect) })
}

// last is the place in `do` of the last step that counts as one of the effects; -1 if there is none.
func (r row) last(effects ...string) int {
	for i, name := range slices.Backward(r.Do) {
		if slices.ContainsFunc(effects, func(effect string) bool { return r.counts(name, effect) }) {
			return i
		}
	}
	return -1
}

// has tells whether a step of the row counts as the effect.
func (r row) has(effect string) bool { return r.first(effect) >= 0 }

// hasBefore tells whether the row has the effect ahead of another one. Where the row lacks the other, having the
// effect is enough.
func (r row) hasBefore(effect, other string) bool {
	at, limit := r.first(effect), r.first(other)
	return at >= 0 && (limit < 0 || at < limit)
}

// undone is the last of the row's steps that undoes what it has done by the effect before; empty if none does.
func (r row) undone(effect string, by ...string) string {
	if at := r.last(by...); at > r.last(effect) {
		return r.Do[at]
	}
	return ""
}

// stateWrites are the row's writes of the claim's state, in order, each with the state instead of its word.
func (r row) stateWrites() []machine.Write {
	var writes []machine.Write
	for _, w := range r.model.Writes(r.Row) {
		if state, ok := strings.CutPrefix(w.What, rotation.WriteStatePrefix); ok {
			writes = append(writes, machine.Write{Effect: w.Effect, What: state})
		}
	}
	return writes
}

// requires tells whether the row's own conditions make sure of a condition.
func (r row) requires(c machine.Condition) bool {
	facts, ok := r.model.Assume(machine.Facts{}, r.When...)
	return ok && facts.Holds(c)
}

// goes tells whether the row leads from one state to the other.
func (r row) goes(from, to string) bool { return r.To == to && slices.Contains(r.From, from) }

// startsIn tells whether the row is tried in one of the states.
func (r row) startsIn(states ...string) bool {
	return slices.ContainsFunc(r.From, func(from string) bool { return slices.Contains(states, from) })
}

// startsBeside tells whether the row is tried in a state other than the given one.
func (r row) startsBeside(state string) bool {
	return slices.ContainsFunc(r.From, func(from string) bool { return from != state })
}

// wrongIn is a list of one problem, with one key of the row.
func (r row) wrongIn(key, format string, args ...any) []machine.Problem {
	return []machine.Problem{r.model.RowKeyProblem(r.Row, key, format, args...)}
}
