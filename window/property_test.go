// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clockChanges are instants around which the calendar is at its oddest: an hour
// missing or repeated, half an hour, a missing midnight, a repeated one, a base
// offset that moves, a date that never was, a year's turn, and a plain week.
var clockChanges = map[string][]string{
	"Europe/Berlin":       {"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z"},
	"America/New_York":    {"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"},
	"America/Sao_Paulo":   {"2018-11-04T03:00:00Z", "2018-02-18T02:00:00Z"},
	"Australia/Lord_Howe": {"2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"},
	"Africa/Cairo":        {"2026-04-23T22:00:00Z", "2026-10-29T21:00:00Z"},
	"Asia/Beirut":         {"2026-03-28T22:00:00Z", "2026-10-24T21:00:00Z"},
	"Asia/Pyongyang":      {"2015-08-14T15:00:00Z", "2018-05-04T15:00:00Z"},
	"Pacific/Apia":        {"2011-12-30T10:00:00Z"},
	"Asia/Kathmandu":      {"2028-12-31T12:00:00Z"},
	"America/Santiago":    {"2028-12-31T12:00:00Z"},
	"Asia/Tokyo":          {"2026-01-10T00:00:00Z"},
}

var zones = slices.Sorted(func(yield func(string) bool) {
	for zone := range clockChanges {
		if !yield(zone) {
			return
		}
	}
})

// drawEntries draws a policy of up to four entries, the first of them in zone:
// often a few hours of the night, where clocks change, and often with edges in common.
func drawEntries(t *rapid.T, zone string) []Entry {
	timeOfDay := rapid.Custom(func(t *rapid.T) int {
		if rapid.Bool().Draw(t, "at night") {
			return rapid.IntRange(0, 8).Draw(t, "half hour") * 30
		}
		return rapid.IntRange(0, 24*60-1).Draw(t, "minute")
	})
	read := rapid.Custom(func(t *rapid.T) Entry {
		start := timeOfDay.Draw(t, "start")
		end := rapid.OneOf(timeOfDay, rapid.Just(24*60)).Filter(func(end int) bool { return end != start }).Draw(t, "end")
		return Entry{
			Timezone: rapid.SampledFrom([]string{zone, zone, rapid.SampledFrom(zones).Draw(t, "another zone")}).Draw(t, "zone"),
			Days:     rapid.SliceOfNDistinct(rapid.SampledFrom(days[:]), 1, 7, rapid.ID).Draw(t, "days"),
			Start:    fmt.Sprintf("%02d:%02d", start/60, start%60),
			End:      fmt.Sprintf("%02d:%02d", end/60, end%60),
		}
	})
	return rapid.SliceOfN(read, 1, 4).Draw(t, "entries")
}

// drawCase draws a policy and an instant up to margin before or after a clock change.
func drawCase(t *rapid.T, margin time.Duration) ([]Entry, time.Time) {
	zone := rapid.SampledFrom(zones).Draw(t, "zone with a clock change")
	change, err := time.Parse(time.RFC3339, rapid.SampledFrom(clockChanges[zone]).Draw(t, "change"))
	if err != nil {
		t.Fatal(err)
	}
	away := rapid.IntRange(-int(margin/time.Minute), int(margin/time.Minute)).Draw(t, "minutes away")
	return drawEntries(t, zone), change.Add(time.Duration(away) * time.Minute)
}

// §3.1: the union is, minute for minute, what the entries' wall clocks say, and
// its occurrences are the unbroken stretches of it.
func TestUnionIsWhatTheWallClocksSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read, from := drawCase(t, 9*aDay)
		s, to := schedule(t, read...), from.Add(9*aDay)
		truth := scan(read, from, to)

		var clipped []Occurrence
		for o := range s.Occurrences(from, to) {
			if !o.Start.IsZero() && !o.End.IsZero() && !o.Start.Before(o.End) {
				t.Fatalf("%v ends before it starts", o)
			}
			if o.Start.Before(from) {
				o.Start = from
			}
			if o.End.IsZero() || o.End.After(to) {
				o.End = to
			}
			clipped = append(clipped, o)
		}
		if want := truth.runs(); !slices.EqualFunc(clipped, want, same) {
			t.Fatalf("occurrences are %v, the minutes say %v", clipped, want)
		}
		for now := from; now.Before(to); now = now.Add(13 * time.Minute) {
			if got, want := s.Open(now), truth.at(now); got != want {
				t.Fatalf("Open(%v) is %v, the wall clocks say %v", now, got, want)
			}
		}
	})
}

// §3.1: Current is the whole stretch around an instant, Next the first that starts
// strictly after it.
func TestCurrentAndNextAreWhatTheWallClocksSay(t *testing.T) {
	const reach = 8 * aDay
	rapid.Check(t, func(t *rapid.T) {
		read, now := drawCase(t, 9*aDay)
		s, runs := schedule(t, read...), scan(read, now.Add(-reach), now.Add(reach)).runs()
		now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 30_000, 59_999}).Draw(t, "milliseconds")) * time.Millisecond)

		current, open := s.Current(now)
		i := slices.IndexFunc(runs, func(run Occurrence) bool { return run.Contains(now) })
		if open != (i >= 0) || open != s.Open(now) {
			t.Fatalf("Current(%v) is %v (%v), Open %v, the minutes say %v", now, current, open, s.Open(now), i >= 0)
		}
		if open {
			if first := i == 0 && runs[i].Start.Equal(now.Truncate(time.Minute).Add(-reach)); !first && !current.Start.Equal(runs[i].Start) {
				t.Fatalf("Current(%v) is %v, the minutes say %v", now, current, runs[i])
			}
			if last := runs[i].End.Equal(now.Truncate(time.Minute).Add(reach)); !last && !current.End.Equal(runs[i].End) {
				t.Fatalf("Current(%v) is %v, the minutes say %v", now, current, runs[i])
			}
			if !current.Contains(now) {
				t.Fatalf("Current(%v) is %v, which does not contain it", now, current)
			}
		}

		next, found := s.Next(now)
		j := slices.IndexFunc(runs, func(run Occurrence) bool { return run.Start.After(now) })
		if j >= 0 && (!found || !next.Start.Equal(runs[j].Start)) {
			t.Fatalf("Next(%v) is %v (%v), the minutes say %v", now, next, found, runs[j])
		}
		if j < 0 && found && next.Start.Before(now.Truncate(time.Minute).Add(reach)) {
			t.Fatalf("Next(%v) is %v, the minutes know of none", now, next)
		}
		if found && j >= 0 && j < len(runs)-1 && !next.End.Equal(runs[j].End) {
			t.Fatalf("Next(%v) is %v, the minutes say %v", now, next, runs[j])
		}
	})
}

// §3.1: the entries' order does not matter, more entries never close what fewer
// opened, and consecutive occurrences never touch.
func TestUnionContainsItsParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		read, from := drawCase(t, 200*aDay)
		to := from.Add(60 * aDay)
		whole := slices.Collect(schedule(t, read...).Occurrences(from, to))
		for i := 1; i < len(whole); i++ {
			if !whole[i].Start.After(whole[i-1].End) {
				t.Fatalf("no gap between %v and %v", whole[i-1], whole[i])
			}
		}
		shuffled := rapid.Permutation(read).Draw(t, "shuffled")
		if got := slices.Collect(schedule(t, shuffled...).Occurrences(from, to)); !slices.EqualFunc(got, whole, same) {
			t.Fatalf("in another order the occurrences are %v instead of %v", got, whole)
		}
		for part := range schedule(t, read[:rapid.IntRange(1, len(read)).Draw(t, "part")]...).Occurrences(from, to) {
			if !slices.ContainsFunc(whole, func(o Occurrence) bool { return contains(o, part) }) {
				t.Fatalf("%v of a part is in no occurrence of the whole %v", part, whole)
			}
		}
	})
}

// §3.1: P, D and gap, over a horizon short enough to be scanned many times.
func TestSurveyIsWhatTheWallClocksSay(t *testing.T) {
	const horizon = 8 * aDay
	rapid.Check(t, func(t *rapid.T) {
		read, from := drawCase(t, horizon)
		got := schedule(t, read...).survey(from.Unix(), seconds(horizon))
		checkSurvey(t, got, scan(read, from.Add(-horizon), from.Add(2*horizon)).runs(), from, horizon)
	})
}

// §3.1: the whole horizon with every clock change of a year, in several zones.
func TestSurveyOfAYearIsWhatTheWallClocksSay(t *testing.T) {
	for name, read := range map[string][]Entry{
		"a week":              entries("Europe/Berlin Sun 02:00-03:00"),
		"every night":         entries("America/New_York daily 23:30-02:30"),
		"midnight":            entries("Africa/Cairo Thu,Fri 23:00-01:00"),
		"half an hour":        entries("Australia/Lord_Howe Sun,Mon 01:30-02:15"),
		"two sides of a line": entries("Europe/Berlin Sat 06:00-08:00", "America/New_York Sat 02:00-03:00"),
	} {
		t.Run(name, func(t *testing.T) {
			from := at(t, "2028-01-01T00:00:00Z")
			beyond := 15 * aDay
			runs := scan(read, from.Add(-beyond), from.Add(Horizon+beyond)).runs()
			s := schedule(t, read...)
			checkSurvey(t, s.Survey(from), runs, from, Horizon)
			got := slices.Collect(s.Occurrences(from.Add(-beyond), from.Add(Horizon+beyond)))
			if !slices.EqualFunc(got, runs, same) {
				t.Error("the occurrences of the year are not those of the minutes")
			}
		})
	}
}

// checkSurvey compares a survey with the open stretches of a scan that reaches far
// enough before and after the horizon.
func checkSurvey(t interface {
	Helper()
	Fatalf(string, ...any)
}, got Survey, runs []Occurrence, from time.Time, horizon time.Duration) {
	t.Helper()
	until := from.Add(horizon)
	runs = slices.DeleteFunc(slices.Clone(runs), func(run Occurrence) bool { return !run.End.After(from) })
	count := 0
	p, d, gap := time.Duration(0), horizon, horizon
	for i, run := range runs {
		if i > 0 {
			p = max(p, run.Start.Sub(runs[i-1].Start))
			gap = min(gap, run.Start.Sub(runs[i-1].End))
		}
		if !run.Start.Before(until) {
			break
		}
		d = min(d, run.Duration())
		count++
	}
	always := count == 1 && !runs[0].Start.After(from) && !runs[0].End.Before(until)
	switch {
	case always:
		p, d, gap = Tick, horizon, 0
	case count == 0:
		p, d, gap = 0, 0, 0
	case p == 0:
		p = horizon
	}
	if got.Occurrences != count || got.P != p || got.D != d || got.Gap != gap || got.AlwaysOpen != always {
		t.Fatalf("survey from %v is %+v, the minutes say count %d P %v D %v gap %v always open %v", from, got, count, p, d, gap, always)
	}
}

// same reports whether two occurrences have the same edges, in whichever zones.
func same(a, b Occurrence) bool { return a.Start.Equal(b.Start) && a.End.Equal(b.End) }

// contains reports whether inner lies within outer.
func contains(outer, inner Occurrence) bool {
	starts := outer.Start.IsZero() || !inner.Start.IsZero() && !inner.Start.Before(outer.Start)
	ends := outer.End.IsZero() || !inner.End.IsZero() && !inner.End.After(outer.End)
	return starts && ends
}
