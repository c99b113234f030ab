// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
)

func TestTableExploreTellsWhatItHasTried(t *testing.T) {
	out, err := run(t, "table", "explore", "--states", "500")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(SatisfyAll(ContainSubstring(" states found in "), ContainSubstring("rows fired"), ContainSubstring("pending-wait"), ContainSubstring("killed after a write")))
}

// What was found until then is told, and is no answer.
func TestTableExploreThatIsStoppedHasNotDoneWhatWasAsked(t *testing.T) {
	g := NewWithT(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	out, err := runUntil(stopped, "table", "explore", "--states", "100000000")
	g.Expect(err).To(MatchError(SatisfyAll(ContainSubstring("stopped before it was done"), ContainSubstring("context canceled"))))
	g.Expect(exit(io.Discard, product, err)).To(Equal(1))
	g.Expect(out).To(ContainSubstring(" states found in "))
}

// A mistake that every law lets pass is told with the way to it.
func TestTableExploreTellsABreachWithThePathToIt(t *testing.T) {
	table := strings.Replace(string(noderotation.Transitions), "do: [anchor, mark_pending, freeze, cordon, placeholder", "do: [anchor, mark_pending, freeze, placeholder", 1)
	mine := written(t, "mine.yaml", table)
	out, err := run(t, "table", "explore", mine, "--states", "500")
	g := NewWithT(t)
	g.Expect(err).To(MatchError(ContainSubstring("is not protected and cordoned")))
	_, script, printed := strings.Cut(out, "a script that replays the breach\n\n")
	g.Expect(printed).To(BeTrue())
	g.Expect(script).To(ContainSubstring("\n> the controller passes over api\n"))

	breach := written(t, "breach.txt", script)
	out, err = run(t, "table", "explore", mine, "--replay", breach)
	g.Expect(err).To(MatchError(HaveSuffix("breach.txt: an invariant breaks on this way")))
	g.Expect(out).To(SatisfyAll(ContainSubstring("fires start\n"), ContainSubstring("BREACH: "), ContainSubstring("is not protected and cordoned")))

	out, err = run(t, "table", "explore", "--replay", breach)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("steps back to a clean cluster"))
}

func TestTableExploreRefusesBadFlags(t *testing.T) {
	_, err := run(t, "table", "explore", "--replay", "nowhere.txt")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--replay: the script cannot be read")))
	_, err = run(t, "table", "explore", "--states", "0")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--states is 0")))
}
