// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/diff"
)

// worlds is two small tables over one set of guards, with every truth assignment
// that the guards' implications allow.
type worlds struct {
	guards   []machine.GuardDecl
	old, new *machine.Table
	cases    []uint // bit i: guard i holds
}

func (w worlds) model(t *machine.Table) *machine.Model { return machine.NewModel(t, w.guards, nil) }

func (w worlds) satisfied(assignment uint, c machine.Condition) bool {
	i := slices.IndexFunc(w.guards, func(g machine.GuardDecl) bool { return g.Name == c.Guard })
	return (assignment>>i&1 == 1) != c.Not
}

func (w worlds) all(assignment uint, conditions []machine.Condition) bool {
	return !slices.ContainsFunc(conditions, func(c machine.Condition) bool { return !w.satisfied(assignment, c) })
}

func (w worlds) in(assignment uint, cover diff.Cover) bool {
	return slices.ContainsFunc(cover, func(c diff.Clause) bool { return w.all(assignment, c) })
}

// fires is the place of the row that fires, tried one by one.
func (w worlds) fires(t *machine.Table, state string, assignment uint) (*machine.Row, int) {
	rows := t.RowsFrom(state)
	for i, r := range rows {
		if w.all(assignment, r.When) {
			return r, i
		}
	}
	return nil, len(rows)
}

func (w worlds) allowed() []uint {
	var cases []uint
	for assignment := range uint(1) << len(w.guards) {
		if !slices.ContainsFunc(w.guards, func(g machine.GuardDecl) bool {
			return w.satisfied(assignment, machine.Is(g.Name)) && !w.all(assignment, g.Implies)
		}) {
			cases = append(cases, assignment)
		}
	}
	return cases
}

// possible reports whether each guard holds in some case, as a registry demands.
func (w worlds) possible() bool {
	var ever uint
	for _, c := range w.allowed() {
		ever |= c
	}
	return ever == uint(1)<<len(w.guards)-1
}

var states = []string{"here", "there"}

func drawWorlds(t *rapid.T) worlds {
	var w worlds
	n := rapid.IntRange(1, 7).Draw(t, "guards")
	for i := range n {
		w.guards = append(w.guards, machine.GuardDecl{Name: fmt.Sprintf("g%d", i)})
	}
	condition := rapid.Custom(func(t *rapid.T) machine.Condition {
		return machine.Condition{Guard: w.guards[rapid.IntRange(0, n-1).Draw(t, "guard")].Name, Not: rapid.Bool().Draw(t, "not")}
	})
	for range rapid.IntRange(0, 6).Draw(t, "implications") {
		g := &w.guards[rapid.IntRange(0, n-1).Draw(t, "implying")]
		g.Implies = append(g.Implies, condition.Draw(t, "implied"))
		if !w.possible() {
			g.Implies = g.Implies[:len(g.Implies)-1]
		}
	}
	row := rapid.Custom(func(t *rapid.T) machine.Row {
		return machine.Row{
			From:    rapid.SampledFrom([][]string{{"here"}, {"there"}, states}).Draw(t, "from"),
			To:      rapid.SampledFrom(states).Draw(t, "to"),
			When:    rapid.SliceOfN(condition, 0, 4).Draw(t, "when"),
			Do:      rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}, {"b", "a"}}).Draw(t, "do"),
			Requeue: rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "requeue"),
		}
	})
	w.old = &machine.Table{Name: "old", Initial: "here", States: []machine.State{{Name: "here"}, {Name: "there"}}}
	for i, r := range rapid.SliceOfN(row, 0, 6).Draw(t, "rows") {
		r.ID, r.Event = fmt.Sprintf("r%d", i), fmt.Sprintf("e%d", i)
		w.old.Rows = append(w.old.Rows, r)
	}
	w.new = drawEdited(t, w.old, row, condition)
	w.cases = w.allowed()
	return w
}

// drawEdited is a table after a few edits such as people make.
func drawEdited(t *rapid.T, old *machine.Table, row *rapid.Generator[machine.Row], condition *rapid.Generator[machine.Condition]) *machine.Table {
	edited := *old
	rows := slices.Clone(old.Rows)
	for k := range rapid.IntRange(0, 4).Draw(t, "edits") {
		other := row.Draw(t, "row")
		other.ID, other.Event = fmt.Sprintf("n%d", k), fmt.Sprintf("n%d", k)
		if len(rows) == 0 {
			rows = append(rows, other)
			continue
		}
		i := rapid.IntRange(0, len(rows)-1).Draw(t, "at")
		switch rapid.IntRange(0, 7).Draw(t, "edit") {
		case 0:
			rows = slices.Insert(rows, i, other)
		case 1:
			rows = slices.Delete(rows, i, i+1)
		case 2:
			moved := rows[i]
			rows = slices.Insert(slices.Delete(rows, i, i+1), rapid.IntRange(0, len(rows)-1).Draw(t, "to"), moved)
		case 3:
			rows[i].When = append(slices.Clone(rows[i].When), condition.Draw(t, "more"))
		case 4:
			rows[i].When = nil
		case 5:
			rows[i].Do, rows[i].To = other.Do, other.To
		case 6:
			rows[i].ID = other.ID
		case 7:
			rows[i].Requeue, rows[i].From = other.Requeue, other.From
		}
	}
	edited.Name, edited.Rows = "new", rows
	return &edited
}

func differs(a, b *machine.Row) bool {
	if a == nil || b == nil {
		return a != b
	}
	return a.To != b.To || !slices.Equal(a.Do, b.Do) || a.Requeue != b.Requeue
}

// stands reports whether a Case speaks of the rows that fire.
func stands(f *diff.Fired, r *machine.Row) bool {
	if f == nil || r == nil {
		return f == nil && r == nil
	}
	return f.Row == r.ID && f.To == r.To && slices.Equal(f.Do, r.Do) && f.Requeue == diff.Duration(r.Requeue)
}

// What is told is sound and complete: tried one by one, the cases in which the
// meaning differs are those that are told, each once.
func TestEveryCaseThatDiffersIsToldAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		d := diff.Compare(w.model(w.old), w.model(w.new), nil)
		changed := false
		for _, state := range states {
			for _, assignment := range w.cases {
				a, i := w.fires(w.old, state, assignment)
				b, j := w.fires(w.new, state, assignment)
				changed = changed || differs(a, b)
				told := 0
				for _, e := range d.Edits {
					for _, c := range e.Cases {
						if !slices.Contains(c.States, state) {
							continue
						}
						covered := w.in(assignment, c.When)
						if covered {
							told++
							if !stands(c.Old, a) || !stands(c.New, b) || (len(c.Changes) > 0) != differs(a, b) {
								t.Fatalf("in %s, case %b: fired %v, now %v; told is %v → %v (%v)", state, assignment, a, b, c.Old, c.New, c.Changes)
							}
						}
						checkBrief(t, w, c, state, assignment, covered, i, j)
						checkExtent(t, c, covered, a, b)
					}
				}
				if told > 1 || differs(a, b) && told == 0 {
					t.Fatalf("in %s, case %b differs: %t, and is told %d times", state, assignment, differs(a, b), told)
				}
			}
		}
		if d.Changed != changed {
			t.Fatalf("the meaning changes: %t, told is %t", changed, d.Changed)
		}
	})
}

// checkBrief: a brief telling adds only cases that an earlier row takes in both tables.
func checkBrief(t *rapid.T, w worlds, c diff.Case, state string, assignment uint, covered bool, i, j int) {
	if c.Brief == nil {
		return
	}
	brief := w.in(assignment, c.Brief)
	if covered && !brief {
		t.Fatalf("in %s, case %b is not in the brief telling", state, assignment)
	}
	place := func(table *machine.Table, f *diff.Fired) int {
		rows := table.RowsFrom(state)
		if f == nil {
			return len(rows)
		}
		return slices.IndexFunc(rows, func(r *machine.Row) bool { return r.ID == f.Row })
	}
	if brief && !covered && (i >= place(w.old, c.Old) || j >= place(w.new, c.New)) {
		t.Fatalf("in %s, case %b is in the brief telling, and no earlier row takes it", state, assignment)
	}
}

// checkExtent: all cases in which the old row fired, and all in which the new one fires, are as many as is said.
func checkExtent(t *rapid.T, c diff.Case, covered bool, a, b *machine.Row) {
	if c.Extent != diff.Part && stands(c.Old, a) && c.Old != nil && c.Old.Row == a.ID && !covered {
		t.Fatalf("%s fired in a case that %q leaves out", a.ID, c.Extent)
	}
	if c.Extent == diff.Whenever && stands(c.New, b) && c.New != nil && c.New.Row == b.ID && !covered {
		t.Fatalf("%s fires in a case that %q leaves out", b.ID, c.Extent)
	}
}

// A state that only one table has is told row by row: what can fire there, where it leads, and nothing else.
func TestWhatFiresInAStateOfOneTableIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		without := *w.old
		without.States = without.States[:1]
		ways := func(table *machine.Table) map[string]bool {
			fire := map[string]bool{}
			for _, assignment := range w.cases {
				if r, _ := w.fires(table, "there", assignment); r != nil {
					fire[r.ID+" leads to "+r.To] = true
				}
			}
			return fire
		}
		told := func(d diff.Difference, side func(diff.Edit) (string, []diff.Way)) map[string]bool {
			fire := map[string]bool{}
			for _, e := range d.Edits {
				id, ways := side(e)
				for _, way := range ways {
					fire[id+" leads to "+way.To] = true
				}
			}
			return fire
		}
		came := told(diff.Compare(w.model(&without), w.model(w.new), nil), func(e diff.Edit) (string, []diff.Way) { return e.Row, e.NewWays })
		if is := ways(w.new); !reflect.DeepEqual(came, is) {
			t.Fatalf("in the new state fires %v, told is %v", is, came)
		}
		went := told(diff.Compare(w.model(w.new), w.model(&without), nil),
			func(e diff.Edit) (string, []diff.Way) { return cmp.Or(e.Was, e.Row), e.LostWays })
		if was := ways(w.new); !reflect.DeepEqual(went, was) {
			t.Fatalf("in the state that is gone fired %v, told is %v", was, went)
		}
	})
}

// Nothing that fires is said not to, and nothing that was edited is passed over.
func TestEveryEditedRowIsToldForWhatItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		d := diff.Compare(w.model(w.old), w.model(w.new), nil)
		text := said(d)
		fire := map[string]bool{}
		for _, table := range []*machine.Table{w.old, w.new} {
			for _, state := range states {
				for _, assignment := range w.cases {
					if r, _ := w.fires(table, state, assignment); r != nil {
						fire[r.ID] = true
					}
				}
			}
		}
		for _, e := range d.Edits {
			if never := e.Row + " is a new row, and never fires"; fire[e.Row] && strings.Contains(text, never) {
				t.Fatalf("%s fires, and told is:\n%s", e.Row, text)
			}
			if never := e.Row + " is gone, and never fired"; fire[e.Row] && strings.Contains(text, never) {
				t.Fatalf("%s fired, and told is:\n%s", e.Row, text)
			}
			if !strings.Contains(text, e.Row) {
				t.Fatalf("%s is edited (%v), and not told of:\n%s", e.Row, e.What, text)
			}
		}
	})
}

// Conditions are as short as they can be: no condition and no clause can go.
func TestNothingCanBeLeftOutOfTheConditions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		for _, e := range diff.Compare(w.model(w.old), w.model(w.new), nil).Edits {
			for _, c := range e.Cases {
				same := func(cover diff.Cover) bool {
					return !slices.ContainsFunc(w.cases, func(a uint) bool { return w.in(a, cover) != w.in(a, c.When) })
				}
				for i, clause := range c.When {
					if same(slices.Delete(slices.Clone(c.When), i, i+1)) {
						t.Fatalf("of %v, clause %v can go", c.When, clause)
					}
					for k := range clause {
						shorter := slices.Clone(c.When)
						shorter[i] = slices.Delete(slices.Clone(clause), k, k+1)
						if same(shorter) {
							t.Fatalf("of %v, condition %v can go", c.When, clause[k])
						}
					}
				}
			}
		}
	})
}

func TestATableDoesNotDifferFromItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		d := diff.Compare(w.model(w.old), w.model(w.old), machine.GenericLaws(machine.Options{Bound: time.Minute}))
		if d.Changed || len(d.Edits) > 0 || !reflect.DeepEqual(d.Reach, diff.Reach{}) || len(d.Laws.Broken)+len(d.Laws.Mended) > 0 {
			t.Fatalf("a table and itself: %+v", d)
		}
	})
}

func TestTheWayBackDiffersInTheSameCases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorlds(t)
		forth := diff.Compare(w.model(w.old), w.model(w.new), nil)
		back := diff.Compare(w.model(w.new), w.model(w.old), nil)
		if forth.Changed != back.Changed {
			t.Fatalf("forth %t, back %t", forth.Changed, back.Changed)
		}
		for _, state := range states {
			for _, assignment := range w.cases {
				if one, other := changes(w, forth, state, assignment), changes(w, back, state, assignment); one != other {
					t.Fatalf("in %s, case %b: forth %t, back %t", state, assignment, one, other)
				}
			}
		}
		if !reflect.DeepEqual(forth.Reach.NewWays, back.Reach.LostWays) || !reflect.DeepEqual(forth.Guards.Added, back.Guards.Removed) {
			t.Fatalf("forth %+v, back %+v", forth, back)
		}
	})
}

// changes reports whether the difference says that the meaning of a case changes.
func changes(w worlds, d diff.Difference, state string, assignment uint) bool {
	for _, e := range d.Edits {
		for _, c := range e.Cases {
			if len(c.Changes) > 0 && slices.Contains(c.States, state) && w.in(assignment, c.When) {
				return true
			}
		}
	}
	return false
}
