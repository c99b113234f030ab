// SPDX-License-Identifier: Apache-2.0

package window

import (
	"fmt"
	"testing"
	"time"
)

const aDay = 24 * time.Hour

// The worked examples of §3.2, and P, D and gap around clock changes (§3.1).
func TestSurvey(t *testing.T) {
	var everyHalfHour []Entry
	for h := range 24 {
		everyHalfHour = append(everyHalfHour,
			entry(fmt.Sprintf("UTC daily %02d:00-%02d:28", h, h)),
			entry(fmt.Sprintf("UTC daily %02d:30-%02d:58", h, h)))
	}
	for name, tc := range map[string]struct {
		entries   []Entry
		from      string
		p, d, gap time.Duration
		count     int
		around    string // the first of the two occurrences P apart
		change    string
	}{
		"Tokyo Wed and Sat": {
			entries("Asia/Tokyo Wed,Sat 02:00-06:00"), "2026-01-05T00:00:00Z",
			4 * aDay, 4 * time.Hour, 3*aDay - 4*time.Hour, 114,
			"Sat 2026-01-10 02:00–06:00 Asia/Tokyo", "no clock change"},
		"Tokyo Sat": {
			entries("Asia/Tokyo Sat 02:00-06:00"), "2026-01-05T00:00:00Z",
			7 * aDay, 4 * time.Hour, 7*aDay - 4*time.Hour, 57,
			"Sat 2026-01-10 02:00–06:00 Asia/Tokyo", "no clock change"},
		"every 30 min for 28 min": {
			everyHalfHour, "2026-01-05T00:00:00Z",
			30 * time.Minute, 28 * time.Minute, 2 * time.Minute, 48 * 400,
			"Mon 2026-01-05 00:00–00:28 UTC", "no clock change"},
		"Berlin Sat: the week of 169 hours": {
			entries("Europe/Berlin Sat 02:00-06:00"), "2026-01-05T00:00:00Z",
			7*aDay + time.Hour, 4 * time.Hour, 7*aDay - 5*time.Hour, 57,
			"Sat 2026-10-24 02:00–06:00 Europe/Berlin", "Europe/Berlin sets its clocks back by 1h0m0s at 2026-10-25T02:00:00+01:00"},
		"Berlin Sun in the missing hour: a fortnight": {
			entries("Europe/Berlin Sun 02:00-03:00"), "2026-01-05T00:00:00Z",
			14*aDay - time.Hour, time.Hour, 7*aDay - time.Hour, 56,
			"Sun 2026-03-22 02:00–03:00 Europe/Berlin", "Europe/Berlin sets its clocks forward by 1h0m0s at 2026-03-29T03:00:00+02:00"},
		"Berlin daily: shortest in spring": {
			entries("Europe/Berlin daily 02:00-04:00"), "2026-01-05T00:00:00Z",
			25 * time.Hour, time.Hour, 22 * time.Hour, 400,
			"Sun 2026-10-25 02:00–04:00 Europe/Berlin", "Europe/Berlin sets its clocks back by 1h0m0s at 2026-10-25T02:00:00+01:00"},
		"Berlin Sun twice in autumn": {
			entries("Europe/Berlin Sun 02:00-02:30"), "2026-06-01T00:00:00Z",
			14*aDay - time.Hour, 30 * time.Minute, 30 * time.Minute, 57,
			"Sun 2027-03-21 02:00–02:30 Europe/Berlin", "Europe/Berlin sets its clocks forward by 1h0m0s at 2027-03-28T03:00:00+02:00"},
		"one that runs at both ends of the horizon counts whole": {
			entries("UTC Mon 00:00-24:00", "UTC Tue 00:00-12:00"), "2026-01-05T18:00:00Z",
			7 * aDay, 36 * time.Hour, 7*aDay - 36*time.Hour, 58,
			"Mon 2026-01-05 00:00–Tue 2026-01-06 12:00 UTC", "no clock change"},
	} {
		t.Run(name, func(t *testing.T) {
			got := schedule(t, tc.entries...).Survey(at(t, tc.from))
			if got.P != tc.p || got.D != tc.d || got.Gap != tc.gap || got.Occurrences != tc.count || got.AlwaysOpen {
				t.Errorf("P %v D %v gap %v count %d always open %v, want P %v D %v gap %v count %d",
					got.P, got.D, got.Gap, got.Occurrences, got.AlwaysOpen, tc.p, tc.d, tc.gap, tc.count)
			}
			if got.LargestGap[0].String() != tc.around || got.LargestGap[1].Start.Sub(got.LargestGap[0].Start) != tc.p {
				t.Errorf("the largest gap lies between %v and %v, want it after %s", got.LargestGap[0], got.LargestGap[1], tc.around)
			}
			if got.ClockChange.String() != tc.change {
				t.Errorf("the clock change is %q, want %q", got.ClockChange, tc.change)
			}
		})
	}
}

// The first clock change is told when several zones have one in the largest gap.
func TestSurveyTellsTheFirstClockChange(t *testing.T) {
	s := schedule(t, entries("Europe/London Sat 12:00-13:00", "Atlantic/Azores Sat 12:00-13:00", "Europe/Berlin Sat 12:00-13:00")...)
	got := s.Survey(at(t, "2026-10-01T00:00:00Z"))
	if got.ClockChange.Zone != "Europe/London" || got.ClockChange.Forward != -time.Hour {
		t.Errorf("the clock change is %v, want London's, listed first of three at one instant", got.ClockChange)
	}
	s = schedule(t, entries("Europe/Berlin Sat 12:00-13:00", "Asia/Beirut Sat 12:00-13:00")...)
	if got := s.Survey(at(t, "2026-10-01T00:00:00Z")).ClockChange; got.Zone != "Asia/Beirut" {
		t.Errorf("the clock change is %v, want Beirut's, which comes four hours before Berlin's", got)
	}
}

func BenchmarkOpen(b *testing.B)    { bench(b, func(s Schedule, t time.Time) { s.Open(t) }) }
func BenchmarkCurrent(b *testing.B) { bench(b, func(s Schedule, t time.Time) { s.Current(t) }) }
func BenchmarkNext(b *testing.B)    { bench(b, func(s Schedule, t time.Time) { s.Next(t) }) }
func BenchmarkSurvey(b *testing.B)  { bench(b, func(s Schedule, t time.Time) { s.Survey(t) }) }

// bench asks at instants all over a year, of the schedules that cost the least
// and the most.
func bench(b *testing.B, ask func(Schedule, time.Time)) {
	var everyHalfHour []Entry
	for h := range 24 {
		everyHalfHour = append(everyHalfHour,
			entry(fmt.Sprintf("Europe/Berlin daily %02d:00-%02d:28", h, h)),
			entry(fmt.Sprintf("Europe/Berlin daily %02d:30-%02d:58", h, h)))
	}
	for _, tc := range []struct {
		name    string
		entries []Entry
	}{
		{"two-days", entries("Asia/Tokyo Wed,Sat 02:00-06:00")},
		{"three-zones", entries("Europe/Berlin Sat 22:00-05:00", "America/New_York Sat 22:00-05:00", "Asia/Tokyo Wed 02:00-06:00")},
		{"half-hours", everyHalfHour},
		{"never-closes", entries("Europe/Berlin daily 00:00-12:00", "UTC daily 09:00-24:00")},
	} {
		s := schedule(b, tc.entries...)
		start := at(b, "2026-01-10T00:00:00Z")
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				ask(s, start.Add(time.Duration(i%9000)*61*time.Minute))
				i++
			}
		})
	}
}
