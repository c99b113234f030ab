// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A controller that is suspended stands still for as long as the script lets it, even for good.
func TestAScriptMayEndWhileAControllerIsSuspended(t *testing.T) {
	script := parsed(t, aScript("> run 30s", "> suspend the controller before its 2nd write\n\n> run 30s"))
	first, again := ran(t, script), ran(t, script)
	if first.Print() != again.Print() {
		t.Errorf("a second run differs:\n%s\n%s", first.Print(), again.Print())
	}
	if trace := strings.Join(first.Steps[1].Trace, "\n"); !strings.Contains(trace, "controller is suspended in the middle of a pass") ||
		strings.Contains(trace, "patch NodeClaim") {
		t.Errorf("the controller does not stand still before its second write:\n%s", trace)
	}
	NewWithT(t).Eventually(goroutines).ShouldNot(ContainSubstring("scripts.(*run).advance"), "a suspended pass ends with its script")
}

// goroutines are the stacks of all there are.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

func TestOnlyASuspendedControllerIsResumedOrTakenOverFrom(t *testing.T) {
	for _, c := range []struct{ name, steps, problem string }{
		{"none is suspended", "> resume the suspended controller", "a.txt:12: no controller is suspended"},
		{"it has gone on", "> suspend the controller after its 1st write\n\n> run 30s\n\n> resume the suspended controller\n\n> resume the suspended controller",
			"a.txt:18: no controller is suspended"},
		{"the first one still runs", "> have another controller take over", "a.txt:12: no controller is suspended"},
		{"one is suspended already", "> suspend the controller after its 1st write\n\n> run 30s\n\n> suspend the controller after its 1st write",
			"a.txt:16: a controller is suspended already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parsed(t, aScript("> run 30s", c.steps)).Run(theTable(t))
			if err == nil || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("it is said: %v\nwanted:     %s", err, c.problem)
			}
		})
	}
}
