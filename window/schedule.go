// SPDX-License-Identifier: Apache-2.0

package window

import (
	"iter"
	"time"
)

// Horizon is how far ahead, and behind, a Schedule looks: long enough to contain
// every clock change of a year (§3.1).
const Horizon = 400 * 24 * time.Hour

// Schedule is the union of a policy's maintenance windows (§3.1). It is an
// immutable value, safe for concurrent use; the zero Schedule never opens.
//
// Open, Current and Next look at the neighbouring edges only and cost a microsecond
// or two for each time zone; some ten more where entries of several zones together
// never close. Edges lie on whole seconds.
type Schedule struct {
	zones []zone // in the order of their first entry; no zone's week is empty
}

// Open reports whether t is inside the union. The start of an occurrence is
// inside, its end is not.
func (s Schedule) Open(t time.Time) bool {
	open, _ := s.walk().state(t.Unix())
	return open
}

// Current returns the occurrence that contains t, and whether there is one. It is
// whole: across entries, midnight and clock changes. Of a union that has been open
// for more than Horizon the Start is zero; of one that does not close within
// Horizon the End is.
func (s Schedule) Current(t time.Time) (Occurrence, bool) {
	w, at := s.walk(), t.Unix()
	if open, _ := w.state(at); !open {
		return Occurrence{}, false
	}
	return w.occurrence(span{w.opened(at, at-seconds(Horizon)), w.closes(at, at+seconds(Horizon))}), true
}

// Next returns the first occurrence that starts strictly after t, and whether one
// does within Horizon. Its End is zero if it does not close within Horizon of its
// Start. A union that is open at t and does not close has no next occurrence.
func (s Schedule) Next(t time.Time) (Occurrence, bool) {
	w, at := s.walk(), t.Unix()
	limit := at + seconds(Horizon)
	start := w.opens(w.closes(at, limit), limit)
	if start == never {
		return Occurrence{}, false
	}
	return w.occurrence(span{start, w.closes(start, start+seconds(Horizon))}), true
}

// Occurrences yields the occurrences that intersect [from, to), in order. They are
// whole: the first may start before from and the last may end after to, and only
// an edge further outside than Horizon is left zero.
func (s Schedule) Occurrences(from, to time.Time) iter.Seq[Occurrence] {
	return func(yield func(Occurrence) bool) {
		if !from.Before(to) {
			return
		}
		until := to.Add(time.Second - 1).Unix() // a start before to, seen in whole seconds
		w := s.walk()
		for stretch := range w.open(from.Unix(), until, seconds(Horizon)) {
			if !yield(w.occurrence(stretch)) {
				return
			}
		}
	}
}

// walk begins a question.
func (s Schedule) walk() *walker {
	w := &walker{cursors: make([]cursor, len(s.zones))}
	for i, z := range s.zones {
		w.cursors[i].zone = z
	}
	return w
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
