// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"maps"
	"runtime/debug"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/sim/cluster"
)

const (
	// bound is how many states a test run explores: about a minute's worth on two cores. workers share them.
	bound   = 200_000
	workers = 2
	// few states are a matter of seconds, under the race detector too; several workers share them.
	few     = 1_000
	several = 4
)

func TestMain(m *testing.M) {
	// Nearly all that a search makes is garbage at once, and what stays is small.
	debug.SetGCPercent(400)
	m.Run()
}

func theTable(t *testing.T) *controller.Machine {
	t.Helper()
	m, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func kindOf(object client.Object) string {
	kind, err := cluster.KindOf(object)
	if err != nil {
		return ""
	}
	return kind.String()
}

// Of the explorer this is what `make test-race` runs: all that workers share is at work in it.
func TestSeveralWorkersFindWhatOneFinds(t *testing.T) {
	scene := sceneCalled(t, "one old node")
	found := func(workers int) map[string]int {
		search := Search{Scene: &scene, Machine: theTable(t), Most: few, Workers: workers}
		result := search.Run()
		if result.Breach != nil {
			t.Fatal(result.Breach.Script())
		}
		return map[string]int{"states": result.States, "expanded": result.Expanded, "depth": result.Depth, "return": result.Return}
	}
	alone, together := found(1), found(several)
	if !maps.Equal(alone, together) {
		t.Errorf("%d workers find %v, and one finds %v", several, together, alone)
	}
	if alone["states"] < few {
		t.Errorf("only %d states were explored, and %d are asked for", alone["states"], few)
	}
}

// The claims about crash safety (architecture.md): whatever happens, and whatever goes wrong, every invariant holds.
func TestEveryStateWithinTheBound(t *testing.T) {
	table := theTable(t)
	explorer := Explorer{Machine: table, Most: bound, Workers: workers}
	result := explorer.Run()
	if result.Breach != nil {
		t.Fatal(result.Breach.Script())
	}
	t.Logf("%d states, %d expanded, %d steps, depth %d, back in %d", result.States, result.Expanded, result.Steps, result.Depth, result.Return)
	if result.States < bound {
		t.Errorf("only %d states were explored, and %d are asked for", result.States, bound)
	}
	for _, row := range table.Table().Rows {
		if result.Coverage.Rows[row.ID] == 0 {
			t.Errorf("row %s has never fired", row.ID)
		}
	}
	for _, effect := range effects.All() {
		if len(effect.Writes) > 0 && result.Coverage.Cut[effect.Name] == 0 {
			t.Errorf("no pass was cut off after %s", effect.Name)
		}
	}
	for fault, times := range result.Coverage.Faults() {
		if times == 0 {
			t.Errorf("nothing was explored with this fault: %s", fault)
		}
	}
	for move, times := range result.Coverage.Moves() {
		if times == 0 {
			t.Errorf("nothing was explored with this move: %s", move)
		}
	}
}
