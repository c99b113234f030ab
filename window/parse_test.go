// SPDX-License-Identifier: Apache-2.0

package window

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSaysWhatIsWrongWithAnEntry(t *testing.T) {
	sound := Entry{Timezone: "Asia/Tokyo", Days: []string{"Wed", "Sat"}, Start: "02:00", End: "06:00"}
	with := func(change func(*Entry)) Entry {
		e := sound
		change(&e)
		return e
	}
	for name, tc := range map[string]struct {
		entry Entry
		want  string
	}{
		"an empty zone":      {with(func(e *Entry) { e.Timezone = "" }), `timezone is empty`},
		"the machine's zone": {with(func(e *Entry) { e.Timezone = "Local" }), `timezone "Local" would depend on the machine`},
		"an unknown zone":    {with(func(e *Entry) { e.Timezone = "Asia/Edo" }), `timezone "Asia/Edo" cannot be used`},
		"a path for a zone":  {with(func(e *Entry) { e.Timezone = "../etc/passwd" }), `timezone "../etc/passwd" cannot be used`},
		"no days":            {with(func(e *Entry) { e.Days = nil }), `days is empty`},
		"an unknown day":     {with(func(e *Entry) { e.Days = []string{"Saturday"} }), `day "Saturday" is not known; use Mon, Tue`},
		"a day in lower case": {
			with(func(e *Entry) { e.Days = []string{"sat"} }), `day "sat" is not known`},
		"a day twice":       {with(func(e *Entry) { e.Days = []string{"Sat", "Wed", "Sat"} }), `day Sat is listed more than once`},
		"one digit":         {with(func(e *Entry) { e.Start = "2:00" }), `start "2:00" is not a time of the day`},
		"a sign":            {with(func(e *Entry) { e.Start = "+2:00" }), `start "+2:00" is not a time of the day`},
		"seconds":           {with(func(e *Entry) { e.Start = "02:00:00" }), `start "02:00:00" is not a time of the day`},
		"no colon":          {with(func(e *Entry) { e.End = "0600" }), `end "0600" is not a time of the day`},
		"an empty time":     {with(func(e *Entry) { e.End = "" }), `end "" is not a time of the day`},
		"minute 60":         {with(func(e *Entry) { e.End = "05:60" }), `end "05:60" is not a time of the day`},
		"an end past 24:00": {with(func(e *Entry) { e.End = "24:01" }), `end "24:01" is not a time of the day; write HH:MM, from 00:00 to 24:00`},
		"a start at 24:00":  {with(func(e *Entry) { e.Start = "24:00" }), `start "24:00" is not a time of the day; write HH:MM, from 00:00 to 23:59`},
		"no length":         {with(func(e *Entry) { e.End = "02:00" }), `start and end are both "02:00"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]Entry{sound, tc.entry})
			if err == nil {
				t.Fatalf("Parse accepted %+v", tc.entry)
			}
			if got := err.Error(); !strings.HasPrefix(got, "maintenanceWindows[1]: ") || !strings.Contains(got, tc.want) || strings.Contains(got, "\n") {
				t.Errorf("error is %q, want one sentence about maintenanceWindows[1] with %q", got, tc.want)
			}
			if _, opens := s.Next(time.Unix(0, 0)); opens {
				t.Error("a schedule with an error opens")
			}
		})
	}
}

func TestParseReportsAllErrorsAtOnce(t *testing.T) {
	_, err := Parse([]Entry{
		{Timezone: "Mars/Olympus", Days: []string{"Sol"}, Start: "24:00", End: "25:00"},
		{Timezone: "UTC", Days: []string{"Mon"}, Start: "01:00", End: "02:00"},
		{},
	})
	if err == nil {
		t.Fatal("Parse accepted two broken entries")
	}
	lines := strings.Split(err.Error(), "\n")
	first := func(line string) bool { return strings.HasPrefix(line, "maintenanceWindows[0]: ") }
	third := func(line string) bool { return strings.HasPrefix(line, "maintenanceWindows[2]: ") }
	for _, want := range []string{"timezone", "day ", "start ", "end "} {
		if !slices.ContainsFunc(lines, func(l string) bool { return first(l) && strings.Contains(l, want) }) {
			t.Errorf("no word about %q of maintenanceWindows[0] in:\n%v", want, err)
		}
	}
	if got := len(lines); got != 8 || !slices.ContainsFunc(lines, third) {
		t.Errorf("%d problems, want 4 of each broken entry:\n%v", got, err)
	}
}

func TestNoEntriesNeverOpen(t *testing.T) {
	parsed, err := Parse(nil)
	if err != nil {
		t.Fatalf("no entries are a finding, not an error: %v", err)
	}
	for name, s := range map[string]Schedule{"parsed": parsed, "zero value": {}} {
		now := at(t, "2026-01-10T00:00:00Z")
		if s.Open(now) {
			t.Errorf("%s: open", name)
		}
		if o, ok := s.Current(now); ok {
			t.Errorf("%s: current is %v", name, o)
		}
		if o, ok := s.Next(now); ok {
			t.Errorf("%s: next is %v", name, o)
		}
		for o := range s.Occurrences(now, now.Add(Horizon)) {
			t.Errorf("%s: occurs at %v", name, o)
		}
		if got := s.Survey(now); got != (Survey{}) {
			t.Errorf("%s: survey is %+v, want zero", name, got)
		}
	}
}

// schedule parses entries that the test knows to be sound.
func schedule(t interface {
	Helper()
	Fatalf(string, ...any)
}, entries ...Entry) Schedule {
	t.Helper()
	s, err := Parse(entries)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return s
}

// entry reads "Europe/Berlin Wed,Sat 02:00-06:00", with daily for all days.
func entry(text string) Entry {
	fields := strings.Fields(text)
	listed := strings.Split(fields[1], ",")
	if fields[1] == "daily" {
		listed = days[:]
	}
	start, end, _ := strings.Cut(fields[2], "-")
	return Entry{Timezone: fields[0], Days: listed, Start: start, End: end}
}

func entries(texts ...string) []Entry {
	var read []Entry
	for _, text := range texts {
		read = append(read, entry(text))
	}
	return read
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}
