// SPDX-License-Identifier: Apache-2.0

package window

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the binary must know every zone on an image that ships none
)

// Entry is one maintenance window as a policy writes it (§3.1).
//
// The window is open while the wall clock of Timezone stands in [Start, End) on
// one of Days. An End earlier than Start runs past midnight and belongs to the
// day it starts on.
type Entry struct {
	// Timezone is an IANA name, such as "Asia/Tokyo" or "UTC". There is no default.
	Timezone string
	// Days are among Mon, Tue, Wed, Thu, Fri, Sat, Sun, each at most once.
	Days []string
	// Start is "HH:MM", from "00:00" to "23:59".
	Start string
	// End is "HH:MM", from "00:00" to "24:00", and differs from Start.
	End string
}

var days = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

const zoneAdvice = `name an IANA time zone, such as "Asia/Tokyo" or "UTC"`

// Parse reads the entries of a policy into the schedule of their union (§3.1).
//
// It checks every entry to the end and reports all that is wrong at once, joined,
// each as a sentence that begins with the entry's place: "maintenanceWindows[1]: ...".
// With an error the Schedule never opens. No entries at all are no error here:
// they too make a Schedule that never opens, which is a finding of feasibility.
//
// Parse loads zone data; parse once per change of a policy, not once per pass.
func Parse(entries []Entry) (Schedule, error) {
	var errs []error
	var names []string
	spans := map[string][]span{}
	locations := map[string]*time.Location{}
	for i, entry := range entries {
		location, opens, problems := entry.read()
		for _, problem := range problems {
			errs = append(errs, fmt.Errorf("maintenanceWindows[%d]: %w", i, problem))
		}
		name := entry.Timezone
		if _, known := spans[name]; !known {
			names = append(names, name)
		}
		locations[name] = location
		spans[name] = append(spans[name], opens...)
	}
	if len(errs) > 0 {
		return Schedule{}, errors.Join(errs...)
	}
	var s Schedule
	for _, name := range names {
		s.zones = append(s.zones, zone{location: locations[name], week: merge(spans[name])})
	}
	return s, nil
}

// read returns the entry's zone and the spans it opens in a week, and every
// problem it has. The other results mean something only if there is none.
func (e Entry) read() (*time.Location, []span, []error) {
	location, err := readZone(e.Timezone)
	problems := appendIf(nil, err)
	listed, errs := readDays(e.Days)
	problems = append(problems, errs...)

	start, startErr := readTime("start", e.Start, "23:59")
	end, endErr := readTime("end", e.End, "24:00")
	problems = appendIf(problems, startErr)
	problems = appendIf(problems, endErr)
	if startErr == nil && endErr == nil && start == end {
		problems = append(problems, fmt.Errorf(
			`start and end are both %q, which leaves the window no length; for the whole day write start: "00:00", end: "24:00"`, e.Start))
	}

	var opens []span
	for _, weekday := range listed {
		opens = append(opens, onDay(weekday, start, end)...)
	}
	return location, opens, problems
}

// appendIf appends err if there is one.
func appendIf(errs []error, err error) []error {
	if err == nil {
		return errs
	}
	return append(errs, err)
}

// readZone loads a zone. The two names that time.LoadLocation takes for the
// machine's own idea of a zone are refused: a policy means the same everywhere.
func readZone(name string) (*time.Location, error) {
	switch name {
	case "":
		return nil, errors.New("timezone is empty; " + zoneAdvice)
	case "Local":
		return nil, errors.New(`timezone "Local" would depend on the machine that the controller runs on; ` + zoneAdvice)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("timezone %q cannot be used; %s: %w", name, zoneAdvice, err)
	}
	return location, nil
}

// readDays returns the listed days, counted from Monday = 0.
func readDays(names []string) ([]int, []error) {
	if len(names) == 0 {
		return nil, []error{errors.New("days is empty; list at least one of " + strings.Join(days[:], ", "))}
	}
	var listed []int
	var problems []error
	for _, name := range names {
		weekday := slices.Index(days[:], name)
		switch {
		case weekday < 0:
			problems = append(problems, fmt.Errorf("day %q is not known; use %s", name, strings.Join(days[:], ", ")))
		case slices.Contains(listed, weekday):
			problems = append(problems, fmt.Errorf("day %s is listed more than once; name each day once", name))
		default:
			listed = append(listed, weekday)
		}
	}
	return listed, problems
}

// readTime returns the seconds after midnight that "HH:MM" stands for. latest is
// the last time allowed, itself in that form, in which times sort as text.
func readTime(field, text, latest string) (int64, error) {
	hours, minutes, found := strings.Cut(text, ":")
	h, okH := twoDigits(hours)
	m, okM := twoDigits(minutes)
	if !found || !okH || !okM || m > 59 || text > latest {
		return 0, fmt.Errorf("%s %q is not a time of the day; write HH:MM, from 00:00 to %s", field, text, latest)
	}
	return h*hour + m*minute, nil
}

func twoDigits(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 8)
	return int64(n), err == nil && len(text) == 2
}
