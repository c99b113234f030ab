// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
)

func TestTableExploreTellsWhatItHasTried(t *testing.T) {
	out, err := run(t, "table", "explore", "--states", "500")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(SatisfyAll(ContainSubstring(" states in "), ContainSubstring("rows fired"), ContainSubstring("pending-wait"), ContainSubstring("killed after a write")))
}

// A mistake that every law lets pass is told with the way to it.
func TestTableExploreTellsABreachWithThePathToIt(t *testing.T) {
	table := strings.Replace(string(noderotation.Transitions), "do: [anchor, mark_pending, freeze, cordon, placeholder", "do: [anchor, mark_pending, freeze, placeholder", 1)
	_, err := run(t, "table", "explore", written(t, "mine.yaml", table), "--states", "500")
	NewWithT(t).Expect(err).To(MatchError(SatisfyAll(ContainSubstring("is not protected and cordoned"), ContainSubstring("1. the controller passes over api"))))
}

func TestTableExploreRefusesBadFlags(t *testing.T) {
	_, err := run(t, "table", "explore", "--states", "0")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("--states is 0")))
}
