// SPDX-License-Identifier: Apache-2.0

package graph

import "slices"

// legendLine is the height of a line of the legend.
const legendLine = 22

// entry of the legend: a sample of a line, and what it says.
type entry struct {
	style style
	text  string
}

// legendRows are the entries for what the drawing has in it, in lines that fit.
func (p *painter) legendRows() [][]entry {
	var all []entry
	for _, e := range []entry{
		{styleOrdinary, Ordinary.String()},
		{styleFallback, Fallback.String()},
		{styleFailure, Failure.String()},
		{styleReturn, "and then back in " + p.graph.Initial},
	} {
		if p.uses(e.style) {
			all = append(all, e)
		}
	}
	var rows [][]entry
	x := 0
	for _, e := range all {
		if len(rows) == 0 || x+e.wide() > p.layout.width-2*margin {
			rows, x = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		x += e.wide()
	}
	return rows
}

// sampleWidth is the width of a line's sample, signWidth that of its sign.
const sampleWidth, signWidth = 44, 18

// words is where an entry's text begins, wide its whole width.
func (e entry) words() int {
	if e.style == styleFallback || e.style == styleFailure {
		return sampleWidth + signWidth
	}
	return sampleWidth
}

func (e entry) wide() int { return e.words() + int(float64(width(e.text))*proseChar) + 18 }

func (p *painter) uses(s style) bool {
	if slices.ContainsFunc(p.layout.tracks, func(t *track) bool { return t.style == s }) {
		return true
	}
	return slices.ContainsFunc(p.layout.cards, func(c *card) bool {
		return slices.ContainsFunc(c.rows, func(row cell) bool { return style(row.Kind) == s })
	})
}

// legend draws the entries, and how to read the rows.
func (p *painter) legend(rows [][]entry) {
	p.write(`<g class="legend">`)
	y := p.layout.legendAt
	for _, row := range rows {
		x := margin
		for _, e := range row {
			p.write(`<g class="edge %s"><path class="line" d="M%d %dh36"/>%s</g>`, e.style.class(), x, y-4, p.sign(e.style, x+47, y-4))
			p.write(`<text x="%d" y="%d">%s</text>`, x+e.words(), y, text(e.text))
			x += e.wide()
		}
		y += legendLine
	}
	p.write(`<text x="%d" y="%d">%s</text>`, margin, y, text("In each state the rows are tried from top to bottom; the first whose conditions all hold fires."))
	p.write("</g>")
}
