// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/window"
)

// Width is how wide a page is, in characters.
const Width = 120

// at writes an instant with its weekday, since windows are weekly, and its zone.
func at(t time.Time) string {
	return t.Format("Mon 2006-01-02 15:04:05 ") + t.Location().String()
}

// instants are the ways in which a reason writes an instant in UTC, and how each is read. The "at" before a date goes: a
// weekday does without.
var instants = []struct {
	form    string
	pattern *regexp.Regexp
}{
	{time.RFC3339, regexp.MustCompile(`\b(?:at )?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)},
	{"Mon 2006-01-02 15:04:05 UTC", regexp.MustCompile(`\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\b`)},
}

// local writes the instants of a reason in the zone, so that a page has one clock.
func local(reason string, zone *time.Location) string {
	for _, i := range instants {
		reason = i.pattern.ReplaceAllStringFunc(reason, func(told string) string {
			t, err := time.Parse(i.form, strings.TrimPrefix(told, "at "))
			if err != nil {
				return told
			}
			return at(t.In(zone))
		})
	}
	return reason
}

// in tells how far off t is.
func in(now, t time.Time) string {
	if t.Before(now) {
		return brief(now.Sub(t)) + " ago"
	}
	return "in " + brief(t.Sub(now))
}

// brief writes a duration by its two largest units.
func brief(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day:
		d = d.Truncate(time.Hour)
	case d >= time.Hour:
		d = d.Truncate(time.Minute)
	default:
		d = d.Round(time.Second)
	}
	return rotation.Spell(d)
}

// stamp is an instant as programs are given it, in whole seconds; nil for none. It is cut off as in the guards' reasons, so
// that an instant reads the same wherever it is told: what is to happen right after a second is told by that second.
func stamp(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	whole := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &whole
}

// zoneOf is the zone in which the pool's windows are thought of; UTC without any.
func zoneOf(now time.Time, windows window.Schedule) *time.Location {
	if open, is := windows.Current(now); is && !open.Start.IsZero() {
		return open.Start.Location()
	}
	if next, is := windows.Next(now); is {
		return next.Start.Location()
	}
	return time.UTC
}

// paragraph writes words after a label, in lines that fit the page; those that follow the first begin below its words.
func paragraph(b *strings.Builder, label, words string) {
	indent := utf8.RuneCountInString(label)
	b.WriteString(label)
	column := indent
	for i, word := range strings.Fields(words) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case column+1+length > Width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	b.WriteByte('\n')
}

// padded writes a text at least so wide.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// sentence begins a text with a capital and ends it with a full stop, where it is not one yet. A name keeps its case.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// count writes a number of things: "1 Pod", "2 Pods".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
