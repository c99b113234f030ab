// SPDX-License-Identifier: Apache-2.0

package truth_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/scripts"
	"noderotation.io/noderotation/sim/truth"
)

var update = flag.Bool("update", false, "write the transitions that come of the scenarios in the simulator into testdata")

// The simulated half: every scenario comes to the transitions that stand in its text. The other half is the real
// cluster's (test/e2e/truth_test.go).
func TestTheSimulatorComesToTheSameTransitions(t *testing.T) {
	machine := theTable(t)
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

// What a real cluster cannot be brought to reliably, or what changes nothing and so stands in no log.
var notHeld = map[string]string{
	"rest":                   "it changes nothing",
	"start-without-headroom": "it changes nothing",
	"drain-stuck":            "it changes nothing",
	"draining-wait":          "it changes nothing that the row before it has not",
	"failed-force-expired":   "it takes an expiry in the moment between two writes",
	"expired-release":        "how many writes the row before it makes depends on how soon Karpenter deletes the Node",
}

func TestEveryOtherRowIsHeldAgainstTheTruth(t *testing.T) {
	fired := map[string]bool{}
	for _, scenario := range all(t) {
		for _, step := range scenario.Steps {
			for _, line := range step.Trace {
				fired[strings.Fields(line)[1]] = true
			}
		}
	}
	for _, row := range theTable(t).Table().Rows {
		if why := notHeld[row.ID]; fired[row.ID] == (why != "") {
			t.Errorf("row %s fires in a scenario: %t; kept out because: %q", row.ID, fired[row.ID], why)
		}
	}
}

// A scenario tells tables apart: under one whose pending rotation does not note its surge, no pass that waits changes
// anything, and the row is missing.
func TestAnotherTableComesToOtherTransitions(t *testing.T) {
	const waits = "do: [renew_anchor, mark_pending, freeze, cordon, record_surge_claim, placeholder]"
	other := strings.Replace(string(noderotation.Transitions), waits, strings.Replace(waits, "record_surge_claim, ", "", 1), 1)
	machine, err := controller.LoadTable("other.yaml", []byte(other))
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	for _, scenario := range all(t) {
		world, err := simulate(scenario, machine)
		if err != nil {
			t.Fatal(err)
		}
		played, _ := scenario.Play(t.Context(), world) // it may wait in vain
		if strings.Contains(scenario.Against(played), "≠") {
			noticed++
		}
	}
	if noticed < 8 {
		t.Errorf("%d scenarios notice the difference", noticed)
	}
}

func TestADifferenceIsShownSideBySide(t *testing.T) {
	expected := read(t, "> start the controller\n\n> await api-0 drain\napi-0 start (idle → pending)\napi-0 drain (pending → draining)\n")
	if table := expected.Against(expected); table != "" {
		t.Errorf("a scenario differs from itself:\n%s", table)
	}
	came := read(t, "> start the controller\n\n> await api-0 drain\napi-0 start (idle → pending)\napi-0 pending-wait (pending → pending)\napi-0 drain (pending → draining)\n")
	want := `> start the controller
> await api-0 drain
  api-0 start (idle → pending)                                  api-0 start (idle → pending)
  api-0 drain (pending → draining)                            ≠ api-0 pending-wait (pending → pending)
  —                                                           ≠ api-0 drain (pending → draining)
`
	if table := expected.Against(came); table != want {
		t.Errorf("it is shown as\n%s", table)
	}
	cut := read(t, "> start the controller\n")
	if table := expected.Against(cut); table == "" {
		t.Error("a scenario that ended early differs in nothing")
	}
}

func TestAStepThatNoWorldKnowsIsRefusedWithItsLine(t *testing.T) {
	_, err := truth.Read("a.txt", head+"> start the controller\n\n> drain the swamp\n\n> hold up launches by ages\n")
	var problems scripts.Problems
	if !errors.As(err, &problems) || len(problems) != 2 {
		t.Fatalf("it is read with %v", err)
	}
	for i, want := range []string{`a.txt:9: "drain the swamp" is no step. There are:`, `a.txt:11: hold up launches by <span>: `} {
		if !strings.HasPrefix(problems[i].Error(), want) {
			t.Errorf("it says %q", problems[i])
		}
	}
}

// A row that never fires is waited for in vain, and what came instead is told.
func TestAScenarioThatComesToNothingEndsWithWhatCame(t *testing.T) {
	scenario := read(t, "> start the controller\n\n> await api-0 drained\n")
	world, err := simulate(scenario, theTable(t))
	if err != nil {
		t.Fatal(err)
	}
	played, err := scenario.Play(t.Context(), world)
	if want := "a.txt:9: waited in vain, for an hour, until row drained fires about api-0"; err == nil || err.Error() != want {
		t.Errorf("it ends with %v", err)
	}
	if len(played.Steps) != 2 || len(played.Steps[1].Trace) != 0 {
		t.Errorf("it has come to\n%s", played.Print())
	}
}

// head is a pool that no policy governs.
const head = `title    A pool
section  §3.1

start    2026-01-09 17:00 UTC
pool     api
  expireAfter 10d; nodes 1m
`

func read(t *testing.T, steps string) *truth.Scenario {
	t.Helper()
	scenario, err := truth.Read("a.txt", head+steps)
	if err != nil {
		t.Fatal(err)
	}
	return scenario
}

func theTable(t *testing.T) *controller.Machine {
	t.Helper()
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

func all(t *testing.T) []*truth.Scenario {
	t.Helper()
	scenarios, err := truth.All()
	if err != nil {
		t.Fatal(err)
	}
	return scenarios
}
