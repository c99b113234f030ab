// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
	"time"

	"noderotation.io/noderotation/rotation"
)

// Verdict sums a run up.
type Verdict struct {
	// Ended nodes are those that had to be replaced: Rotated and Fallback and Expired together.
	Ended    int `json:"ended"`
	Rotated  int `json:"rotated"`
	Fallback int `json:"fallback"`
	Expired  int `json:"expired"`
	// Waiting nodes were due when the run ended.
	Waiting int `json:"waiting"`
	// FailedAttempts are rotations that were rolled back.
	FailedAttempts int `json:"failedAttempts"`
	// SmallestMargin from a node's end to its deadline; nil where no node with a deadline was rotated.
	SmallestMargin *Seconds `json:"smallestMarginSeconds,omitempty"`
	// Fatal is true where a finding is.
	Fatal bool `json:"fatalFinding"`
	// Text is the verdict in words.
	Text string `json:"text"`
}

// Bad tells whether the fleet is not safe: a node expired, or a finding is fatal.
func (v Verdict) Bad() bool { return v.Expired > 0 || v.Fatal }

func verdictOf(result *Result) Verdict {
	var v Verdict
	for _, life := range result.Lives {
		switch life.Fate {
		case Rotated:
			v.Rotated++
		case Fallback:
			v.Fallback++
		case Expired:
			v.Expired++
		case Alive:
			if life.Due != nil && life.Due.Before(result.End) {
				v.Waiting++
			}
		case Refused, Removed:
		}
		if life.Margin != nil && (v.SmallestMargin == nil || *life.Margin < *v.SmallestMargin) {
			v.SmallestMargin = life.Margin
		}
	}
	for _, r := range result.Rotations {
		if r.Outcome == Failed {
			v.FailedAttempts++
		}
	}
	v.Ended = v.Rotated + v.Fallback + v.Expired
	v.Text = v.words(result.End.Sub(result.Start))
	return v
}

func (v Verdict) words(span time.Duration) string {
	if v.Ended == 0 {
		text := "no node ended in " + rotation.Spell(span)
		if v.Waiting > 0 {
			text += fmt.Sprintf("; %s due at the end", are(v.Waiting))
		}
		return text
	}
	parts := []string{fmt.Sprintf("%d of %d nodes rotated inside windows", v.Rotated+v.Fallback, v.Ended)}
	if v.Fallback > 0 {
		parts = append(parts, fmt.Sprintf("%d of them without a replacement, by forceful fallback", v.Fallback))
	}
	if v.Expired > 0 {
		parts = append(parts, fmt.Sprintf("%d expired", v.Expired))
	} else {
		parts = append(parts, "none expired")
	}
	if v.SmallestMargin != nil {
		parts = append(parts, "smallest margin "+Rough(v.SmallestMargin.Duration()))
	}
	if v.FailedAttempts > 0 {
		parts = append(parts, plural(v.FailedAttempts, "attempt")+" rolled back")
	}
	if v.Waiting > 0 {
		parts = append(parts, are(v.Waiting)+" due at the end")
	}
	return strings.Join(parts, "; ")
}

func are(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", n)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Rough writes a duration in its two largest units: "3d 2h", "41m 10s".
func Rough(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	unit := time.Second
	switch {
	case d >= day:
		unit = time.Hour
	case d >= time.Hour:
		unit = time.Minute
	}
	return sign + rotation.Spell(d.Truncate(unit))
}
