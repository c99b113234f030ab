// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"strings"
	"testing"
)

func TestWhatNobodyShowsCannotBeAskedFor(t *testing.T) {
	for _, c := range []struct{ name, steps, problem string }{
		{"series of no process", "> run 1s\n\n> kill the controller\n\n> series of api", "a.txt:16: no controller runs at 1s whose series could be read"},
		{"status of no policy", "> status of monthly", "a.txt:12: there is no RotationPolicy monthly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parsed(t, aScript("> run 30s", c.steps)).Run(theTable(t))
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("it is said: %v\nwanted:     %s", err, c.problem)
			}
		})
	}
}

// A status stands while no process runs, and a new process has no say in it before its first pass.
func TestAStatusOutlivesTheProcess(t *testing.T) {
	script := ran(t, parsed(t, aScript("> run 30s", "> run 30s\n\n> kill the controller\n\n> status of weekly")))
	if told := strings.Join(script.Steps[2].Trace, "\n"); !strings.Contains(told, "api: pending") {
		t.Errorf("the status no longer tells of the rotation:\n%s", told)
	}
}
