// SPDX-License-Identifier: Apache-2.0

package window

import (
	"math"
	"time"
)

// The ends of time, where a stretch has no border.
const (
	always int64 = math.MinInt64
	never  int64 = math.MaxInt64
)

// zone is what all entries of one time zone open together: the merged spans of
// its wall clock's week.
type zone struct {
	location *time.Location
	week     []span
}

// cursor reads one zone, and remembers what it was last asked: neighbouring
// questions then need no look into the zone data, or none at all.
type cursor struct {
	zone
	steady  span  // the offset holds on this stretch of Unix time
	offset  int64 // seconds east of UTC
	stretch span  // open holds on this one, which lies within steady
	open    bool
}

// at reports whether the zone is open at an instant, and a stretch around it on
// which that is so. The stretch may end before the state changes: it never
// crosses a clock change, nor the week's end.
func (c *cursor) at(instant int64) (open bool, stretch span) {
	if c.stretch.from <= instant && instant < c.stretch.to {
		return c.open, c.stretch
	}
	c.seek(instant)
	ofWeek := (instant + c.offset + mondayOfEpoch) % week
	if ofWeek < 0 {
		ofWeek += week
	}
	monday := instant - ofWeek
	open, stretch = around(c.week, ofWeek)
	c.open = open
	c.stretch.from = max(c.steady.from, monday+stretch.from)
	c.stretch.to = min(c.steady.to, monday+stretch.to)
	return c.open, c.stretch
}

// seek finds a stretch of constant offset that contains an instant.
//
// Where a zone follows a yearly rule, the start that ZoneBounds gives is the
// rule's, also where the zone joined that rule only later (America/Ciudad_Juarez
// on 2022-11-30). Ends are true; so seek goes from end to end up to the instant.
func (c *cursor) seek(instant int64) {
	if c.steady.from <= instant && instant < c.steady.to {
		return
	}
	c.offset, c.steady = c.look(instant)
	for c.steady.from != always {
		_, earlier := c.look(c.steady.from)
		if earlier.to > instant {
			return
		}
		c.steady.from = earlier.to
	}
}

// look asks the zone data for the offset at an instant and its bounds.
//
// By a yearly rule the bounds end with the year at the latest, where no clock
// changes, which costs a step and no more. But the year counts 365 days: on the
// last day of a leap year they end before the instant. The next midnight in UTC
// is then the year's end.
func (c *cursor) look(instant int64) (offset int64, bounds span) {
	t := time.Unix(instant, 0).In(c.location)
	_, east := t.Zone()
	bounds = span{always, never}
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		bounds.from = start.Unix()
	}
	if !end.IsZero() {
		bounds.to = end.Unix()
	}
	if bounds.to <= instant {
		bounds.to = (instant/day + 1) * day
	}
	return int64(east), bounds
}

// ClockChange is a moment at which a zone's clocks are set forward or back. The
// zero value is none.
type ClockChange struct {
	// At is the first instant of the new offset, in that zone.
	At time.Time
	// Zone is the IANA name.
	Zone string
	// Forward is how far the clocks jump ahead; negative when they go back.
	Forward time.Duration
}

// IsZero reports whether there is no clock change.
func (c ClockChange) IsZero() bool { return c.At.IsZero() }

// String is a clause for a person, such as
// "Europe/Berlin sets its clocks forward by 1h0m0s at 2026-03-29T03:00:00+02:00".
func (c ClockChange) String() string {
	if c.IsZero() {
		return "no clock change"
	}
	direction := "forward"
	if c.Forward < 0 {
		direction = "back"
	}
	return c.Zone + " sets its clocks " + direction + " by " + c.Forward.Abs().String() + " at " + c.At.Format(time.RFC3339)
}

// change returns the zone's first clock change in (after, until].
func (c *cursor) change(after, until int64) (ClockChange, bool) {
	c.seek(after)
	for c.steady.to <= until {
		at, before := c.steady.to, c.offset
		c.seek(at)
		if c.offset != before {
			return ClockChange{
				At:      time.Unix(at, 0).In(c.location),
				Zone:    c.location.String(),
				Forward: time.Duration(c.offset-before) * time.Second,
			}, true
		}
	}
	return ClockChange{}, false
}
