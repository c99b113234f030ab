// SPDX-License-Identifier: Apache-2.0

package truth_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/truth"
)

var update = flag.Bool("update", false, "write the transitions that come of the scenarios in the simulator into testdata")

// The simulated half: every scenario comes to the transitions that stand in its text. The other half is the real
// cluster's (test/e2e/truth_test.go).
func TestTheSimulatorComesToTheSameTransitions(t *testing.T) {
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range all(t) {
		t.Run(strings.TrimSuffix(filepath.Base(scenario.File), ".txt"), func(t *testing.T) {
			world, err := simulate(scenario, machine)
			if err != nil {
				t.Fatal(err)
			}
			played, err := scenario.Play(t.Context(), world)
			if err != nil {
				t.Fatalf("%v\n%s", err, scenario.Against(played))
			}
			if *update {
				if err := os.WriteFile(scenario.File, []byte(played.Print()), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if table := scenario.Against(played); table != "" {
				t.Errorf("what the text says, and what came of it:\n%s", table)
			}
		})
	}
}

func all(t *testing.T) []*truth.Scenario {
	t.Helper()
	scenarios, err := truth.All()
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}
