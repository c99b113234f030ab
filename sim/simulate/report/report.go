// SPDX-License-Identifier: Apache-2.0

// Package report draws a run of the simulation as one HTML page: style, script and data are in it, and it loads nothing.
//
// What must never enter: what a run comes to. It shows a Result.
package report

import (
	_ "embed" // the parts of the page
	"fmt"
	"html/template"
	"io"
	"time"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/simulate"
)

// The parts of the page.
var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"day":   func(t time.Time) string { return t.Format("Mon 2 Jan 2006") },
	"spell": rotation.Spell,
	"rough": simulate.Rough,
}).Parse(pageText))

// traces is how many rotations the page has the trace of: what disturbed ones did goes before, and a page of some
// megabytes still opens on a phone.
const traces = 1500

// content is what the template shows.
type content struct {
	*simulate.Result
	Style  template.CSS
	Script template.JS
	// Diagram is the SVG of Result.Diagram.
	Diagram template.HTML
	Tiles   []tile
	Span    time.Duration
	// Data is the part of the result that the script draws.
	Data data
}

// data is handed to the script as JSON.
type data struct {
	Start     time.Time           `json:"start"`
	End       time.Time           `json:"end"`
	Pools     []simulate.Pool     `json:"pools"`
	Lives     []*simulate.Life    `json:"lives"`
	Rotations []simulate.Rotation `json:"rotations"`
}

// tile is one figure of the summary.
type tile struct {
	Figure, Label string
	// Tone is good, warn or bad; empty for none.
	Tone string
}

// Write writes the page.
func Write(w io.Writer, r *simulate.Result) error {
	c := content{
		Result:  r,
		Style:   template.CSS(style),
		Script:  template.JS(script),
		Diagram: template.HTML(r.Diagram.SVG()), Tiles: tiles(r.Verdict), Span: r.End.Sub(r.Start),
		Data: data{r.Start, r.End, r.Pools, r.Lives, thinned(r.Rotations)},
	}
	if err := page.Execute(w, c); err != nil {
		return fmt.Errorf("the page cannot be written: %w", err)
	}
	return nil
}

// thinned leaves traces out where there are too many, those of undisturbed rotations first.
func thinned(rotations []*simulate.Rotation) []simulate.Rotation {
	out := make([]simulate.Rotation, len(rotations))
	left := traces
	for i, r := range rotations {
		out[i] = *r
		if disturbed(r) && left > 0 {
			left--
		}
	}
	for i, r := range rotations {
		switch {
		case disturbed(r):
		case left > 0:
			left--
		default:
			out[i].Trace = nil
		}
	}
	return out
}

func disturbed(r *simulate.Rotation) bool {
	return r.Outcome != simulate.Completed || r.Fallback || r.Attempt > 1
}

func tiles(v simulate.Verdict) []tile {
	tone := func(n int, tone string) string {
		if n == 0 {
			return ""
		}
		return tone
	}
	all := []tile{
		{fmt.Sprint(v.Rotated), "replaced, replacement first", tone(v.Rotated, "good")},
		{fmt.Sprint(v.Fallback), "drained without one", tone(v.Fallback, "warn")},
		{fmt.Sprint(v.Expired), "expired", tone(v.Expired, "bad")},
		{fmt.Sprint(v.FailedAttempts), "attempts rolled back", tone(v.FailedAttempts, "warn")},
		{fmt.Sprint(v.Waiting), "due at the end", ""},
	}
	if v.SmallestMargin != nil {
		all = append(all, tile{simulate.Rough(v.SmallestMargin.Duration()), "smallest margin", ""})
	}
	return all
}
