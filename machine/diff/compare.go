// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"noderotation.io/noderotation/machine"
)

// comparison is a Compare under way.
type comparison struct {
	old, new *machine.Model
	pairing
	// edits by the row as it stands in the new table, or in the old one where it is gone.
	edits map[*machine.Row]*Edit
	// fired has the rows that can fire, of either table, in some state.
	fired map[*machine.Row]bool
	ways  [2]map[Way]bool
}

// Compare tells what becomes of the meaning of the old table in the new one. Both
// are seen through the same declarations. Tables that break the laws are compared
// all the same.
func Compare(old, now *machine.Model, laws []machine.Law) Difference {
	table, renames := aligned(old.Table(), now.Table())
	c := &comparison{
		old: machine.NewModel(table, now.Guards(), now.Effects()), new: now,
		edits: map[*machine.Row]*Edit{}, fired: map[*machine.Row]bool{},
		ways: [2]map[Way]bool{{}, {}},
	}
	c.pairing = paired(c.old.Table(), c.new.Table())
	c.edit()
	for _, s := range c.new.Table().States {
		if _, common := c.old.Table().State(s.Name); common {
			c.state(s.Name)
		}
	}
	c.alone(0, c.old, c.new)
	c.alone(1, c.new, c.old)
	d := Difference{
		Old: old.Table().Name, New: now.Table().Name,
		States: c.states(renames),
		Edits:  c.sorted(),
		Laws:   c.laws(old, laws),
		guards: map[string]machine.GuardDecl{},
	}
	for _, g := range now.Guards() {
		d.guards[g.Name] = g
	}
	if was, is := c.old.Table().Initial, c.new.Table().Initial; was != is {
		d.Initial = &Rename{was, is}
	}
	d.Guards, d.Effects = c.uses()
	d.Reach = c.reach()
	d.Changed = d.Initial != nil || d.States.change() || slices.ContainsFunc(d.Edits, Edit.Changes)
	return d
}

// edit makes an Edit of every row whose text differs in a way that can matter.
func (c *comparison) edit() {
	for i := range c.old.Table().Rows {
		if a := &c.old.Table().Rows[i]; c.became[a] == nil {
			c.edits[a] = &Edit{Row: a.ID, OldLine: a.Line, What: []string{Removed}}
		}
	}
	for i := range c.new.Table().Rows {
		b := &c.new.Table().Rows[i]
		a := c.was[b]
		if a == nil {
			c.edits[b] = &Edit{Row: b.ID, NewLine: b.Line, What: []string{Added}}
			continue
		}
		e := Edit{Row: b.ID, OldLine: a.Line, NewLine: b.Line}
		if a.ID != b.ID {
			e.Was = a.ID
			e.What = append(e.What, Renamed)
		}
		if a.Event != b.Event {
			e.WasEvent, e.Event = a.Event, b.Event
			e.What = append(e.What, Event)
		}
		if !sameFrom(a, b) {
			e.What = append(e.What, From)
		}
		if !sameWhen(a, b) {
			e.What = append(e.What, When)
		}
		e.What = append(e.What, changes(a, b)...)
		if a.About != b.About {
			e.What = append(e.What, Reworded)
		}
		if len(e.What) > 0 {
			c.edits[b] = &e
		}
	}
}

// now is the row as edits are kept by it.
func (c *comparison) now(a *machine.Row) *machine.Row { return cmp.Or(c.became[a], a) }

// state compares one state that both tables have.
func (c *comparison) state(name string) {
	v := &view{state: name, old: c.old.Rows(name), new: c.new.Rows(name)}
	v.moved = c.moved(v.old, v.new)
	for _, b := range v.new {
		if v.moved[b] {
			c.mark(b, Moved)
		}
	}
	v.see(c.new)
	c.note(0, c.old, name, v.old, v.oldFires)
	c.note(1, c.new, name, v.new, v.newFires)
	for i := range v.oldFires {
		for j := range v.newFires {
			c.pair(v, i, j)
		}
	}
}

// mark adds what is edited about a row that both tables have.
func (c *comparison) mark(b *machine.Row, what string) {
	e := c.edits[b]
	if e == nil {
		e = &Edit{Row: b.ID, OldLine: c.was[b].Line, NewLine: b.Line}
		c.edits[b] = e
	}
	if !e.Is(what) {
		e.What = append(e.What, what)
	}
}

// pair tells of the cases in which old row i fired and new row j fires, if that
// is another thing.
func (c *comparison) pair(v *view, i, j int) {
	cases := v.and(v.oldFires[i], v.newFires[j])
	a, b := v.oldRow(i), v.newRow(j)
	differ := changes(a, b)
	if cases == none || len(differ) == 0 && (a == b || a != nil && c.became[a] == b) {
		return
	}
	found := Case{
		States: []string{v.state}, Old: fired(a), New: fired(b), Changes: append([]string{}, differ...), Extent: Part,
		When: v.words(v.cover(cases, v.or(cases, v.not(v.consistent)))),
	}
	switch {
	case v.oldFires[i] == cases && v.newFires[j] == cases:
		found.Extent = Whenever
	case v.oldFires[i] == cases:
		found.Extent = Wherever
	}
	found.Brief = v.brief(cases, i, j, found.When)
	if blamed := c.blamed(v, a, b); blamed.Cases == nil || !blamed.joins(found) {
		blamed.Cases = append(blamed.Cases, found)
	}
}

// joins adds the state to a case that is the same in another one, if there is one.
func (e *Edit) joins(found Case) bool {
	for i := range e.Cases {
		if c := &e.Cases[i]; c.Extent == found.Extent && sameFired(c.Old, found.Old) && sameFired(c.New, found.New) &&
			sameCover(c.When, found.When) && sameCover(c.Brief, found.Brief) {
			c.States = append(c.States, found.States...)
			return true
		}
	}
	return false
}

func sameFired(a, b *Fired) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Row == b.Row && a.Event == b.Event
}

func sameCover(a, b Cover) bool {
	return slices.EqualFunc(a, b, slices.Equal)
}

// blamed is the edit that a change from one row to another comes of. If neither
// were added, removed or moved, nor asked otherwise, the earlier one would take
// the cases in both tables.
func (c *comparison) blamed(v *view, a, b *machine.Row) *Edit {
	blame, most := c.now(a), -1
	for _, r := range []*machine.Row{c.now(a), b} {
		if r == nil {
			continue
		}
		if guilt := c.guilt(v, r); guilt > most {
			blame, most = r, guilt
		}
	}
	if c.edits[blame] == nil {
		// Two rows of one id, which law known-names refuses, can be paired crosswise.
		c.edits[blame] = &Edit{Row: blame.ID, NewLine: blame.Line, What: []string{Moved}}
	}
	return c.edits[blame]
}

// guilt ranks what an edit of a row does to the rows beside it.
func (c *comparison) guilt(v *view, r *machine.Row) int {
	e := c.edits[r]
	switch was := c.was[r]; {
	case e == nil:
		return 0
	case was == nil || !slices.Contains(v.old, was) || !slices.Contains(v.new, r):
		return 3 // it came or went
	case e.Is(When):
		return 2
	case v.moved[r]:
		return 1
	}
	return 0
}

// sorted has the edits in the order of the new table; a row that is gone stands
// behind the one that it stood behind.
func (c *comparison) sorted() []Edit {
	place := map[*machine.Row]int{}
	for i := range c.new.Table().Rows {
		place[&c.new.Table().Rows[i]] = 2 * (i + 1)
	}
	last := 0
	for i := range c.old.Table().Rows {
		a := &c.old.Table().Rows[i]
		if b := c.became[a]; b != nil {
			last = place[b]
		} else {
			place[a] = last + 1
		}
	}
	var rows []*machine.Row
	for r := range c.edits {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b *machine.Row) int {
		return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	edits := make([]Edit, len(rows))
	for i, r := range rows {
		edits[i] = *c.edits[r]
	}
	return edits
}
