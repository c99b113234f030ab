// SPDX-License-Identifier: Apache-2.0

package window

import (
	"iter"
	"time"
)

// walker finds the edges of the union of all zones. It belongs to one question;
// the Schedule it reads stays untouched.
type walker struct {
	cursors []cursor
}

// state reports whether the union is open at an instant, and a stretch around it
// on which that is so: as far as any open zone reaches, or until any closed zone
// may open.
func (w *walker) state(instant int64) (open bool, stretch span) {
	stretch = span{always, never}
	for i := range w.cursors {
		zoneOpen, s := w.cursors[i].at(instant)
		switch {
		case zoneOpen && !open:
			open, stretch = true, s
		case zoneOpen:
			stretch = span{min(stretch.from, s.from), max(stretch.to, s.to)}
		case !open:
			stretch = span{max(stretch.from, s.from), min(stretch.to, s.to)}
		}
	}
	return open, stretch
}

// calm is the stretch on which no zone changes its offset, around the instant that
// state was last asked about. The union repeats itself there every week, so what
// was open for a whole week of it is open for all of it. This is what lets a
// union that never closes be recognised in a few steps.
func (w *walker) calm() span {
	s := span{always, never}
	for i := range w.cursors {
		s.from = max(s.from, w.cursors[i].steady.from)
		s.to = min(s.to, w.cursors[i].steady.to)
	}
	return s
}

// opens returns the first open instant in [from, limit), or never.
func (w *walker) opens(from, limit int64) int64 {
	for at := from; at < limit; {
		open, stretch := w.state(at)
		if open {
			return at
		}
		at = stretch.to
	}
	return never
}

// closes returns the first closed instant in [from, limit), or never.
func (w *walker) closes(from, limit int64) int64 {
	for at := from; at < limit; {
		open, stretch := w.state(at)
		if !open {
			return at
		}
		at = stretch.to
		if calm := w.calm(); at-max(from, calm.from) >= week {
			at = max(at, calm.to)
		}
	}
	return never
}

// opened returns the start of the open stretch that contains an open instant, or
// always if it lies at or before limit.
func (w *walker) opened(instant, limit int64) int64 {
	for at := instant; at > limit; {
		open, stretch := w.state(at - second)
		if !open {
			return at
		}
		at = stretch.from
		if calm := w.calm(); min(instant, calm.to)-at >= week {
			at = min(at, calm.from)
		}
	}
	return always
}

// open yields the open stretches that intersect [from, until), in order and whole:
// the first from its true start, the last to its true end, both sought as far as
// reach seconds outside.
func (w *walker) open(from, until, reach int64) iter.Seq[span] {
	return func(yield func(span) bool) {
		at := from
		if open, _ := w.state(from); open {
			running := span{w.opened(from, from-reach), w.closes(from, until+reach)}
			if !yield(running) {
				return
			}
			at = running.to
		}
		for {
			start := w.opens(at, until)
			if start == never {
				return
			}
			next := span{start, w.closes(start, until+reach)}
			if !yield(next) {
				return
			}
			at = next.to
		}
	}
}

// change returns the first clock change of any zone in (after, until], or none.
func (w *walker) change(after, until int64) ClockChange {
	var first ClockChange
	for i := range w.cursors {
		change, found := w.cursors[i].change(after, until)
		if found && (first.IsZero() || change.At.Before(first.At)) {
			first = change
		}
	}
	return first
}

// occurrence puts an open stretch into the zone of the first listed entry that is
// open when it starts.
func (w *walker) occurrence(s span) Occurrence {
	location := w.cursors[0].location
	for i := range w.cursors {
		if s.from == always {
			break
		}
		if open, _ := w.cursors[i].at(s.from); open {
			location = w.cursors[i].location
			break
		}
	}
	return Occurrence{Start: instantIn(location, s.from), End: instantIn(location, s.to)}
}

// instantIn turns Unix seconds into a time, the ends of time into the zero time.
func instantIn(location *time.Location, instant int64) time.Time {
	if instant == always || instant == never {
		return time.Time{}
	}
	return time.Unix(instant, 0).In(location)
}
