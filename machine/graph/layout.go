// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"
	"strings"
)

// Measures of the drawing, in pixels.
const (
	margin      = 24
	cardGap     = 34
	cardPadding = 14
	// A character of the row's name, of its conditions, and, at most, of a sentence.
	nameChar, conditionChar, proseChar = 7.9, 7.25, 6.7
	lineHeight                         = 17
	rowHeight                          = 32
	// below is the gap between a row's name and conditions below it.
	below = 3
	// indent is before a row's name, with room for its sign; loopWidth is what a loop takes.
	indent, loopWidth = 50, 22
	headPadding       = 15
	nameHeight        = 22
	// entryGap is between two arrows that enter a state on one side.
	entryGap = 15
	// trackGap is between two lines beside the states, and between the first and the states.
	trackGap  = 20
	trackLead = 30
	// narrowest is how wide a state is if its rows' names need no more.
	narrowest = 624
)

// layout is where everything stands. States stand one below the other, each with its rows. What leads on to a later
// state runs down on the right of them, what leads back to an earlier one runs up on the left; so no line crosses a word,
// whatever the table.
type layout struct {
	width, height int
	// left is the states' left side, wide how wide they are; beside is where, within them, conditions begin that stand
	// beside a row's name.
	left, wide, beside int
	cards              []*card
	tracks             []*track
	legendAt           int
}

// card is a state and its rows.
type card struct {
	State
	initial         bool
	y, head, height int
	about           []string
	rows            []cell
}

// cell is a row within its state.
type cell struct {
	Edge
	// then is the state that the row leads on to; empty for none.
	then      string
	y, height int
	// lines are its conditions: below its name, or beside it where there is room for all of them.
	lines  []string
	beside bool
}

// port is the height at which a line leaves the row.
func (c cell) port() int { return c.y + rowHeight/2 }

// target is what the row says of where it leads.
func (c cell) target() string {
	switch {
	case !c.Loops() && c.then != "":
		return "→ " + c.To + ", then " + c.then
	case !c.Loops():
		return "→ " + c.To
	case c.then != "":
		return "then " + c.then
	default:
		return "stays"
	}
}

// aside is the width of all that stands at the row's right.
func (c cell) aside() int {
	wide := chars(c.target())
	if c.Loops() {
		wide += loopWidth
	}
	if c.Note.Text != "" {
		wide += chars(c.Note.Text) + 28
	}
	return wide
}

// chars is how wide a text is in the size of a row's name.
func chars(text string) int { return int(float64(width(text)) * nameChar) }

// track is one line beside the states, shared by all rows of one style that lead to one state on that side.
type track struct {
	right bool
	to    int
	style style
	ports []port
	// level counts from the states outwards; x and entry are where the line runs, and where it enters.
	level, x, entry int
}

// port is where a row joins a track.
type port struct {
	y     int
	faint bool
}

// style is how a line is drawn: as its row's kind, or as what follows a row that returns.
type style int

const (
	styleReturn style = iota - 1
	styleOrdinary
	styleFallback
	styleFailure
)

func layoutOf(g Graph) *layout {
	l := &layout{}
	l.columns(g)
	l.stack(g)
	l.route(g)
	l.place()
	return l
}

// cellsOf are the rows of a state, not yet in their place.
func cellsOf(g Graph, s State) []cell {
	cells := make([]cell, len(s.Edges))
	for i, e := range s.Edges {
		cells[i] = cell{Edge: e, then: g.returnsTo(e)}
	}
	return cells
}

// columns sets where conditions begin that stand beside a name, and how wide the states must be for the names and for
// what stands at the rows' right.
func (l *layout) columns(g Graph) {
	l.wide = narrowest
	for _, s := range g.States {
		l.wide = max(l.wide, int(float64(width(s.Name))*10.5)+180)
		for _, c := range cellsOf(g, s) {
			l.beside = max(l.beside, indent+chars(c.Row)+24)
			l.wide = max(l.wide, indent+chars(c.Row)+c.aside()+40)
		}
	}
}

// stack gives every state and row its height and its place, from top to bottom.
func (l *layout) stack(g Graph) {
	y := margin + cardGap
	entries := entriesOf(g)
	for i, s := range g.States {
		c := &card{State: s, initial: s.Name == g.Initial, y: y, rows: cellsOf(g, s)}
		c.about = balanced(strings.Fields(s.About), int(float64(l.wide-2*cardPadding)/proseChar))
		c.head = max(2*headPadding+nameHeight+lineHeight*len(c.about)-8, (entries[i]+1)*entryGap)
		y += c.head
		for n := range c.rows {
			row := &c.rows[n]
			row.y = y
			l.conditions(row)
			y += row.height
		}
		c.height = y - c.y
		l.cards = append(l.cards, c)
		y += cardGap
	}
	l.legendAt = y - cardGap + 34
}

// conditions puts a row's conditions beside its name, or below it if they are too long for that.
func (l *layout) conditions(row *cell) {
	row.height = rowHeight
	room := int(float64(l.wide-l.beside-row.aside()-2*cardPadding) / conditionChar)
	row.lines = row.conditions(room)
	row.beside = len(row.lines) == 1 && width(row.lines[0]) <= room
	if !row.beside {
		row.lines = row.conditions(int(float64(l.wide-indent-2*cardPadding) / conditionChar))
		row.height += below + lineHeight*len(row.lines) - 2
	}
}

// entriesOf is how many arrows enter each state, on the side where there are more.
func entriesOf(g Graph) []int {
	most := make([]int, len(g.States))
	sides := map[lane]bool{}
	count := map[[2]int]int{}
	for from, s := range g.States {
		for _, e := range s.Edges {
			for _, lane := range lanesOf(g, from, e) {
				if sides[lane] {
					continue
				}
				sides[lane] = true
				side := 0
				if lane.right {
					side = 1
				}
				count[[2]int{lane.to, side}]++
				most[lane.to] = max(most[lane.to], count[[2]int{lane.to, side}])
			}
		}
	}
	return most
}

// lane says which track an edge takes.
type lane struct {
	right bool
	to    int
	style style
}

// lanesOf are the tracks that an edge takes: one to another state, and one to where it returns.
func lanesOf(g Graph, from int, e Edge) []lane {
	var all []lane
	if to := g.index(e.To); to != from {
		all = append(all, lane{to > from, to, style(e.Kind)})
	}
	if back := g.index(g.returnsTo(e)); back >= 0 && back != from {
		all = append(all, lane{back > from, back, styleReturn})
	}
	return all
}

// route joins the rows to tracks.
func (l *layout) route(g Graph) {
	index := map[lane]*track{}
	for from, c := range l.cards {
		for _, row := range c.rows {
			for _, lane := range lanesOf(g, from, row.Edge) {
				t := index[lane]
				if t == nil {
					t = &track{right: lane.right, to: lane.to, style: lane.style}
					index[lane] = t
					l.tracks = append(l.tracks, t)
				}
				t.ports = append(t.ports, port{row.port(), row.Note.Faint})
			}
		}
	}
}

// place gives each track its level, its place beside the states, and the height at which it enters its state.
func (l *layout) place() {
	levels := [2]int{}
	for side, right := range []bool{false, true} {
		levels[side] = l.level(right)
	}
	l.left = margin + levels[0]*trackGap + trackLead
	if levels[0] == 0 {
		l.left = margin
	}
	l.width = l.left + l.wide + margin
	if levels[1] > 0 {
		l.width += trackLead + levels[1]*trackGap
	}
	for _, t := range l.tracks {
		t.x = l.left - trackLead - t.level*trackGap
		if t.right {
			t.x = l.left + l.wide + trackLead + t.level*trackGap
		}
	}
	for i, c := range l.cards {
		for _, right := range []bool{false, true} {
			enter(l.entering(i, right), c)
		}
	}
}

// level sets the tracks of one side beside each other, short ones closest to the states, and returns how many levels
// there are. Two whose lines would touch have different levels.
func (l *layout) level(right bool) int {
	var tracks []*track
	for _, t := range l.tracks {
		if t.right == right {
			tracks = append(tracks, t)
		}
	}
	slices.SortStableFunc(tracks, func(a, b *track) int {
		fromA, toA := l.span(a)
		fromB, toB := l.span(b)
		return cmp.Compare(toA-fromA, toB-fromB)
	})
	levels := 0
	for i, t := range tracks {
		for taken := true; taken; {
			taken = slices.ContainsFunc(tracks[:i], func(other *track) bool { return other.level == t.level && l.touch(t, other) })
			if taken {
				t.level++
			}
		}
		levels = max(levels, t.level+1)
	}
	return levels
}

// span is from where to where a track runs.
func (l *layout) span(t *track) (top, bottom int) {
	top, bottom = l.cards[t.to].y, l.cards[t.to].y+l.cards[t.to].head
	if t.right {
		bottom = top // it comes from above, and may end at the top
	}
	for _, p := range t.ports {
		top, bottom = min(top, p.y), max(bottom, p.y)
	}
	return top, bottom
}

func (l *layout) touch(a, b *track) bool {
	fromA, toA := l.span(a)
	fromB, toB := l.span(b)
	return fromA <= toB+l.cards[b.to].head && fromB <= toA+l.cards[a.to].head
}

// entering are the tracks that enter a state on one side, in the order of their entries from top to bottom: those from
// above with the innermost first, those from below with the innermost last, so that they do not cross.
func (l *layout) entering(to int, right bool) []*track {
	var all []*track
	for _, t := range l.tracks {
		if t.to == to && t.right == right {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b *track) int {
		if right {
			return cmp.Compare(a.level, b.level)
		}
		return cmp.Compare(b.level, a.level)
	})
	return all
}

// enter spreads the entries over the state's head.
func enter(tracks []*track, c *card) {
	for i, t := range tracks {
		t.entry = c.y + c.head*(i+1)/(len(tracks)+1)
	}
}
