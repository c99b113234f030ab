// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// pageWidth is how wide a line is, at most, in characters.
const pageWidth = 110

// page is text with what belongs together indented below its head.
type page struct{ strings.Builder }

func (p *page) head(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

// field writes a name and its words, in lines that begin below each other; nothing where there are no words.
func (p *page) field(indent int, name string, words []string) {
	const names = 9
	if len(words) == 0 {
		return
	}
	lead := strings.Repeat(" ", indent) + fmt.Sprintf("%-*s", names, name)
	line := lead
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		if len([]rune(line))+len([]rune(word))+1 > pageWidth && strings.TrimSpace(line) != "" {
			p.head("%s", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent+names)
		}
		line += word + " "
	}
	p.head("%s", strings.TrimRight(line, " "))
}

// text is the view for a terminal or a file: no colour, and nothing wider than a page.
func (v tableView) text() string {
	p := &page{}
	p.head("The table %s begins in %s. In each state the rows are tried from top to bottom; the first whose guards all hold fires.", v.Table, v.Initial)
	for _, s := range v.States {
		p.head("\n%s: %s", strings.ToUpper(s.Name), s.About)
		for i, r := range s.Rows {
			p.row(i+1, s.Name, v.Initial, r)
		}
	}
	if len(v.Guards) > 0 {
		p.head("\nGUARDS")
	}
	for _, g := range v.Guards {
		p.head("\n  %s (%s): %s", g.Name, g.Section, g.About)
		p.field(4, "reads", g.Reads)
		p.field(4, "implies", g.Implies)
		p.field(4, "asked by", rowsOrNone(g.Rows))
	}
	if len(v.Effects) > 0 {
		p.head("\nEFFECTS")
	}
	for _, e := range v.Effects {
		p.head("\n  %s (%s): %s", e.Name, e.Section, e.About)
		p.field(4, "reads", e.Reads)
		p.field(4, "needs", e.Needs)
		p.field(4, "writes", orNothing(e.Writes))
		p.field(4, "done by", rowsOrNone(e.Rows))
	}
	if v.Broken > 0 {
		p.head("\nThis table would be refused: `noderotation table lint` tells of %s.", counted(v.Broken, "problem"))
	}
	return p.String()
}

// row writes where a row leads, and what it asks and does.
func (p *page) row(n int, state, initial string, r shownRow) {
	leads := "→ " + r.To
	if r.To == state {
		leads = "stays"
	}
	if r.Returns && r.To != initial {
		leads += ", then " + initial
	}
	p.head("\n  %d. %s %s (%s; sleeps at most %s)", n, r.ID, leads, r.Event, r.Requeue)
	p.head("     %s", r.About)
	p.field(5, "when", otherwiseIfNone(r.When))
	p.field(5, "do", orNothing(r.Do))
}

func otherwiseIfNone(conditions []string) []string {
	if len(conditions) == 0 {
		return []string{"otherwise"}
	}
	return conditions
}

func orNothing(words []string) []string {
	if len(words) == 0 {
		return []string{"nothing"}
	}
	return words
}

func rowsOrNone(rows []string) []string {
	if len(rows) == 0 {
		return []string{"no row of this table"}
	}
	return rows
}
