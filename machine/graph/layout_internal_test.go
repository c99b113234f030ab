// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// anyGraph draws graphs of up to seven states, in which anything may lead anywhere.
func anyGraph(t *rapid.T) Graph {
	name := rapid.StringMatching(`[a-z][a-z-]{0,24}`)
	states := rapid.IntRange(1, 7).Draw(t, "states")
	g := Graph{Title: "Any"}
	for i := range states {
		g.States = append(g.States, State{Name: fmt.Sprintf("%s-%d", name.Draw(t, "state"), i), About: "It is what it is."})
	}
	state := rapid.IntRange(0, states-1)
	g.Initial = g.States[state.Draw(t, "initial")].Name
	for i := range g.States {
		for range rapid.IntRange(0, 6).Draw(t, "rows") {
			g.States[i].Edges = append(g.States[i].Edges, Edge{
				Row: name.Draw(t, "row"), From: g.States[i].Name, To: g.States[state.Draw(t, "to")].Name,
				When: rapid.SliceOfN(name, 0, 12).Draw(t, "when"), Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
				Returns: rapid.Bool().Draw(t, "returns"), Note: Note{Text: rapid.SampledFrom([]string{"", "12345×"}).Draw(t, "note")},
			})
		}
	}
	return g
}

func TestNoWordStandsOnAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layoutOf(anyGraph(t))
		below := 0
		for _, c := range l.cards {
			if c.y < below+cardGap {
				t.Errorf("state %s begins at %d, and the one above ends at %d", c.Name, c.y, below)
			}
			y := c.y + c.head
			for _, row := range c.rows {
				if row.y != y {
					t.Errorf("row %s begins at %d, and what is above it ends at %d", row.Row, row.y, y)
				}
				y += row.height
				l.fits(t, row)
			}
			below = c.y + c.height
			if y != below {
				t.Errorf("state %s ends at %d, and its rows at %d", c.Name, below, y)
			}
		}
	})
}

// fits checks that a row's words have room beside each other.
func (l *layout) fits(t *rapid.T, row cell) {
	right := l.wide - cardPadding - row.aside()
	if end := indent + chars(row.Row); end > right {
		t.Errorf("the name of row %s ends at %d, and what is at its right begins at %d", row.Row, end, right)
	}
	begin, limit := indent, l.wide
	if row.beside {
		begin, limit = l.beside, right
	}
	for _, line := range row.lines {
		if end := begin + int(float64(width(line))*conditionChar); end > limit {
			t.Errorf("conditions %q of row %s end at %d, and have room up to %d", line, row.Row, end, limit)
		}
	}
	if row.beside && indent+chars(row.Row) > l.beside {
		t.Errorf("the conditions of row %s begin within its name", row.Row)
	}
}

func TestNoTwoLinesRunOnEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layoutOf(anyGraph(t))
		for i, a := range l.tracks {
			if inside := a.x > l.left && a.x < l.left+l.wide; inside || a.x < 0 || a.x > l.width {
				t.Errorf("a line runs at %d: the states are from %d to %d, and the picture %d wide", a.x, l.left, l.left+l.wide, l.width)
			}
			if c := l.cards[a.to]; a.entry < c.y+6 || a.entry > c.y+c.head-6 {
				t.Errorf("a line enters state %s at %d, out of its head", c.Name, a.entry)
			}
			for _, b := range l.tracks[:i] {
				if a.right != b.right {
					continue
				}
				if a.to == b.to && distance(a.entry, b.entry) < 9 {
					t.Errorf("two lines enter state %s at %d and %d", l.cards[a.to].Name, a.entry, b.entry)
				}
				if a.x == b.x && overlap(a, b) {
					t.Errorf("two lines run at %d, one on the other", a.x)
				}
			}
		}
	})
}

func overlap(a, b *track) bool {
	topA, bottomA := ends(a)
	topB, bottomB := ends(b)
	return topA <= bottomB && topB <= bottomA
}

// ends are between which heights a track's line runs.
func ends(t *track) (top, bottom int) {
	top, bottom = t.entry, t.entry
	for _, p := range t.ports {
		top, bottom = min(top, p.y), max(bottom, p.y)
	}
	return top, bottom
}

// Every row that leaves its state has its line, and every one that returns its second.
func TestEveryWayHasItsLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := anyGraph(t)
		l := layoutOf(g)
		for from, c := range l.cards {
			for _, row := range c.rows {
				want := lanesOf(g, from, row.Edge)
				have := 0
				for _, track := range l.tracks {
					for _, p := range track.ports {
						if p.y == row.port() {
							have++
						}
					}
				}
				if have != len(want) {
					t.Errorf("row %s has %d lines and should have %d", row.Row, have, len(want))
				}
			}
		}
	})
}
