// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	day = 24 * time.Hour
	// mostDays bounds every Span, far within what a time.Duration can hold.
	mostDays = 36500
)

// Span is a duration that may be written in days: "60d", "1d12h", "336h".
type Span time.Duration

// ParseSpan reads a Span, which must not be negative.
func ParseSpan(text string) (Span, error) {
	days, rest, counted := strings.Cut(text, "d")
	var total time.Duration
	if counted {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n <= mostDays) { // what is no number is neither
			return 0, fmt.Errorf("%q is no duration: write one such as \"60d\", \"1d12h\" or \"90m\"", text)
		}
		total = time.Duration(n * float64(day))
	} else {
		rest = text
	}
	if rest != "" || !counted {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > mostDays*day-total {
			return 0, fmt.Errorf("%q is no duration: write one such as \"60d\", \"1d12h\" or \"90m\"", text)
		}
		total += d
	}
	return Span(total), nil
}

// UnmarshalJSON reads a Span from its text.
func (s *Span) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is no duration: write one such as \"60d\", \"1d12h\" or \"90m\"", data)
	}
	span, err := ParseSpan(text)
	*s = span
	return err
}

// Moment is an instant of a run: a time, or how long after the run's start.
type Moment struct {
	At    time.Time
	After time.Duration
}

// UnmarshalJSON reads an RFC3339 time, or a Span after the start.
func (m *Moment) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is no moment: write a time such as \"2026-01-09T00:00:00Z\", or how long after the start, such as \"3d\"", data)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		m.At = at
		return nil
	}
	after, err := ParseSpan(text)
	if err != nil {
		return fmt.Errorf("%q is no moment: write a time such as \"2026-01-09T00:00:00Z\", or how long after the start, such as \"3d\"", text)
	}
	m.After = time.Duration(after)
	return nil
}

func (m Moment) in(start time.Time) time.Time {
	if m.At.IsZero() {
		return start.Add(m.After)
	}
	return m.At
}

// After is the moment that long after the start.
func After(span Span) Moment { return Moment{After: time.Duration(span)} }
