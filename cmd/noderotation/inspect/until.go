// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
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
	if t.Format(form) != text {
		return time.Time{}, fmt.Errorf("--until %q does not occur in %s: the clock is set forward over it", text, zone)
	}
	for _, back := range []time.Duration{2 * time.Hour, time.Hour, 30 * time.Minute} {
		if later := t.Add(back); later.Format(form) == text {
			return later, nil
		}
	}
	return t, nil
}

// Zone is the time zone in which the windows of the pool's policy are written, of the first one where there are several;
// nil when no policy governs the pool, or when it may not be read.
func (i *Inspector) Zone(ctx context.Context, pool string) (*time.Location, error) {
	pools, err := i.named(ctx, pool)
	if err != nil {
		return nil, err
	}
	l := i.look(pool)
	assessments, err := l.reader.Policies.Assess(ctx, i.Now)
	if err != nil {
		return nil, Explain("list", err)
	}
	return firstZone(rotation.Govern(assessments, pools[0].Labels)), nil
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
