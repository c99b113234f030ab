// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
)

func TestTableShowHasEveryRowGuardAndEffect(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "show")
	g.Expect(err).NotTo(HaveOccurred())
	for _, guard := range guards.All() {
		g.Expect(out).To(ContainSubstring("\n  " + guard.Name + " (" + guard.Section + "): " + guard.About + "\n"))
	}
	for _, effect := range effects.All() {
		g.Expect(out).To(ContainSubstring("\n  " + effect.Name + " (" + effect.Section + "): " + effect.About + "\n"))
	}
	g.Expect(out).To(ContainSubstring("\nPENDING: The old node is protected and cordoned"))
	g.Expect(out).To(MatchRegexp(`(?m)^  6\. drain → draining \(surge_ready; sleeps at most 30s\)$`))
	g.Expect(out).To(MatchRegexp(`(?m)^  4\. pending-timed-out → failed, then idle \(ready_timeout; sleeps at most 1m\)$`))
	g.Expect(out).To(MatchRegexp(`(?m)^     when     otherwise$`))
	for line := range strings.Lines(out) {
		g.Expect(len([]rune(line))).To(BeNumerically("<", 160), line)
	}
}

func TestTableShowCanShowOneThing(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "show", "--only", "claim_gone")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(HaveSuffix(`GUARDS

  claim_gone (§5.2 completion): The anchored NodeClaim no longer exists.
    reads    NodePool active-rotation, NodeClaims of the pool
    implies  not deletion_timestamp, not ready_timeout_elapsed, not drain_overdue, not surge_ready
    asked by pending-claim-gone, drained
`))

	out, err = run(t, "table", "show", "--only", "drain")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("PENDING"))
	g.Expect(out).NotTo(Or(ContainSubstring("pending-wait"), ContainSubstring("GUARDS")))

	_, err = run(t, "table", "show", "--only", "drian")
	g.Expect(err).To(MatchError(ContainSubstring(`--only is "drian", and no state, row, guard or effect is called that`)))
}

func TestTableShowIsForProgramsToo(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "show", "-o", "json")
	g.Expect(err).NotTo(HaveOccurred())
	var view tableView
	g.Expect(json.Unmarshal([]byte(out), &view)).To(Succeed())
	g.Expect(view.Initial).To(Equal("idle"))
	g.Expect(view.States).To(HaveLen(5))
	g.Expect(view.Guards).To(HaveLen(len(guards.All())))
	g.Expect(view.Effects).To(HaveLen(len(effects.All())))
	g.Expect(out).NotTo(ContainSubstring("null"))
}

// Who mends a table wants to read it too.
func TestTableShowShowsATableThatBreaksALaw(t *testing.T) {
	g := NewWithT(t)
	out, err := run(t, "table", "show", edited(t, "surge_ready, surge_settled", "surge_settled, patience"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("     when     surge_settled, patience\n"))
	g.Expect(out).To(HaveSuffix("This table would be refused: `noderotation table lint` tells of 2 problems.\n"))
}

func TestTableGraphDrawsATable(t *testing.T) {
	g := NewWithT(t)
	for form, begin := range map[string]string{"mermaid": "stateDiagram-v2\n", "dot": "digraph ", "svg": "<svg "} {
		out, err := run(t, "table", "graph", "-o", form)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(HavePrefix(begin))
		for _, row := range []string{"start-fallback", "pending-timed-out", "expired-release"} {
			g.Expect(out).To(ContainSubstring(row))
		}
	}
	out, err := run(t, "table", "graph")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("✕ pending-timed-out<br/>[ready_timeout_elapsed]<br/>then idle\n"))
	g.Expect(out).To(ContainSubstring("▲ start-fallback<br/>"))

	_, err = run(t, "table", "graph", "-o", "png")
	g.Expect(err).To(MatchError(`--output is "png"; set it to mermaid, dot or svg`))
}
