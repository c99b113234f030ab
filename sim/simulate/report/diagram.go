// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"noderotation.io/noderotation/sim/simulate"
)

// diagram is the state machine, laid out in layers: a state stands to the right of every earlier one that leads to it.
type diagram struct {
	Width, Height int
	Boxes         []box
	Arrows        []arrow
}

type box struct {
	Name, About string
	X, Y        int
}

// arrow is all rows from one state to another.
type arrow struct {
	Path string
	// Count of the rows' firings; Rows names them, with theirs.
	Count  int
	Rows   string
	X, Y   int
	Dashed bool
}

// Measures of the drawing.
const (
	boxWidth, boxHeight = 124, 46
	columnWidth         = 232
	rowHeight           = 118
	left, top           = 24, 132
	// shift is how far a state stands to the right of the one above it, so that arrows can leave both downwards.
	shift = 78
)

// draw lays the states out and draws an arrow for every pair of them with rows in between.
func draw(states []simulate.State, edges []simulate.Edge) diagram {
	layout := layers(states, edges)
	d := diagram{}
	at := map[string]box{}
	used := map[int]int{}
	for _, s := range states {
		layer := layout[s.Name]
		b := box{s.Name, s.About, left + layer*columnWidth + used[layer]*shift, top + used[layer]*rowHeight}
		used[layer]++
		at[s.Name] = b
		d.Boxes = append(d.Boxes, b)
		d.Width, d.Height = max(d.Width, b.X+boxWidth+left), max(d.Height, b.Y+boxHeight)
	}
	backward := 0
	for _, pair := range pairs(edges) {
		a := arrow{Count: pair.count, Rows: strings.Join(pair.rows, "\n")}
		from, to := at[pair.from], at[pair.to]
		switch {
		case pair.from == pair.to:
			a.loop(from)
		case layout[pair.to] > layout[pair.from]:
			a.forward(from, to, layout[pair.to]-layout[pair.from])
		default:
			backward++
			a.backward(from, to, backward, d.Height)
		}
		d.Arrows = append(d.Arrows, a)
	}
	d.Height += 40 + backward*26
	return d
}

// layers gives each state its column: one more than the furthest earlier state, in the order of the table, that leads to it.
func layers(states []simulate.State, edges []simulate.Edge) map[string]int {
	order, layer := map[string]int{}, map[string]int{}
	for i, s := range states {
		order[s.Name] = i
	}
	for _, s := range states {
		for _, e := range edges {
			if e.To == s.Name && order[e.From] < order[s.Name] {
				layer[s.Name] = max(layer[s.Name], layer[e.From]+1)
			}
		}
	}
	return layer
}

type pair struct {
	from, to string
	count    int
	rows     []string
}

// pairs are the rows by the states between which they lead, in the order of the table.
func pairs(edges []simulate.Edge) []*pair {
	var all []*pair
	index := map[[2]string]*pair{}
	for _, e := range edges {
		key := [2]string{e.From, e.To}
		p := index[key]
		if p == nil {
			p = &pair{from: e.From, to: e.To}
			index[key] = p
			all = append(all, p)
		}
		p.count += e.Count
		back := ""
		if e.Returns {
			back = ", lets the pool go"
		}
		p.rows = append(p.rows, fmt.Sprintf("%s %d×%s: %s", e.Row, e.Count, back, e.About))
	}
	return all
}

func (a *arrow) loop(b box) {
	x, y := b.X+boxWidth/2, b.Y
	a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x-22, y, x-46, y-58, x+46, y-58, x+22, y-3)
	a.X, a.Y = x, y-43
}

// forward goes from side to side; over boxes in between it bows.
func (a *arrow) forward(from, to box, span int) {
	x1, y1, x2, y2 := from.X+boxWidth, from.Y+boxHeight/2, to.X-3, to.Y+boxHeight/2
	if span > 1 && from.Y == to.Y {
		x1, y1, x2, y2 = from.X+boxWidth-18, from.Y, to.X+18, to.Y-3
		rise := 60 + 52*(span-1)
		a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, x1+70, y1-rise, x2-70, y2-rise, x2, y2)
		a.X, a.Y = (x1+x2)/2, y1-rise*3/4
		return
	}
	middle := (x1 + x2) / 2
	a.Path = fmt.Sprintf("M%d %dC%d %d %d %d %d %d", x1, y1, middle, y1, middle, y2, x2, y2)
	a.X, a.Y = middle, (y1+y2)/2
}

// backward goes around below everything, each at its own depth.
func (a *arrow) backward(from, to box, nth, bottom int) {
	depth := bottom + 4 + nth*26
	x1, y1 := from.X+30, from.Y+boxHeight
	x2, y2 := to.X+boxWidth/2+10+nth*14-24, to.Y+boxHeight+3
	a.Path = fmt.Sprintf("M%d %dL%d %dQ%d %d %d %dL%d %dQ%d %d %d %dL%d %d",
		x1, y1, x1, depth-14, x1, depth, x1-14, depth, x2+14, depth, x2, depth, x2, depth-14, x2, y2)
	a.X, a.Y = (x1+x2)/2, depth
}
