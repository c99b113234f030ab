// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/machine"
)

// world is a small state with random guards, implications and rows, together
// with every truth assignment that the implications allow.
type world struct {
	guards []machine.GuardDecl
	table  *machine.Table
	cases  []uint // bit i: guard i holds
}

func (w world) satisfied(assignment uint, c machine.Condition) bool {
	i := slices.IndexFunc(w.guards, func(g machine.GuardDecl) bool { return g.Name == c.Guard })
	return (assignment>>i&1 == 1) != c.Not
}

func (w world) all(assignment uint, conditions []machine.Condition) bool {
	for _, c := range conditions {
		if !w.satisfied(assignment, c) {
			return false
		}
	}
	return true
}

// allowed lists the assignments that obey the implications.
func (w world) allowed() []uint {
	var cases []uint
	for assignment := range uint(1) << len(w.guards) {
		ok := true
		for _, g := range w.guards {
			ok = ok && (!w.satisfied(assignment, machine.Is(g.Name)) || w.all(assignment, g.Implies))
		}
		if ok {
			cases = append(cases, assignment)
		}
	}
	return cases
}

// possible reports whether each guard holds in some case, as a registry demands.
func (w world) possible() bool {
	var ever uint
	for _, c := range w.allowed() {
		ever |= c
	}
	return ever == uint(1)<<len(w.guards)-1
}

func drawWorld(t *rapid.T) world {
	var w world
	n := rapid.IntRange(1, 7).Draw(t, "guards")
	for i := range n {
		w.guards = append(w.guards, machine.GuardDecl{Name: fmt.Sprintf("g%d", i)})
	}
	condition := rapid.Custom(func(t *rapid.T) machine.Condition {
		return machine.Condition{
			Guard: w.guards[rapid.IntRange(0, n-1).Draw(t, "guard")].Name,
			Not:   rapid.Bool().Draw(t, "not"),
		}
	})
	for range rapid.IntRange(0, 6).Draw(t, "implications") {
		g := &w.guards[rapid.IntRange(0, n-1).Draw(t, "implying")]
		g.Implies = append(g.Implies, condition.Draw(t, "implied"))
		if !w.possible() {
			g.Implies = g.Implies[:len(g.Implies)-1]
		}
	}
	w.table = &machine.Table{Name: "drawn", Initial: "here", States: []machine.State{{Name: "here"}}}
	for i := range rapid.IntRange(0, 6).Draw(t, "rows") {
		w.table.Rows = append(w.table.Rows, machine.Row{
			ID: fmt.Sprintf("r%d", i), From: []string{"here"}, Event: fmt.Sprintf("e%d", i), To: "here",
			When: rapid.SliceOfN(condition, 0, 4).Draw(t, "when"),
		})
	}
	w.cases = w.allowed()
	return w
}

// fires is the row that fires in a case, tried one by one; nil if none does.
func (w world) fires(assignment uint) *machine.Row {
	for _, r := range w.table.RowsFrom("here") {
		if w.all(assignment, r.When) {
			return r
		}
	}
	return nil
}

// of lists the cases that have all the facts.
func (w world) of(f machine.Facts) []uint {
	var cases []uint
	for _, c := range w.cases {
		if w.all(c, f.Conditions()) {
			cases = append(cases, c)
		}
	}
	return cases
}

// Laws 10 and 13–17 are judged "over every consistent truth assignment of the
// guards of a state, on the row that then fires": firings are exactly that.
func TestFiringsPartEveryConsistentCaseByTheRowThatFires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		m := machine.NewModel(w.table, w.guards, nil)
		var extra []string
		if rapid.Bool().Draw(t, "with extra") {
			extra = []string{w.guards[0].Name, w.guards[len(w.guards)-1].Name}
		}
		times := map[uint]int{}
		for _, f := range m.Firings("here", extra...) {
			cases := w.of(f.Facts)
			if len(cases) == 0 {
				t.Fatalf("a firing without a case: %s", f.Facts)
			}
			for _, c := range cases {
				times[c]++
				if got, want := f.Row, w.fires(c); got != want {
					t.Fatalf("in case %b fires %v, said is %v", c, want, got)
				}
			}
			for _, name := range extra {
				if _, known := f.Facts.Known(machine.Is(name)); !known {
					t.Fatalf("%s was asked for and is not known in %s", name, f.Facts)
				}
			}
		}
		for _, c := range w.cases {
			if times[c] != 1 {
				t.Fatalf("case %b is in %d firings", c, times[c])
			}
		}
	})
}

func TestFactsKnowExactlyWhatFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		m := machine.NewModel(w.table, w.guards, nil)
		for _, f := range m.Firings("here") {
			cases := w.of(f.Facts)
			for _, g := range w.guards {
				for _, c := range []machine.Condition{machine.Is(g.Name), machine.IsNot(g.Name)} {
					always := !slices.ContainsFunc(cases, func(a uint) bool { return !w.satisfied(a, c) })
					if f.Facts.Holds(c) != always {
						t.Fatalf("%s in %s: always so %t, said to be %t", c, f.Facts, always, f.Facts.Holds(c))
					}
					if m.CanFail(f.Facts, c) == always {
						t.Fatalf("%s in %s: always so %t, and can fail", c, f.Facts, always)
					}
				}
			}
		}
	})
}

func TestConsistentIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		m := machine.NewModel(w.table, w.guards, nil)
		for _, r := range w.table.Rows {
			some := slices.ContainsFunc(w.cases, func(a uint) bool { return w.all(a, r.When) })
			if got := m.Consistent(machine.Facts{}, r.When...); got != some {
				t.Fatalf("%v together: some case %t, said to be %t", r.When, some, got)
			}
		}
	})
}

func TestFactsReadLikeATable(t *testing.T) {
	m := machine.NewModel(&machine.Table{}, []machine.GuardDecl{
		{Name: "pushed"},
		{Name: "key_turned"},
		{Name: "forced", Implies: []machine.Condition{machine.Is("pushed"), machine.IsNot("key_turned")}},
	}, nil)
	facts, ok := m.Assume(machine.Facts{}, machine.Is("forced"))
	if got, want := facts.String(), "pushed, not key_turned, forced"; !ok || got != want {
		t.Errorf("forced means %q, not %q", got, want)
	}
	if got := (machine.Facts{}).String(); got != "always" {
		t.Errorf("no facts read %q", got)
	}
	if _, known := (machine.Facts{}).Known(machine.Is("pushed")); known {
		t.Error("no facts know something")
	}
	if _, known := facts.Known(machine.Is("whistled")); known {
		t.Error("an unknown guard is known")
	}
	if _, ok := m.Assume(facts, machine.Is("key_turned")); ok {
		t.Error("forced and key_turned went together")
	}
	if _, ok := m.Assume(facts, machine.Is("whistled"), machine.IsNot("pushed")); ok {
		t.Error("an unknown guard hid a contradiction")
	}
}
