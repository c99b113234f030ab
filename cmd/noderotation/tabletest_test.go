// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/sim/scripts"
)

// givingBack is the built-in table, but that a freeze takes back what is pending instead of holding it.
func givingBack(t *testing.T, effects string, pairs ...string) string {
	t.Helper()
	_, held, _ := strings.Cut(string(noderotation.Transitions), "- id: pending-held\n")
	held, _, _ = strings.Cut(held, "  about:")
	return edited(t, append([]string{held, "  from: pending\n  event: held\n  to: idle\n  when: [frozen]\n  do: [" + effects + "]\n  requeue: 1m\n"}, pairs...)...)
}

// freezes is a directory with some of the library's scenarios: two about freezes, and one without.
func freezes(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, name := range []string{"freeze-no-placeholder.txt", "pending-held.txt", "start.txt"} {
		script, err := fs.ReadFile(scripts.Library(), name)
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), script, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// A table in which a freeze no longer holds what is pending differs in the scripts that show it, and in no other.
func TestTableTestShowsWhatAChangeOfTheTableDoes(t *testing.T) {
	g := NewWithT(t)
	file := givingBack(t, "delete_placeholder, unfreeze, reset_claim, clear_anchor")
	scenarios := freezes(t)
	out, status := ended(t, "table", "test", file, "--scenarios", scenarios)
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(MatchRegexp(`^2 of 3 scenarios come out differently on the table \S+mine\.yaml\.\n\n`))
	g.Expect(out).To(ContainSubstring("A freeze holds a pending rotation; it goes on when the freeze ends (§3.1)\n" + scenarios + "/pending-held.txt\n  line "))
	g.Expect(out).To(MatchRegexp(`(?m)^    \+ 20s       controller api: pending-held \(pending → idle\)$`))
	g.Expect(out).To(ContainSubstring("  it ends early, at line 24: there is no placeholder api-0 at 5s\n"))
	g.Expect(out).NotTo(ContainSubstring("A rotation, undisturbed"))
	g.Expect(out).To(MatchRegexp(`(?m)^  \d steps? differs? after it; --all shows what$`))

	whole, status := ended(t, "table", "test", file, "--scenarios", scenarios, "--all")
	g.Expect(status).To(Equal(1))
	g.Expect(len(whole)).To(BeNumerically(">", len(out)))
	g.Expect(whole).NotTo(ContainSubstring("--all shows what"))

	out, status = ended(t, "table", "test", file, "--scenarios", scenarios, "-o", "json")
	g.Expect(status).To(Equal(1))
	var r replay
	g.Expect(json.Unmarshal([]byte(out), &r)).To(Succeed())
	g.Expect(r.Problems).To(BeEmpty())
	g.Expect(r.Differing[0].Steps[0].Trace).To(ContainElement(HavePrefix("+ ")))
}

// A table that would be refused is played as far as it goes: that is how one sees why the law is there.
func TestTableTestPlaysATableThatBreaksALaw(t *testing.T) {
	g := NewWithT(t)
	out, status := ended(t, "table", "test", givingBack(t, "clear_anchor"), "--scenarios", freezes(t), "--all")
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(MatchRegexp(`^2 of 3 scenarios come out differently on the table \S+mine\.yaml\.\n` +
		`The table would be refused; it was played all the same:\n  \S+mine\.yaml:\d+: row pending-held breaks law cleanup: `))
	g.Expect(out).To(MatchRegexp(`(?m)^    \+ 20s       controller api: sweep\n    \+             delete Pod noderotation/surge-for-api-0$`))
}

// A table that goes round in a circle ends its scenarios, not the patience of who waits for them.
func TestTableTestSeesATableThatNeverComesToRest(t *testing.T) {
	g := NewWithT(t)
	script := written(t, "one.txt", `title    A freeze takes back what is pending
section  §3.1

start    2026-01-09 17:00 UTC
policy   weekly
  window Wed,Sat 02:00-06:00 Asia/Tokyo
pool     api
  expireAfter 14d; terminationGracePeriod 1h; nodes 10d, 1d
  annotation freeze=+10m

> run 1m
`)
	file := givingBack(t, "delete_placeholder, unfreeze, reset_claim, clear_anchor",
		"when: [governed, feasible, pool_settled, in_window, not frozen, cooldown_elapsed, failure_pause_elapsed, candidate,\n         surge_headroom]",
		"when: [governed, feasible, pool_settled, in_window, cooldown_elapsed, failure_pause_elapsed, candidate, surge_headroom]")
	out, status := ended(t, "table", "test", file, "--scenarios", filepath.Dir(script))
	g.Expect(status).To(Equal(1))
	g.Expect(out).To(MatchRegexp(`it ends early, at line 11: nothing comes to rest at \w+: more than \d+ moves are made in that instant`))
	g.Expect(out).To(ContainSubstring("breaks law gated-start"))
}

func TestTableTestIsContentWithTheTableThatTheScriptsAreOf(t *testing.T) {
	g := NewWithT(t)
	out, status := ended(t, "table", "test", "--scenarios", freezes(t))
	g.Expect(status).To(Equal(0))
	g.Expect(out).To(Equal("All 3 scenarios come out as written on the table builtin.\n"))
}

func TestTableTestSaysWhatIsWrongWithAScriptOrATable(t *testing.T) {
	g := NewWithT(t)
	script := written(t, "one.txt", "title Nothing\nsection §5.3\nstart 2026-01-09 17:00 UTC\n\n> jump\n")
	out, status := ended(t, "table", "test", "--scenarios", filepath.Dir(script))
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring("one.txt:5: \"jump\" is no step"))

	out, status = ended(t, "table", "test", "--scenarios", t.TempDir())
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring("there is no scenario script in"))

	_, status = ended(t, "table", "test", written(t, "mine.yaml", "initial: idle\n"))
	g.Expect(status).To(Equal(2))

	out, status = ended(t, "table", "test", edited(t, "when: [frozen]", "when: [forzen]"))
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(SatisfyAll(ContainSubstring("the table cannot be played:\n"), ContainSubstring(`did you mean "frozen"?`)))

	out, status = ended(t, "table", "test", "-o", "xml", "--scenarios", freezes(t))
	g.Expect(status).To(Equal(2))
	g.Expect(out).To(ContainSubstring("--output is \"xml\""))
}
