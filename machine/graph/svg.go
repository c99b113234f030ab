// SPDX-License-Identifier: Apache-2.0

package graph

import (
	_ "embed" // the drawing's style
	"fmt"
	"html"
	"slices"
	"strings"
)

//go:embed svg.css
var css string

// SVG is the graph as a picture that needs no other file. It can be read in light and dark, by whichever the reader's
// system asks for, also as a part of an HTML page: all of its style is about what is within its own element.
func (g Graph) SVG() string {
	l := layoutOf(g)
	p := &painter{graph: g, layout: l}
	legend := p.legendRows()
	l.height = l.legendAt + len(legend)*legendLine + margin
	p.write(`<svg xmlns="http://www.w3.org/2000/svg" class="machine-graph" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`,
		l.width, l.height, l.width, l.height, text(g.Title))
	p.write("<title>%s</title>", text(g.Title))
	p.write("<style>%s</style>", css)
	p.write(`<rect class="ground" width="%d" height="%d" rx="12"/>`, l.width, l.height)
	p.tracks()
	for i, c := range l.cards {
		p.card(i, c)
	}
	p.legend(legend)
	p.write("</svg>")
	return p.out.String()
}

// painter writes the elements, one on a line.
type painter struct {
	graph  Graph
	layout *layout
	out    strings.Builder
}

func (p *painter) write(format string, args ...any) {
	fmt.Fprintf(&p.out, format+"\n", args...)
}

// text escapes what stands in the markup.
func text(s string) string { return html.EscapeString(s) }

// class is the style's name in the style sheet.
func (s style) class() string {
	switch s {
	case styleReturn:
		return "return"
	case styleFallback:
		return "fallback"
	case styleFailure:
		return "failure"
	default:
		return "ordinary"
	}
}

// bend is the radius of a line's corner.
const bend = 9

// tracks draws the lines, the longest below the others. Each has a seam of the ground's colour, which tells which of two
// crossing lines passes over the other.
func (p *painter) tracks() {
	tracks := slices.Clone(p.layout.tracks)
	slices.SortStableFunc(tracks, func(a, b *track) int { return b.level - a.level })
	for _, t := range tracks {
		faint := ""
		if !slices.ContainsFunc(t.ports, func(port port) bool { return !port.faint }) {
			faint = " faint"
		}
		p.write(`<g class="edge %s%s">`, t.style.class(), faint)
		paths := p.layout.paths(t)
		for _, d := range paths {
			p.write(`<path class="seam" d="%s"/>`, d)
		}
		for _, d := range paths {
			p.write(`<path class="line" d="%s"/>`, d)
		}
		p.write(`<path class="tip" d="%s"/>`, p.layout.tip(t))
		p.write("</g>")
	}
}

// paths are the line from the row furthest away to the state, and those by which other rows join it.
func (l *layout) paths(t *track) []string {
	side, out := l.left, -1
	if t.right {
		side, out = l.left+l.wide, 1
	}
	far := slices.MaxFunc(t.ports, func(a, b port) int { return distance(a.y, t.entry) - distance(b.y, t.entry) })
	along := 1
	if far.y > t.entry {
		along = -1
	}
	paths := []string{fmt.Sprintf("M%d %dH%dQ%d %d %d %dV%dQ%d %d %d %dH%d",
		side, far.y, t.x-out*bend, t.x, far.y, t.x, far.y+along*bend,
		t.entry-along*bend, t.x, t.entry, t.x-out*bend, t.entry, side+out*8)}
	for _, other := range t.ports {
		if other != far {
			paths = append(paths, fmt.Sprintf("M%d %dH%dQ%d %d %d %d", side, other.y, t.x-out*bend, t.x, other.y, t.x, other.y+along*bend))
		}
	}
	return paths
}

func distance(a, b int) int { return max(a-b, b-a) }

// tip is the arrow's head, at the state.
func (l *layout) tip(t *track) string {
	side, out := l.left, -1
	if t.right {
		side, out = l.left+l.wide, 1
	}
	return fmt.Sprintf("M%d %dl%d -5v10z", side+out, t.entry, out*9)
}

// card draws a state with its rows.
func (p *painter) card(i int, c *card) {
	l := p.layout
	if c.initial {
		x := l.left + 30
		p.write(`<g class="initial"><title>The machine begins here.</title><circle cx="%d" cy="%d" r="6"/><path d="M%d %dV%d"/><path class="tip" d="M%d %dl-5 -9h10z"/></g>`,
			x, c.y-25, x, c.y-19, c.y-8, x, c.y-1)
	}
	p.write(`<g class="state" id="state-%d">`, i+1)
	p.write(`<rect class="card" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, l.left, c.y, l.wide, c.height)
	p.write(`<path class="head" d="M%d %dv-%dq0 -10 10 -10h%dq10 0 10 10v%dz"/>`, l.left, c.y+c.head, c.head-10, l.wide-20, c.head-10)
	y := c.y + headPadding + 14
	p.write(`<text class="name" x="%d" y="%d">%s</text>`, l.left+cardPadding, y, text(c.Name))
	for _, line := range c.about {
		y += lineHeight
		p.write(`<text class="about" x="%d" y="%d">%s</text>`, l.left+cardPadding, y+3, text(line))
	}
	for n, row := range c.rows {
		p.row(n+1, row)
	}
	p.write(`<rect class="frame" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, l.left, c.y, l.wide, c.height)
	p.write("</g>")
}

// row draws one row within its state.
func (p *painter) row(n int, c cell) {
	l := p.layout
	class := "row " + style(c.Kind).class()
	if c.Note.Faint {
		class += " faint"
	}
	p.write(`<g class="%s"><title>%s</title>`, class, text(c.Row+": "+c.About))
	p.write(`<path class="rule" d="M%d %dH%d"/>`, l.left, c.y, l.left+l.wide)
	y := c.port() + 4
	p.write(`<text class="order" x="%d" y="%d">%d</text>`, l.left+cardPadding+8, y, n)
	if sign := p.sign(style(c.Kind), l.left+indent-13, c.port()); sign != "" {
		p.write("%s", sign)
	}
	p.write(`<text class="id" x="%d" y="%d">%s</text>`, l.left+indent, y, text(c.Row))
	p.target(c, y)
	p.conditions(c, y)
	p.write("</g>")
}

// conditions writes a row's conditions where the layout has them.
func (p *painter) conditions(c cell, y int) {
	class, x := "when", p.layout.left+indent
	if len(c.When) == 0 {
		class = otherwise
	}
	if c.beside {
		x, y = p.layout.left+p.layout.beside, y-lineHeight-below
	}
	for i, line := range c.lines {
		p.write(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y+below+lineHeight*(i+1), text(line))
	}
}

// target writes at the row's right where it leads, and its note.
func (p *painter) target(c cell, y int) {
	right := p.layout.left + p.layout.wide - cardPadding
	to := c.target()
	p.write(`<text class="to" x="%d" y="%d">%s</text>`, right, y, text(to))
	x := right - chars(to)
	if c.Loops() {
		x -= loopWidth
		p.write(`<path class="loop" d="M%d %da5 5 0 1 1 -5 -5"/><path class="tip" d="M%d %dl-6 -4v8z"/>`, x+13, y-4, x+13, y-9)
	}
	if c.Note.Text != "" {
		wide := chars(c.Note.Text) + 14
		x -= wide + 10
		p.write(`<g class="note"><rect x="%d" y="%d" width="%d" height="18" rx="9"/><text x="%d" y="%d">%s</text></g>`,
			x, y-13, wide, x+wide/2, y, text(c.Note.Text))
	}
}

// sign is the sign of a kind, around a point; empty for the ordinary one.
func (p *painter) sign(s style, x, y int) string {
	switch s {
	case styleFallback:
		return fmt.Sprintf(`<path class="sign" d="M%d %dl6 11h-12z"/>`, x, y-6)
	case styleFailure:
		return fmt.Sprintf(`<path class="sign" d="M%d %dl9 9m0 -9l-9 9"/>`, x-5, y-5)
	default:
		return ""
	}
}
