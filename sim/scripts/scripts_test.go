// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/scripts"
)

var update = flag.Bool("update", false, "write the traces that come of the scripts into testdata")

func theTable(t *testing.T) *controller.Machine {
	t.Helper()
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

func all(t *testing.T) []*scripts.Script {
	t.Helper()
	found, err := scripts.ReadAll(os.DirFS("testdata"), "testdata")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Every script of testdata has the trace that stands in it. `go test ./sim/scripts -update` writes it anew.
func TestScripts(t *testing.T) {
	machine := theTable(t)
	for _, script := range all(t) {
		t.Run(strings.TrimSuffix(filepath.Base(script.File), ".txt"), func(t *testing.T) {
			ran, err := script.Run(machine)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(script.File, []byte(ran.Print()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, difference := range script.Differences(ran.Document) {
				t.Errorf("the trace is not the one in the file (-update writes it anew):\n%s", difference)
			}
		})
	}
}

// said are the parts of the traces' lines that a form with one group finds.
func said(t *testing.T, form string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	line := regexp.MustCompile(form)
	for _, script := range all(t) {
		for _, step := range script.Steps {
			for _, told := range step.Trace {
				if m := line.FindStringSubmatch(told); m != nil {
					found[m[1]] = true
				}
			}
		}
	}
	return found
}

func TestEveryRowOfTheTableFiresInSomeScript(t *testing.T) {
	fired := said(t, `^\S+ +controller \S+: ([a-z-]+) \(`)
	for _, row := range theTable(t).Table().Rows {
		if !fired[row.ID] {
			t.Errorf("row %s occurs in no trace", row.ID)
		}
		delete(fired, row.ID)
	}
	if len(fired) > 0 {
		t.Errorf("rows that the table does not have occur in traces: %v", fired)
	}
}

func TestEveryGuardKeepsARowBackInSomeScript(t *testing.T) {
	waited := said(t, `^  \S+ waits for (?:not )?([a-z_]+): `)
	for _, guard := range guards.All() {
		if !waited[guard.Name] {
			t.Errorf("guard %s keeps no row back in any trace", guard.Name)
		}
	}
}

// A policy-level fatal makes the policy Invalid and is told by its sentence alone (§3.8).
func TestEveryFindingAndEveryReasonOfAnEventIsToldInSomeScript(t *testing.T) {
	told := said(t, `^ +tell (\S+) on `)
	for _, rule := range rotation.Rules() {
		if !told[rule.Code] && (rule.Severity != rotation.Fatal || rule.Level != rotation.PolicyLevel) {
			t.Errorf("finding %s is told in no trace", rule.Code)
		}
	}
	for _, reason := range effects.Reasons() {
		if !told[reason.Name] {
			t.Errorf("an Event %s is told in no trace", reason.Name)
		}
	}
}

// The specification's sections: chapters 1, 3, 4 and 5 with what is written out of them, and architecture.md.
var sections = []string{
	"§3.1", "§3.2", "§3.3", "§3.4", "§3.6", "§3.8", "§4.2", "§4.4", "§5.1", "§5.2", "§5.3", "§5.4",
}

func TestEveryScriptStandsOnASectionThatExists(t *testing.T) {
	titles := map[string]string{}
	for _, script := range all(t) {
		for _, section := range script.Sections {
			number, _, _ := strings.Cut(section, " ")
			if !slices.Contains(sections, number) {
				t.Errorf("%s names %q, which is no section of the specification", script.File, section)
			}
		}
		if before, twice := titles[script.Title]; twice {
			t.Errorf("%s and %s have one title", before, script.File)
		}
		titles[script.Title] = script.File
		if script.About == "" {
			t.Errorf("%s does not say why: give it an `about`", script.File)
		}
	}
}

func TestThereAreEnoughScripts(t *testing.T) {
	if n := len(all(t)); n < 40 {
		t.Errorf("there are %d scripts; 40 are wanted", n)
	}
}
