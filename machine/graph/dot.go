// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"
)

// DOT is the graph for Graphviz, one line for each row. Colours are the current ones of whatever shows it.
func (g Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", quoted(g.Title))
	b.WriteString("    rankdir=TB\n    nodesep=0.6\n    ranksep=0.9\n")
	b.WriteString("    node [shape=box, style=rounded, fontname=\"sans-serif\"]\n    edge [fontname=\"sans-serif\", fontsize=10]\n")
	if g.index(g.Initial) >= 0 {
		fmt.Fprintf(&b, "    \"\" [shape=point, width=0.15]\n    \"\" -> %s\n", quoted(g.Initial))
	}
	for _, s := range g.States {
		fmt.Fprintf(&b, "    %s [tooltip=%s]\n", quoted(s.Name), quoted(s.About))
	}
	for _, s := range g.States {
		for _, e := range s.Edges {
			fmt.Fprintf(&b, "    %s -> %s [%s, label=%s, tooltip=%s]\n", quoted(e.From), quoted(e.To), e.Kind.dot(), leftAligned(g.label(e)), quoted(e.About))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// dot is the kind as attributes of an edge.
func (k Kind) dot() string {
	switch k {
	case Fallback:
		return "style=dashed, arrowhead=empty, color=darkorange3"
	case Failure:
		return "style=dotted, penwidth=1.6, arrowhead=open, color=firebrick3"
	default:
		return "style=solid"
	}
}

// quoted writes a text as a string of DOT.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// leftAligned writes lines as a label with all of them at its left.
func leftAligned(lines []string) string {
	return strings.ReplaceAll(quoted(strings.Join(lines, "\n")+"\n"), `\n`, `\l`)
}
