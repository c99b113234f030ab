// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
)

// edited is a file with the built-in table in which pieces of text are replaced by others.
func edited(t *testing.T, pairs ...string) string {
	t.Helper()
	table := string(noderotation.Transitions)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(table, pairs[i]) {
			t.Fatalf("the built-in table has no %q", pairs[i])
		}
		table = strings.Replace(table, pairs[i], pairs[i+1], 1)
	}
	return written(t, "mine.yaml", table)
}

func TestTableLintIsContentWithTheBuiltInTable(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "lint")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(MatchRegexp(`^The table builtin obeys all \d+ laws: 5 states, \d+ rows\.\n$`))
}

// Everything that is wrong is told at once, each with line, row, law and what to do, and then why the law is there.
func TestTableLintTellsAllThatIsWrong(t *testing.T) {
	g := NewWithT(t)
	file := edited(t, "surge_ready, surge_settled", "surge_settled", "record_failure, clear_anchor]\n  requeue: 1m", "record_failure]\n  requeue: 2m")
	out, err := run(t, "table", "lint", file)
	g.Expect(err).To(MatchError(MatchRegexp(`^the table \S+mine\.yaml breaks \d+ laws: \d+ problems$`)))
	g.Expect(out).To(MatchRegexp(`(?m)^\S+mine\.yaml:\d+: row drain breaks law surge-first: it can begin a drain from pending without a replacement; add surge_ready$`))
	g.Expect(out).To(MatchRegexp(`(?m)^\S+mine\.yaml:\d+: row pending-timed-out breaks law requeue: its requeue 2m0s is longer than 1m0s; shorten it$`))
	g.Expect(out).To(MatchRegexp(`(?m)^\S+mine\.yaml:\d+: row pending-timed-out breaks law clear-last: `))
	g.Expect(out).To(ContainSubstring("warning: " + file + ": no row asks guard surge_ready; is that meant?\n"))
	g.Expect(out).To(ContainSubstring("\nWhy:\n"))
	g.Expect(out).To(ContainSubstring("  surge-first: A node is drained only once its replacement stands, except by the forceful fallback.\n"))
	g.Expect(out).NotTo(ContainSubstring("obeys"))
}

func TestTableLintTellsWhereATableCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	file := edited(t, "event: surge_ready", "evnet: surge_ready")
	out, err := run(t, "table", "lint", file)
	g.Expect(err).To(MatchError("the table " + file + " cannot be read: 2 problems"))
	g.Expect(out).To(MatchRegexp(`mine\.yaml:\d+: row drain: unknown key "evnet"; the keys of a row are`))

	_, err = run(t, "table", "lint", "no-such-file.yaml")
	g.Expect(err).To(MatchError(ContainSubstring(`there is no file no-such-file.yaml`)))
}

// unreadable is a file with a row that is no YAML, a duration that is none, and a guard and an effect that nobody has.
func unreadable(t *testing.T) string {
	t.Helper()
	return edited(t,
		"do: [anchor, mark_pending, freeze, cordon, placeholder, announce_started]\n  requeue: 30s", "do: [anchor, mark_pending, freeze, cordon, placeholder, announce_started]\n  requeue: 30",
		"when: [claim_gone]", "when: [claim_gone",
		"in_window, not frozen, cooldown_elapsed, failure_pause_elapsed,\n         backoff_elapsed", "in_window, not frozn, cooldown_elapsed, failure_pause_elapsed,\n         backoff_elapsed",
		"mark_released, record_failure", "mark_releasd, record_failure")
}

// What cannot be read hides no name that is wrong elsewhere, and nothing is told that only follows from it.
func TestTableLintTellsTheNamesOfATableThatCannotBeReadToo(t *testing.T) {
	g := NewWithT(t)
	file := unreadable(t)
	out, err := run(t, "table", "lint", file)
	g.Expect(err).To(MatchError("the table " + file + " cannot be read: 4 problems"))
	g.Expect(out).To(MatchRegexp(`^\S+:\d+: row start: requeue is the number 30; write a duration with its unit, such as 30s or 1m\n` +
		`\S+:\d+: this is not YAML: [^\n]*\n` +
		`\S+:\d+: row retry breaks law known-names: when names no guard "frozn"; did you mean "frozen"\?\n` +
		`\S+:\d+: row failed-release breaks law known-names: do names no effect "mark_releasd"; did you mean "mark_released"\?\n` +
		`\nWhy:\n  known-names: [^\n]*\n` +
		`\nThe laws beside known-names are looked at once the table can be read\.\n$`))

	out, err = run(t, "table", "lint", file, "-o", "json")
	g.Expect(err).To(HaveOccurred())
	var found lint
	g.Expect(json.Unmarshal([]byte(out), &found)).To(Succeed())
	g.Expect(found.Obeys).To(BeFalse())
	g.Expect(found.Laws).To(BeZero())
	g.Expect(found.Problems).To(HaveLen(4))
	g.Expect(found.Problems[1].Law).To(BeEmpty())
	g.Expect(found.Problems[2].Row).To(Equal("retry"))
	g.Expect(found.Problems[2].Law).To(Equal("known-names"))
	g.Expect(found.Problems[2].Reason).NotTo(BeEmpty())
	for i := range found.Problems[1:] {
		g.Expect(found.Problems[i+1].Line).To(BeNumerically(">", found.Problems[i].Line))
	}
}

// A controller refuses to start with such a table, and tells the same.
func TestAControllerTellsAllThatIsWrongWithATableThatCannotBeRead(t *testing.T) {
	g := NewWithT(t)
	file := unreadable(t)
	out, _ := run(t, "table", "lint", file)
	told, _, _ := strings.Cut(out, "\n\nWhy:\n")
	_, err := run(t, "controller", "--transitions", file)
	g.Expect(err).To(MatchError("the transition table is refused:\n" + told))
}

func TestTableLintIsForProgramsToo(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "lint", edited(t, "surge_ready, surge_settled", "surge_settled"), "-o", "json")
	g.Expect(err).To(HaveOccurred())
	var found lint
	g.Expect(json.Unmarshal([]byte(out), &found)).To(Succeed())
	g.Expect(found.Obeys).To(BeFalse())
	g.Expect(found.Problems).To(HaveLen(1))
	g.Expect(found.Problems[0].Row).To(Equal("drain"))
	g.Expect(found.Problems[0].Law).To(Equal("surge-first"))
	g.Expect(found.Problems[0].Line).To(BeNumerically(">", 100))
	g.Expect(found.Problems[0].Reason).NotTo(BeEmpty())
	g.Expect(found.Warnings).To(HaveLen(1))

	out, err = run(t, "table", "lint", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("\"obeys\": true"))
	g.Expect(out).To(ContainSubstring("\"problems\": []"))

	_, err = run(t, "table", "lint", "-o", "xml")
	g.Expect(err).To(MatchError(`--output is "xml"; set it to text or json`))
}
