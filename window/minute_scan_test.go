// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"slices"
	"time"
)

// minuteScan is §3.1's definition taken at its word: look at the wall clock of
// each minute, in each entry's zone, and see whether an entry has it inside. It
// shares no code and no idea with the schedule. All zones of the tests have
// offsets of whole minutes at the times scanned.
type minuteScan struct {
	from time.Time
	open []bool
}

// scan looks at every minute in [from, to).
func scan(read []Entry, from, to time.Time) minuteScan {
	var clocks []*wallClock
	var inside []func() bool
	for _, e := range read {
		i := slices.IndexFunc(clocks, func(c *wallClock) bool { return c.location.String() == e.Timezone })
		if i < 0 {
			location, err := time.LoadLocation(e.Timezone)
			if err != nil {
				panic(err)
			}
			i, clocks = len(clocks), append(clocks, &wallClock{location: location})
		}
		inside = append(inside, insideOf(e, clocks[i]))
	}
	s := minuteScan{from: from, open: make([]bool, int(to.Sub(from)/time.Minute))}
	for i := range s.open {
		now := from.Add(time.Duration(i) * time.Minute)
		for _, clock := range clocks {
			clock.show(now)
		}
		s.open[i] = slices.ContainsFunc(inside, func(inside func() bool) bool { return inside() })
	}
	return s
}

// wallClock hangs on the wall of one zone.
type wallClock struct {
	location *time.Location
	weekday  time.Weekday
	minute   int // after midnight
}

func (c *wallClock) show(now time.Time) {
	local := now.In(c.location)
	h, m, _ := local.Clock()
	c.weekday, c.minute = local.Weekday(), h*60+m
}

func insideOf(e Entry, clock *wallClock) func() bool {
	var listed [7]bool
	for _, name := range e.Days {
		for weekday := range time.Saturday + 1 {
			listed[weekday] = listed[weekday] || weekday.String()[:3] == name
		}
	}
	start, end := minuteOf(e.Start), minuteOf(e.End)
	return func() bool {
		today, yesterday := listed[clock.weekday], listed[(clock.weekday+6)%7]
		if start < end {
			return today && start <= clock.minute && clock.minute < end
		}
		return today && start <= clock.minute || yesterday && clock.minute < end
	}
}

func minuteOf(text string) int {
	var h, m int
	if _, err := fmt.Sscanf(text, "%d:%d", &h, &m); err != nil {
		panic(err)
	}
	return h*60 + m
}

// at reports whether the minute of t is inside.
func (s minuteScan) at(t time.Time) bool { return s.open[int(t.Sub(s.from)/time.Minute)] }

// runs returns the unbroken open stretches. One that touches an end of the scan
// may be longer than it looks.
func (s minuteScan) runs() []Occurrence {
	var runs []Occurrence
	for i, open := range s.open {
		now := s.from.Add(time.Duration(i) * time.Minute)
		switch {
		case open && (i == 0 || !s.open[i-1]):
			runs = append(runs, Occurrence{now, now.Add(time.Minute)})
		case open:
			runs[len(runs)-1].End = now.Add(time.Minute)
		}
	}
	return runs
}
