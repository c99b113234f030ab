// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"noderotation.io/noderotation/machine"
)

// view is one state as both tables have it.
type view struct {
	*space
	state    string
	old, new []*machine.Row
	// oldFires and newFires have the cases of each row, and at the end those in
	// which none fires.
	oldFires, newFires []set
	moved              map[*machine.Row]bool
	// oldAhead and newAhead have the cases in which a row before that one fires.
	oldAhead, newAhead []set
}

// see fills in what follows from the rows.
func (v *view) see(m *machine.Model) {
	v.space = newSpace(m, slices.Concat(v.old, v.new)...)
	v.oldFires, v.newFires = v.fires(v.old), v.fires(v.new)
	v.oldAhead, v.newAhead = v.before(v.oldFires), v.before(v.newFires)
}

// before has for each set the union of those before it.
func (v *view) before(sets []set) []set {
	before := make([]set, len(sets))
	for i := 1; i < len(sets); i++ {
		before[i] = v.or(before[i-1], sets[i-1])
	}
	return before
}

func (v *view) oldRow(i int) *machine.Row { return at(v.old, i) }
func (v *view) newRow(j int) *machine.Row { return at(v.new, j) }

// at is a row, or nil for the place behind the last one.
func at(rows []*machine.Row, i int) *machine.Row {
	if i == len(rows) {
		return nil
	}
	return rows[i]
}

// brief says the cases of a pair as a reader of the tables would: that in both a
// row ahead of these may take the case is understood. It is empty where that
// saves too little to be worth the words.
func (v *view) brief(cases set, i, j int, exact Cover) Cover {
	ahead := v.and(v.oldAhead[i], v.newAhead[j])
	cubes := v.cover(cases, v.or(v.or(cases, ahead), v.not(v.consistent)))
	const worth = 2
	if length(exact)-literals(cubes) < worth {
		return nil
	}
	return v.words(cubes)
}

// length counts the conditions of a cover.
func length(c Cover) int {
	n := 0
	for _, clause := range c {
		n += len(clause)
	}
	return n
}
