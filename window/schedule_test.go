// SPDX-License-Identifier: Apache-2.0

package window

import (
	"slices"
	"testing"
	"time"
)

// §3.1, and the calendar's odd days: every occurrence of a schedule in [from, to),
// written in UTC.
func TestOccurrencesOnTheRealCalendar(t *testing.T) {
	for name, tc := range map[string]struct {
		entries  []Entry
		from, to string
		want     []string
	}{
		"two days a week": {
			entries("Asia/Tokyo Wed,Sat 02:00-06:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-06T17:00:00Z/4h", "2026-01-09T17:00:00Z/4h"}},
		"the day's end": {
			entries("UTC Mon 22:00-24:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-05T22:00:00Z/2h"}},
		"the day's end written as the next day's start": {
			entries("UTC Mon 22:00-00:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-05T22:00:00Z/2h"}},
		"past midnight": {
			entries("UTC Fri 22:00-05:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-09T22:00:00Z/7h"}},
		"adjacent across midnight": {
			entries("UTC Tue 22:00-24:00", "UTC Wed 00:00-02:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-06T22:00:00Z/4h"}},
		"past the week's end": {
			entries("UTC Sun 22:00-02:00", "UTC Mon 02:00-03:00"), "2026-01-09T00:00:00Z", "2026-01-14T00:00:00Z",
			[]string{"2026-01-11T22:00:00Z/5h"}},
		"overlapping entries": {
			entries("UTC Wed 02:00-05:00", "UTC Wed 04:00-06:00", "UTC Wed 03:00-04:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-07T02:00:00Z/4h"}},
		"adjacent across zones": {
			entries("Asia/Tokyo Wed 09:00-10:00", "UTC Wed 01:00-02:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-07T00:00:00Z/2h"}},
		"whole days": {
			entries("UTC Mon,Tue,Wed,Fri 00:00-24:00"), "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z",
			[]string{"2026-01-05T00:00:00Z/72h", "2026-01-09T00:00:00Z/24h"}},
		"Berlin springs forward: 02:00–04:00 lasts one hour": {
			entries("Europe/Berlin daily 02:00-04:00"), "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
			[]string{"2026-03-29T01:00:00Z/1h"}},
		"Berlin falls back: 02:00–04:00 lasts three hours": {
			entries("Europe/Berlin daily 02:00-04:00"), "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z",
			[]string{"2026-10-25T00:00:00Z/3h"}},
		"Berlin springs forward: 02:00–03:00 does not occur": {
			entries("Europe/Berlin daily 02:00-03:00"), "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z", nil},
		"Berlin falls back: 02:00–02:30 occurs twice": {
			entries("Europe/Berlin Sun 02:00-02:30"), "2026-10-24T12:00:00Z", "2026-10-25T12:00:00Z",
			[]string{"2026-10-25T00:00:00Z/30m", "2026-10-25T01:00:00Z/30m"}},
		"Berlin springs forward inside an overnight window": {
			entries("Europe/Berlin Sat 22:00-04:00"), "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z",
			[]string{"2026-03-28T21:00:00Z/5h"}},
		"Lord Howe springs forward by half an hour": {
			entries("Australia/Lord_Howe Sun 02:00-03:00"), "2026-10-03T00:00:00Z", "2026-10-05T00:00:00Z",
			[]string{"2026-10-03T15:30:00Z/30m"}},
		"Lord Howe falls back by half an hour": {
			entries("Australia/Lord_Howe Sun 01:30-02:00"), "2026-04-04T00:00:00Z", "2026-04-06T00:00:00Z",
			[]string{"2026-04-04T14:30:00Z/1h"}},
		"Cairo has no midnight": {
			entries("Africa/Cairo Fri 00:00-02:00"), "2026-04-23T12:00:00Z", "2026-04-24T12:00:00Z",
			[]string{"2026-04-23T22:00:00Z/1h"}},
		"Cairo has no midnight to run past": {
			entries("Africa/Cairo Thu 22:00-00:30"), "2026-04-23T12:00:00Z", "2026-04-24T12:00:00Z",
			[]string{"2026-04-23T20:00:00Z/2h"}},
		"Cairo has the last hour of a day twice": {
			entries("Africa/Cairo Thu 23:00-24:00"), "2026-10-29T12:00:00Z", "2026-10-30T12:00:00Z",
			[]string{"2026-10-29T20:00:00Z/2h"}},
		"São Paulo had no midnight": {
			entries("America/Sao_Paulo Sun 00:00-02:00"), "2018-11-03T12:00:00Z", "2018-11-04T12:00:00Z",
			[]string{"2018-11-04T03:00:00Z/1h"}},
		"Apia skipped a Friday": {
			entries("Pacific/Apia Fri 10:00-12:00"), "2011-12-20T00:00:00Z", "2012-01-08T00:00:00Z",
			[]string{"2011-12-23T20:00:00Z/2h", "2012-01-05T20:00:00Z/2h"}},
		"an offset with seconds": {
			entries("Africa/Monrovia Mon 02:00-03:00"), "1971-01-04T00:00:00Z", "1971-01-05T00:00:00Z",
			[]string{"1971-01-04T02:44:30Z/1h"}},
		"running at both ends": {
			entries("UTC Mon,Tue 00:00-12:00"), "2026-01-05T06:00:00Z", "2026-01-06T06:00:00Z",
			[]string{"2026-01-05T00:00:00Z/12h", "2026-01-06T00:00:00Z/12h"}},
		"only touching the ends": {
			entries("UTC Mon,Tue 00:00-12:00"), "2026-01-05T12:00:00Z", "2026-01-06T00:00:00Z", nil},
		"begun by a fraction of a second": {
			entries("UTC Tue 00:00-12:00"), "2026-01-05T12:00:00Z", "2026-01-06T00:00:00.5Z",
			[]string{"2026-01-06T00:00:00Z/12h"}},
		"an empty span": {
			entries("UTC Mon 00:00-12:00"), "2026-01-05T06:00:00Z", "2026-01-05T06:00:00Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := schedule(t, tc.entries...)
			var got []string
			for o := range s.Occurrences(at(t, tc.from), at(t, tc.to)) {
				got = append(got, o.Start.UTC().Format(time.RFC3339)+"/"+short(o.Duration()))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("occurrences are %q, want %q", got, tc.want)
			}
		})
	}
}

// §3.1: the start is inside, the end is not, and an overnight window belongs to
// the day it starts on.
func TestOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		entry string
		at    string
		want  bool
	}{
		"at the start":                    {"Asia/Tokyo Sat 02:00-06:00", "2026-01-10T02:00:00+09:00", true},
		"a nanosecond before the start":   {"Asia/Tokyo Sat 02:00-06:00", "2026-01-10T01:59:59.999999999+09:00", false},
		"a nanosecond before the end":     {"Asia/Tokyo Sat 02:00-06:00", "2026-01-10T05:59:59.999999999+09:00", true},
		"at the end":                      {"Asia/Tokyo Sat 02:00-06:00", "2026-01-10T06:00:00+09:00", false},
		"on another day":                  {"Asia/Tokyo Sat 02:00-06:00", "2026-01-09T03:00:00+09:00", false},
		"overnight, on the following day": {"UTC Fri 22:00-05:00", "2026-01-10T02:00:00Z", true},
		"overnight, before its day":       {"UTC Fri 22:00-05:00", "2026-01-09T02:00:00Z", false},
		"the repeated hour, first time":   {"Europe/Berlin Sun 02:00-02:30", "2026-10-25T02:15:00+02:00", true},
		"the repeated hour, second time":  {"Europe/Berlin Sun 02:00-02:30", "2026-10-25T02:15:00+01:00", true},
		"between the two":                 {"Europe/Berlin Sun 02:00-02:30", "2026-10-25T02:45:00+02:00", false},
		"before 1970":                     {"UTC Wed 23:00-24:00", "1969-12-31T23:59:59.5Z", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := schedule(t, entry(tc.entry)).Open(at(t, tc.at)); got != tc.want {
				t.Errorf("Open is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCurrentAndNext(t *testing.T) {
	s := schedule(t, entries("Asia/Tokyo Wed,Sat 02:00-06:00")...)
	const wednesday, saturday = "Wed 2026-01-07 02:00–06:00 Asia/Tokyo", "Sat 2026-01-10 02:00–06:00 Asia/Tokyo"
	for name, tc := range map[string]struct{ at, current, next string }{
		"closed":                {"2026-01-06T00:00:00+09:00", "", wednesday},
		"a second before":       {"2026-01-07T01:59:59+09:00", "", wednesday},
		"at the start":          {"2026-01-07T02:00:00+09:00", wednesday, saturday},
		"open":                  {"2026-01-07T03:00:00.5+09:00", wednesday, saturday},
		"a fraction before":     {"2026-01-07T01:59:59.9+09:00", "", wednesday},
		"in the last second":    {"2026-01-07T05:59:59.9+09:00", wednesday, saturday},
		"at the end":            {"2026-01-07T06:00:00+09:00", "", saturday},
		"asked in another zone": {"2026-01-06T17:00:00Z", wednesday, saturday},
	} {
		t.Run(name, func(t *testing.T) {
			current, open := s.Current(at(t, tc.at))
			if open != (tc.current != "") || open && current.String() != tc.current {
				t.Errorf("current is %v (%v), want %q", current, open, tc.current)
			}
			if next, ok := s.Next(at(t, tc.at)); !ok || next.String() != tc.next {
				t.Errorf("next is %v (%v), want %q", next, ok, tc.next)
			}
		})
	}
}

// A union that never closes has no edges: by one entry, by entries that complete
// each other across zones, and across clock changes.
func TestAUnionThatNeverCloses(t *testing.T) {
	for name, read := range map[string][]Entry{
		"whole days":      entries("UTC daily 00:00-24:00"),
		"whole days, DST": entries("Europe/Berlin daily 00:00-24:00"),
		"two halves":      entries("America/New_York daily 06:00-18:00", "America/New_York daily 18:00-06:00"),
		"two zones":       entries("Asia/Tokyo daily 09:00-21:00", "UTC daily 12:00-24:00"),
		"three zones, DST": entries("America/New_York daily 00:00-15:00", "Europe/Berlin daily 20:00-23:00",
			"UTC daily 18:00-06:00"),
	} {
		t.Run(name, func(t *testing.T) {
			s, now := schedule(t, read...), at(t, "2026-03-20T12:00:00Z")
			o, open := s.Current(now)
			if !open || !o.Start.IsZero() || !o.End.IsZero() || !o.Contains(now) || o.Duration() != Horizon {
				t.Errorf("current is %v (%v), want one without edges", o, open)
			}
			if next, ok := s.Next(now); ok {
				t.Errorf("next is %v, want none", next)
			}
			if got := slices.Collect(s.Occurrences(now, now.Add(3*Horizon))); !slices.Equal(got, []Occurrence{{}}) {
				t.Errorf("occurrences are %v, want one without edges", got)
			}
			if got, want := s.Survey(now), (Survey{Occurrences: 1, P: Tick, D: Horizon, AlwaysOpen: true}); got != want {
				t.Errorf("survey is %+v, want %+v", got, want)
			}
		})
	}
}

// Pyongyang's clocks went back by half an hour on 2015-08-15 and forward again on
// 2018-05-05. At +09:00 the two entries complete each other, at +08:30 they leave
// half an hour a day.
func TestAUnionThatClosesOnlyUnderOneOffset(t *testing.T) {
	s := schedule(t, entries("Asia/Pyongyang daily 00:00-12:00", "UTC daily 03:00-15:00")...)
	back, forth := at(t, "2015-08-14T15:00:00Z"), at(t, "2018-05-04T15:00:00Z")

	before, _ := s.Current(back.Add(-24 * time.Hour))
	if !before.Start.IsZero() || !before.End.Equal(back) {
		t.Errorf("before the change: %v, want open until the clocks go back at %v", before, back)
	}
	far, _ := s.Current(back.Add(-Horizon - time.Hour))
	if !far.End.IsZero() {
		t.Errorf("long before the change: %v, want no end within the horizon", far)
	}
	next, _ := s.Next(forth.Add(-24*time.Hour + time.Minute))
	if want := forth.Add(-23*time.Hour - 30*time.Minute); !next.Start.Equal(want) || !next.End.IsZero() {
		t.Errorf("before the change back: %v, want open from %v without an end", next, want)
	}

	got := s.Survey(forth.Add(-24*time.Hour + time.Minute))
	if want := (Survey{Occurrences: 1, P: Horizon, D: Horizon, Gap: Horizon}); got != want {
		t.Errorf("with no second start: %+v, want %+v", got, want)
	}
	got = s.Survey(back.Add(-time.Hour))
	if want := Horizon + 90*time.Minute; got.P != want || got.D != 23*time.Hour+30*time.Minute || got.Gap != 30*time.Minute {
		t.Errorf("open for longer than can be seen: P %v D %v gap %v, want P %v, D 23h30m, gap 30m", got.P, got.D, got.Gap, want)
	}
}

func TestOccurrencesStopWhenToldTo(t *testing.T) {
	now := at(t, "2026-01-07T01:00:00Z")
	seen := 0
	for range schedule(t, entry("UTC daily 00:00-02:00")).Occurrences(now, now.Add(Horizon)) {
		seen++
		if seen == 3 {
			break
		}
	}
	for range schedule(t, entry("UTC daily 00:00-02:00")).Occurrences(now, now.Add(Horizon)) {
		break
	}
	if seen != 3 {
		t.Errorf("saw %d", seen)
	}
}

func TestOccurrenceForAPerson(t *testing.T) {
	start, end := at(t, "2026-01-09T22:00:00Z"), at(t, "2026-01-10T05:00:00Z")
	for want, o := range map[string]Occurrence{
		"Fri 2026-01-09 22:00–Sat 2026-01-10 05:00 UTC": {start, end},
		"Fri 2026-01-09 22:00–23:00 UTC":                {start, start.Add(time.Hour)},
		"from Fri 2026-01-09 22:00 UTC":                 {Start: start},
		"until Sat 2026-01-10 05:00 UTC":                {End: end},
		"open without an end in sight":                  {},
	} {
		if got := o.String(); got != want {
			t.Errorf("String is %q, want %q", got, want)
		}
	}
}

// An occurrence speaks in the zone of the entry that opens it.
func TestOccurrenceIsInTheZoneThatOpensIt(t *testing.T) {
	s := schedule(t, entries("Europe/Berlin Sat 02:00-04:00", "Asia/Tokyo Wed 02:00-04:00")...)
	now := at(t, "2026-01-05T00:00:00Z")
	for _, want := range []string{"Wed 2026-01-07 02:00–04:00 Asia/Tokyo", "Sat 2026-01-10 02:00–04:00 Europe/Berlin"} {
		next, _ := s.Next(now)
		if next.String() != want {
			t.Errorf("next is %v, want %s", next, want)
		}
		now = next.Start
	}
}

// short is a duration without trailing zero units: 4h, 1h30m, 30m.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if len(text) > len(zero) && text[len(text)-len(zero):] == zero {
			text = text[:len(text)-len(zero)+1]
		}
	}
	return text
}
