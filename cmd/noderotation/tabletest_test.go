// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
)

// A table in which a freeze no longer holds what is pending differs in the scripts that show it, and in no other.
func TestTableTestShowsWhatAChangeOfTheTableDoes(t *testing.T) {
	g := NewWithT(t)
	hold := "do: [mark_pending, freeze, cordon, record_surge_claim]\n  requeue: 30s"
	give := "do: [delete_placeholder, unfreeze, reset_claim, clear_anchor]\n  requeue: 1m"
	table := strings.Replace(string(noderotation.Transitions), hold, give, 1)
	table = strings.Replace(table, "  event: held\n  to: pending", "  event: held\n  to: idle", 1)

	out, err := run(t, "table", "test", written(t, "mine.yaml", table))
	g.Expect(err).To(MatchError(SatisfyAll(ContainSubstring("scenarios come out differently on the table"), ContainSubstring("mine.yaml"))))
	g.Expect(out).To(ContainSubstring("A freeze holds a pending rotation; it goes on when the freeze ends (§3.1)\n"))
	g.Expect(out).To(MatchRegexp(`(?m)^    \+ 20s       controller api: pending-held \(pending → idle\)$`))
	g.Expect(out).To(ContainSubstring("the scenario ends early: built-in/freeze-no-placeholder.txt:24: there is no placeholder api-0 at 5s\n"))
	g.Expect(out).NotTo(ContainSubstring("A rotation, undisturbed"))
}

func TestTableTestIsContentWithTheTableThatTheScriptsAreOf(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "test", "--scenarios", "../../sim/scripts/testdata")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(MatchRegexp(`^all \d+ scenarios come out as written on the table built-in\n$`))
}

func TestTableTestSaysWhatIsWrongWithAScriptOrATable(t *testing.T) {
	g := NewWithT(t)
	script := written(t, "one.txt", "title Nothing\nsection §5.3\nstart 2026-01-09 17:00 UTC\n\n> jump\n")
	_, err := run(t, "table", "test", "--scenarios", filepath.Dir(script))
	g.Expect(err).To(MatchError(ContainSubstring("one.txt:5: \"jump\" is no step")))

	_, err = run(t, "table", "test", "--scenarios", t.TempDir())
	g.Expect(err).To(MatchError(ContainSubstring("there is no scenario script in")))

	_, err = run(t, "table", "test", written(t, "mine.yaml", "initial: idle\n"))
	g.Expect(err).To(MatchError(HavePrefix("the transition table is refused:\n")))
}
