// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"
)

// labelWidth is how many characters of conditions stand on one line of a label.
const labelWidth = 24

// Mermaid is the graph as a Mermaid state diagram, one line for each row. Mermaid gives all lines one style, so kinds
// are told apart by their signs. It draws one of several loops at a state only, so rows
// that stay stand within their state, as internal transitions do.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	for i, s := range g.States {
		fmt.Fprintf(&b, "    state \"%s\" as %s\n", s.Name, mermaidID(i))
	}
	if initial := g.index(g.Initial); initial >= 0 {
		fmt.Fprintf(&b, "    [*] --> %s\n", mermaidID(initial))
	}
	for i, s := range g.States {
		for _, e := range s.Edges {
			if e.Loops() {
				fmt.Fprintf(&b, "    %s: ↺ %s\n", mermaidID(i), mermaidText(g.label(e)))
				continue
			}
			fmt.Fprintf(&b, "    %s --> %s: %s\n", mermaidID(i), mermaidID(g.index(e.To)), mermaidText(g.label(e)))
		}
	}
	return b.String()
}

// mermaidID is no word of Mermaid's own, as a state's name could be.
func mermaidID(i int) string { return fmt.Sprintf("s%d", i+1) }

// label is what is written at an edge, line by line.
func (g Graph) label(e Edge) []string {
	lines := append([]string{e.title()}, bracketed(e.conditions(labelWidth))...)
	if back := g.returnsTo(e); back != "" {
		lines = append(lines, "then "+back)
	}
	return lines
}

// bracketed puts conditions in brackets, as guards are written in state diagrams.
func bracketed(lines []string) []string {
	lines[0] = "[" + lines[0]
	lines[len(lines)-1] += "]"
	return lines
}

func mermaidText(lines []string) string {
	return strings.NewReplacer(";", "#59;", ":", "#58;", "#", "#35;", "<", "#lt;", ">", "#gt;", "\n", "<br/>").Replace(strings.Join(lines, "\n"))
}
