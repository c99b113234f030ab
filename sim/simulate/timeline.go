// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Timeline writes a run for a terminal: window by window, one line for each rotation and each node that expired; then
// the findings, what the troubles met, and the verdict.
type Timeline struct {
	Out io.Writer
	// Color has ANSI colours written.
	Color bool
}

// group is what happened in one window, or outside of all of them.
type group struct {
	start time.Time
	label string
	lines []entry
}

type entry struct {
	at   time.Time
	text string
}

// Write writes the whole of it.
func (t Timeline) Write(r *Result) error {
	w := &writer{out: t.Out, color: t.Color}
	if r.Title != "" {
		w.printf("%s\n", w.bold(r.Title))
	}
	w.printf("%s, from %s, seed %d: %s, %s\n\n", spanWords(r), r.Start.Format("Mon 2006-01-02 15:04 MST"), r.Seed,
		plural(len(r.Pools), "NodePool"), plural(started(r), "node"))
	for _, g := range groups(r, w) {
		w.printf("%s\n", w.dim(g.label))
		for _, e := range g.lines {
			w.printf("  %s\n", e.text)
		}
	}
	if len(r.Findings) > 0 {
		w.printf("\n")
	}
	for _, f := range r.Findings {
		mark := w.yellow("warn ")
		if f.Severity == Fatal {
			mark = w.red("fatal")
		}
		w.printf("%s %s: %s\n", mark, f.Code, f.Message)
	}
	if len(r.Troubles) > 0 {
		w.printf("\n")
	}
	for _, m := range r.Troubles {
		text := m.Text
		if m.idle() {
			text = w.yellow(text)
		}
		w.printf("trouble: %s\n", text)
	}
	text := w.green(r.Verdict.Text)
	if r.Verdict.Bad() {
		text = w.red(r.Verdict.Text)
	}
	w.printf("\n%s\n", text)
	return w.err
}

func spanWords(r *Result) string { return Rough(r.End.Sub(r.Start)) }

// started are the nodes that there were at the start.
func started(r *Result) int {
	n := 0
	for _, life := range r.Lives {
		if !life.Born.After(r.Start) {
			n++
		}
	}
	return n
}

func groups(r *Result, w *writer) []*group {
	byLabel := map[string]*group{}
	var all []*group
	in := func(label string, start time.Time) *group {
		g := byLabel[label]
		if g == nil {
			g = &group{start: start, label: label}
			byLabel[label] = g
			all = append(all, g)
		}
		return g
	}
	for _, rotation := range r.Rotations {
		label := rotation.Window
		if label == "" {
			label = "outside of any window"
		}
		g := in(label, rotation.Start)
		g.lines = append(g.lines, entry{rotation.Start, rotation.line(w)})
	}
	for _, life := range r.Lives {
		if life.Fate == Expired {
			label := "expired " + life.Deleted.Format("Mon 2006-01-02")
			g := in(label, *life.Deleted)
			g.lines = append(g.lines, entry{*life.Deleted, life.Deleted.Format("15:04:05Z") + " " + w.red(fmt.Sprintf("%-14s %s EXPIRED at the age of %s",
				life.Pool, life.Claim, Rough(life.Deleted.Sub(life.Born))))})
		}
	}
	slices.SortStableFunc(all, func(a, b *group) int { return a.start.Compare(b.start) })
	for _, g := range all {
		slices.SortStableFunc(g.lines, func(a, b entry) int { return cmp.Or(a.at.Compare(b.at)) })
	}
	return all
}

// line is one rotation, by the clock of its window.
func (a *Rotation) line(w *writer) string {
	at := a.Start
	if a.zone != nil {
		at = at.In(a.zone)
	}
	who := fmt.Sprintf("%s  %-14s %s", at.Format("15:04:05"), a.Pool, a.Claim)
	if a.Attempt > 1 {
		who += fmt.Sprintf(" (attempt %d)", a.Attempt)
	}
	if a.Replacement != "" {
		who += " → " + a.Replacement
	}
	facts := []string{"age " + Rough(a.Age.Duration())}
	switch {
	case a.Fallback:
		facts = append(facts, w.yellow("fallback, without a replacement"))
	case a.Draining != nil:
		facts = append(facts, "surge "+Rough(a.Draining.Sub(a.Start)))
	}
	if a.Draining != nil && a.End != nil {
		facts = append(facts, "drain "+Rough(a.End.Sub(*a.Draining)))
	}
	switch a.Outcome {
	case Completed:
		if a.Margin != nil {
			facts = append(facts, "margin "+Rough(a.Margin.Duration()))
		}
	case Failed:
		facts = append(facts, w.yellow("rolled back after "+Rough(a.End.Sub(a.Start))))
	case Overtaken:
		facts = append(facts, w.red("overtaken by its expiry"))
	case LetGo:
		facts = append(facts, "let go: no policy governs the pool")
	case InProgress:
		facts = append(facts, "still in progress at the end")
	}
	return who + "  " + w.dim(strings.Join(facts, ", "))
}

// writer keeps the first error, and paints where it may.
type writer struct {
	out   io.Writer
	color bool
	err   error
}

func (w *writer) printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

func (w *writer) paint(code, text string) string {
	if !w.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (w *writer) bold(text string) string   { return w.paint("1", text) }
func (w *writer) dim(text string) string    { return w.paint("2", text) }
func (w *writer) red(text string) string    { return w.paint("31", text) }
func (w *writer) green(text string) string  { return w.paint("32", text) }
func (w *writer) yellow(text string) string { return w.paint("33", text) }
