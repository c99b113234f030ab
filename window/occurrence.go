// SPDX-License-Identifier: Apache-2.0

package window

import (
	"time"
)

// Occurrence is one stretch [Start, End) during which the union of all entries is
// open without a break (§3.1). Its times are in the zone of the first listed entry
// that is open at Start.
//
// A zero Start means that it has been open for more than Horizon, a zero End that
// it does not close within Horizon.
type Occurrence struct {
	Start, End time.Time
}

// Duration is the elapsed time from Start to End: wall clocks may show more or
// less. An occurrence without a Start or an End lasts Horizon, the least it is
// known to last.
func (o Occurrence) Duration() time.Duration {
	if o.Start.IsZero() || o.End.IsZero() {
		return Horizon
	}
	return o.End.Sub(o.Start)
}

// Contains reports whether t lies in [Start, End).
func (o Occurrence) Contains(t time.Time) bool {
	return !t.Before(o.Start) && (o.End.IsZero() || t.Before(o.End))
}

// String is the occurrence for a person, such as
// "Sat 2026-01-10 02:00–06:00 Asia/Tokyo", with the end's date where it differs.
func (o Occurrence) String() string {
	const dated, clock = "Mon 2006-01-02 15:04", "15:04"
	switch {
	case o.Start.IsZero() && o.End.IsZero():
		return "open without an end in sight"
	case o.Start.IsZero():
		return "until " + o.End.Format(dated) + " " + o.End.Location().String()
	case o.End.IsZero():
		return "from " + o.Start.Format(dated) + " " + o.Start.Location().String()
	}
	end := o.End.Format(dated)
	if o.Start.Format(time.DateOnly) == o.End.Format(time.DateOnly) {
		end = o.End.Format(clock)
	}
	return o.Start.Format(dated) + "–" + end + " " + o.Start.Location().String()
}
