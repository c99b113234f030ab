// SPDX-License-Identifier: Apache-2.0

package window

import (
	"cmp"
	"slices"
	"sort"
)

// Seconds. A window begins and ends on a minute of some wall clock, and every
// UTC offset is a whole number of seconds, so seconds are exact.
const (
	second int64 = 1
	minute       = 60 * second
	hour         = 60 * minute
	day          = 24 * hour
	week         = 7 * day
)

// mondayOfEpoch is what a Unix time lacks to count from a Monday: 1970-01-01 was
// a Thursday.
const mondayOfEpoch = 3 * day

// span is the stretch [from, to) in seconds: of a week that begins on Monday
// 00:00 by the wall clock, or of Unix time.
type span struct{ from, to int64 }

// onDay returns what a window from start to end opens in a week when it belongs
// to the given day. Past midnight it goes on in the following calendar day, also
// from Sunday into Monday.
func onDay(weekday int, start, end int64) []span {
	midnight := int64(weekday) * day
	if start < end {
		return []span{{midnight + start, midnight + end}}
	}
	following := (midnight + day) % week
	return []span{{midnight + start, midnight + day}, {following, following + end}}
}

// merge sorts the spans and joins those that overlap or touch; empty ones vanish.
func merge(spans []span) []span {
	sorted := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.from >= s.to })
	slices.SortFunc(sorted, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var merged []span
	for _, s := range sorted {
		if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
			merged[last].to = max(merged[last].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// around reports whether the merged spans contain a second of the week, and the
// stretch of the week around it on which that is so.
func around(spans []span, at int64) (open bool, stretch span) {
	later := sort.Search(len(spans), func(i int) bool { return spans[i].from > at })
	stretch = span{0, week}
	if later < len(spans) {
		stretch.to = spans[later].from
	}
	if later == 0 {
		return false, stretch
	}
	last := spans[later-1]
	if at < last.to {
		return true, last
	}
	stretch.from = last.to
	return false, stretch
}
