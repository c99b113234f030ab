// SPDX-License-Identifier: Apache-2.0

package window

import "time"

// Tick is P for a union that never closes: one reconcile tick (§3.1).
const Tick = time.Minute

// Survey is what feasibility asks of a schedule (§3.1, §3.2), over the occurrences
// that intersect the coming Horizon. They count whole: neither end of the horizon
// cuts one off, and the way from the last one to its successor beyond the horizon
// is included. All distances are elapsed time.
type Survey struct {
	// Occurrences is their number. With 0 the schedule never opens and every other
	// field is zero.
	Occurrences int
	// P is the worst-case period: the largest distance between the starts of two
	// consecutive occurrences. Tick if AlwaysOpen; Horizon if no two starts are known.
	P time.Duration
	// D is the length of the shortest occurrence, at most Horizon, which also stands
	// for one that does not close.
	D time.Duration
	// Gap is the shortest closed time between two consecutive occurrences; 0 if
	// AlwaysOpen, and then no gap to be compared with.
	Gap time.Duration
	// AlwaysOpen says that the union does not close within the horizon.
	AlwaysOpen bool
	// LargestGap are the two occurrences whose starts lie P apart, the earliest such
	// two. Zero if no two starts are known.
	LargestGap [2]Occurrence
	// ClockChange is the first clock change of any zone after the start of the first
	// of the two, up to the start of the second; zero if there is none.
	ClockChange ClockChange
}

// Survey walks over the coming Horizon (§3.1). It costs some 20 µs for windows
// of a few hours a week and some milliseconds for windows of minutes: ask when the
// policy changes or a day has passed, not in every pass.
func (s Schedule) Survey(from time.Time) Survey {
	return s.survey(from.Unix(), seconds(Horizon))
}

func (s Schedule) survey(from, horizon int64) Survey {
	until := from + horizon
	w := s.walk()
	t := tally{oldest: from - horizon, gap: horizon, shortest: horizon}
	for stretch := range w.open(from, until+horizon, horizon) {
		if stretch.from <= from && stretch.to >= until {
			return Survey{Occurrences: 1, P: Tick, D: duration(horizon), AlwaysOpen: true}
		}
		t.follow(stretch)
		if stretch.from >= until {
			break
		}
		t.count(stretch)
	}
	if t.occurrences == 0 {
		return Survey{}
	}
	result := Survey{
		Occurrences: t.occurrences,
		P:           duration(horizon),
		D:           duration(t.shortest),
		Gap:         duration(t.gap),
	}
	if t.period > 0 {
		result.P = duration(t.period)
		result.LargestGap = [2]Occurrence{w.occurrence(t.largest[0]), w.occurrence(t.largest[1])}
		result.ClockChange = s.walk().change(t.start(t.largest[0]), t.start(t.largest[1]))
	}
	return result
}

// tally holds the survey's figures, in seconds, while it is being taken.
type tally struct {
	oldest                int64 // the start of an occurrence that has been open for longer than can be seen
	occurrences           int
	period, shortest, gap int64
	last                  span
	largest               [2]span // the two whose starts lie period apart
}

// follow measures the way from the last counted occurrence to its successor.
func (t *tally) follow(next span) {
	if t.occurrences == 0 {
		return
	}
	t.gap = min(t.gap, next.from-t.last.to)
	if period := t.start(next) - t.start(t.last); period > t.period {
		t.period, t.largest = period, [2]span{t.last, next}
	}
}

// count takes an occurrence in.
func (t *tally) count(s span) {
	if s.from != always && s.to != never {
		t.shortest = min(t.shortest, s.to-s.from)
	}
	t.occurrences++
	t.last = s
}

func (t *tally) start(s span) int64 { return max(s.from, t.oldest) }

func duration(seconds int64) time.Duration { return time.Duration(seconds) * time.Second }
