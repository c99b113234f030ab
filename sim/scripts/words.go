// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"noderotation.io/noderotation/rotation"
)

// Times and durations as scripts spell them.

var days = regexp.MustCompile(`^(\d+)d(.*)$`)

// span reads a duration: Go's, with days before it, such as 1d2h30m.
func span(text string) (time.Duration, error) {
	var whole time.Duration
	rest := text
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return 0, fmt.Errorf("%q is no duration: %w", text, err)
		}
		whole, rest = time.Duration(n)*24*time.Hour, m[2]
		if rest == "" {
			return whole, nil
		}
	}
	part, err := time.ParseDuration(rest)
	if err != nil || part < 0 {
		return 0, fmt.Errorf("%q is no duration: write one such as 1d2h, 30m or 20s", text)
	}
	return whole + part, nil
}

// spell is the opposite of span: 1d2h, 30m, 20s, 1h0m5s.
func spell(d time.Duration) string {
	if d < 0 {
		return "-" + spell(-d)
	}
	text := strings.ReplaceAll(rotation.Spell(d), " ", "")
	return text
}

// spellSigned spells an offset from the start as a stamp stands in a trace: +20s, -1h.
func spellSigned(d time.Duration) string {
	if d < 0 {
		return spell(d)
	}
	return "+" + spell(d)
}

// startForms are how a start is written.
var startForms = []string{"2006-01-02 15:04", "2006-01-02 15:04:05"}

// instant reads a start: date, time of day and zone.
func instant(text string) (time.Time, error) {
	if at := strings.LastIndex(text, " "); at > 0 {
		if zone, err := time.LoadLocation(text[at+1:]); err == nil {
			for _, form := range startForms {
				if t, err := time.ParseInLocation(form, text[:at], zone); err == nil {
					return t.UTC(), nil
				}
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is no start: write one such as `2026-01-09 17:00 UTC`", text)
}

var stamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

var versions = regexp.MustCompile(`anchored-on=\d+`)

// relative rewrites the stamps in a text as offsets from the start. A resourceVersion is left out, since it counts every
// write of the cluster.
func relative(text string, start time.Time) string {
	text = versions.ReplaceAllString(text, "anchored-on=…")
	return stamps.ReplaceAllStringFunc(text, func(stamp string) string {
		t, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return stamp
		}
		return spellSigned(t.Sub(start))
	})
}

// absolute reads a value: one such as +20s or -1h is the stamp of that offset from the start.
func absolute(value string, start time.Time) string {
	if value == "" || (value[0] != '+' && value[0] != '-') {
		return value
	}
	offset, err := span(value[1:])
	if err != nil {
		return value
	}
	if value[0] == '-' {
		offset = -offset
	}
	return rotation.FormatStamp(start.Add(offset))
}

// keyOf completes an annotation's key: ours stand without their prefix, as in a trace.
func keyOf(short string) string {
	if strings.Contains(short, "/") {
		return short
	}
	return "noderotation.io/" + short
}

// pair splits key=value.
func pair(text string) (key, value string, err error) {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return "", "", fmt.Errorf("%q is no key=value", text)
	}
	return key, value, nil
}

// number reads a positive number, also an ordinal such as 3rd.
func number(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimRight(text, "stndrh"))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is no number of one or more", text)
	}
	return n, nil
}
