// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"noderotation.io/noderotation/rotation"
)

func parseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("--selector is %q, which is no label selector; write one such as workload=api: %w", text, err)
	}
	return selector, nil
}

// wallClocks are the forms of a time without a zone.
var wallClocks = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}

// ParseUntil reads a moment: RFC3339, or a wall clock's time in the zone. A time that the wall clock shows twice, on a day
// on which it is set back, is the later one; one that it never shows is an error. A nil zone is one that is not known.
func ParseUntil(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		if zone == nil {
			zone = time.UTC
		}
		return t.In(zone), nil
	}
	for _, form := range wallClocks {
		if _, err := time.Parse(form, text); err != nil {
			continue
		}
		if zone == nil {
			return time.Time{}, fmt.Errorf("--until %q has no time zone and no policy's windows give one: add --timezone, such as Asia/Tokyo or UTC", text)
		}
		return onTheClock(form, text, zone)
	}
	return time.Time{}, fmt.Errorf("--until %q is no time: write one such as 2026-01-10T02:00:00+09:00, or \"2026-01-10 02:00\"", text)
}

func onTheClock(form, text string, zone *time.Location) (time.Time, error) {
	t, err := time.ParseInLocation(form, text, zone)
	if err != nil {
		return time.Time{}, err
	}
	clock, err := time.Parse(form, text) // in UTC, whose clock is never set: what is written
	if err != nil {
		return time.Time{}, err
	}
	shown := clock.Format(form) // not the text, which may lack zeros
	if t.Format(form) != shown {
		return time.Time{}, fmt.Errorf("--until %q does not occur in %s: the clock is set forward over it", text, zone)
	}
	for _, back := range []time.Duration{2 * time.Hour, time.Hour, 30 * time.Minute} {
		if later := t.Add(back); later.Format(form) == shown {
			return later, nil
		}
	}
	return t, nil
}

// Zone is a time zone in which the windows of some pools are written, and the first of those pools.
type Zone struct {
	*time.Location

	pool string
}

// Zones are the time zones in which freezes of the pools are thought of, each once: those of their policies' windows, of the first
// one where a policy has several. Pools that no policy governs have none, nor have those that may not be read, which are told of
// in their turn. The error is that of the first pool where none of them can be read.
func (i *Inspector) Zones(ctx context.Context, pools []string) ([]Zone, error) {
	assessments, err := i.look("").reader.Policies.Assess(ctx, i.Now)
	if err != nil {
		return nil, Explain("list", err)
	}
	var zones []Zone
	var first error
	read := false
	for _, name := range pools {
		np, err := i.named(ctx, name)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		read = true
		zone := firstZone(rotation.Govern(assessments, np[0].Labels))
		if zone != nil && !slices.ContainsFunc(zones, func(z Zone) bool { return z.String() == zone.String() }) {
			zones = append(zones, Zone{zone, name})
		}
	}
	if read {
		return zones, nil
	}
	return nil, first
}

// ParseUntilAmong reads a moment as ParseUntil does, in zones that must agree on it: a wall clock's time that is another
// instant in one of them is an error, and none is guessed.
func ParseUntilAmong(text string, zones []Zone) (time.Time, error) {
	if len(zones) == 0 {
		return ParseUntil(text, nil)
	}
	until, err := ParseUntil(text, zones[0].Location)
	for _, zone := range zones[1:] {
		other, problem := ParseUntil(text, zone.Location)
		if err == nil && problem == nil && !other.Equal(until) {
			return time.Time{}, fmt.Errorf("--until %q is one instant in %s, where the windows of NodePool %s are, and another in %s, where those of NodePool %s are: "+
				"add --timezone with the zone that you mean", text, zones[0], zones[0].pool, zone, zone.pool)
		}
		err = cmp.Or(err, problem)
	}
	return until, err
}

func firstZone(g rotation.Governance) *time.Location {
	if g.Policy == nil || len(g.Policy.Spec.MaintenanceWindows) == 0 {
		return nil
	}
	zone, err := time.LoadLocation(g.Policy.Spec.MaintenanceWindows[0].Timezone)
	if err != nil {
		return nil
	}
	return zone
}
