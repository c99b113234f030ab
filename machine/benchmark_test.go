// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"noderotation.io/noderotation/machine"
)

// BenchmarkLoad reads, checks and compiles the door's table.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := compile(doorTable); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	m := door()
	for b.Loop() {
		d, err := m.Decide("closed", Door{KeyTurned: true, Jammed: true})
		if err != nil || d.Wake(evening) != time.Minute {
			b.Fatal(d.Row, err)
		}
	}
}

func BenchmarkFire(b *testing.B) {
	m := door()
	d, err := m.Decide("locked", Door{KeyTurned: true})
	if err != nil {
		b.Fatal(err)
	}
	nothing := func(context.Context) error { return nil }
	for b.Loop() {
		if err := m.Fire(context.Background(), d, nothing); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirings parts the cases of a state with 14 guards that nothing
// connects, in rows that share them crosswise: the worst that is to be expected.
func BenchmarkFirings(b *testing.B) {
	const guards, rows = 14, 10
	table := &machine.Table{States: []machine.State{{Name: "here"}}}
	var decls []machine.GuardDecl
	for i := range guards {
		decls = append(decls, machine.GuardDecl{Name: fmt.Sprintf("g%d", i)})
	}
	for i := range rows {
		row := machine.Row{ID: fmt.Sprintf("r%d", i), From: []string{"here"}, To: "here"}
		for j := range 7 {
			row.When = append(row.When, machine.Condition{Guard: decls[(i*3+j*5)%guards].Name, Not: (i+j)%2 == 0})
		}
		table.Rows = append(table.Rows, row)
	}
	m := machine.NewModel(table, decls, nil)
	for b.Loop() {
		if len(m.Firings("here")) == 0 {
			b.Fatal("no firings")
		}
	}
}
