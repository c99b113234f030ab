// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/diff"
)

// large is a table of one state with many guards, drawn with a seed; and the guards, chained by implications.
func large(guards, rows, conditions int) (*machine.Table, []machine.GuardDecl) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same table every time
	var decls []machine.GuardDecl
	for i := range guards {
		g := machine.GuardDecl{Name: fmt.Sprintf("g%d", i)}
		if i%3 == 2 {
			g.Implies = []machine.Condition{{Guard: decls[i-1].Name, Not: i%2 == 0}}
		}
		decls = append(decls, g)
	}
	t := &machine.Table{Name: "large", Initial: "here", States: []machine.State{{Name: "here"}}}
	for i := range rows {
		r := machine.Row{ID: fmt.Sprintf("r%d", i), From: []string{"here"}, Event: fmt.Sprintf("e%d", i), To: "here", Do: []string{fmt.Sprintf("d%d", i)}}
		for range conditions {
			r.When = append(r.When, machine.Condition{Guard: decls[random.IntN(guards)].Name, Not: random.IntN(2) == 0})
		}
		t.Rows = append(t.Rows, r)
	}
	return t, decls
}

// reordered is the table with an edit of each kind.
func reordered(t *machine.Table) *machine.Table {
	edited := *t
	edited.Rows = slices.Clone(t.Rows)
	edited.Rows[3], edited.Rows[4] = edited.Rows[4], edited.Rows[3]
	edited.Rows[len(t.Rows)/2].When = edited.Rows[len(t.Rows)/2].When[1:]
	edited.Rows[len(t.Rows)-2].Do = []string{"other"}
	edited.Rows = slices.Delete(edited.Rows, 7, 8)
	return &edited
}

// Forty guards have 2⁴⁰ cases. That this ends at all says that none is looked at by itself.
func TestTheWorkDoesNotGrowWithTheNumberOfCases(t *testing.T) {
	for _, size := range [][3]int{{10, 12, 3}, {16, 30, 5}, {20, 30, 5}, {40, 30, 9}} {
		table, guards := large(size[0], size[1], size[2])
		d := diff.Compare(machine.NewModel(table, guards, nil), machine.NewModel(reordered(table), guards, nil), nil)
		if !d.Changed || len(d.Edits) == 0 {
			t.Errorf("%d guards: nothing is told", size[0])
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, size := range [][3]int{{10, 12, 3}, {16, 30, 5}, {20, 30, 5}} {
		b.Run(fmt.Sprintf("%d guards, %d rows", size[0], size[1]), func(b *testing.B) {
			table, guards := large(size[0], size[1], size[2])
			old, now := machine.NewModel(table, guards, nil), machine.NewModel(reordered(table), guards, nil)
			for b.Loop() {
				diff.Compare(old, now, nil)
			}
		})
	}
}
