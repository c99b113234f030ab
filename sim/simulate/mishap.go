// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
	"time"

	"noderotation.io/noderotation/rotation"
)

// Mishap is one stretch of trouble and what it met. To meet is to overlap in time: a launch that had luck in a shortage
// counts too.
type Mishap struct {
	// What went wrong, such as "shortage" or "freeze of NodePool api".
	What  string    `json:"what"`
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
	// Rotations that it met in the part of them that it can disturb, and RolledBack of those.
	Rotations  int `json:"rotations"`
	RolledBack int `json:"rolledBack"`
	// OpenWindows were open at some time of it.
	OpenWindows int `json:"openWindows"`
	// Text is a sentence on it.
	Text string `json:"text"`

	// holds tells whether no rotation can begin in it; taken is for how long windows were open in it, and whole whether it had
	// those windows from their opening to their close.
	holds, whole bool
	taken        time.Duration
}

// part is when a rotation is in the part that a trouble can disturb; from is nil where it never was, and until where it
// had not ended with the run.
type part func(*Rotation) (from, until *time.Time)

func whole(r *Rotation) (from, until *time.Time) { return &r.Start, r.End }

func surging(r *Rotation) (from, until *time.Time) {
	switch {
	case r.Fallback:
		return nil, nil
	case r.Draining != nil:
		return &r.Start, r.Draining
	default:
		return &r.Start, r.End
	}
}

func draining(r *Rotation) (from, until *time.Time) { return r.Draining, r.End }

// mishaps tells what every trouble of the input met.
func (in *Input) mishaps(result *Result, o Options) []Mishap {
	all := []Mishap{}
	add := func(what string, s Stretch, pool string, disturbed part) {
		all = append(all, s.mishap(Mishap{What: what}, pool, disturbed, result, o))
	}
	hold := func(what string, s Stretch, pool string) {
		all = append(all, s.mishap(Mishap{What: what, holds: true}, pool, whole, result, o))
	}
	for _, t := range in.Troubles {
		for _, s := range t.Shortages {
			what := "shortage"
			if s.Zone != "" {
				what += " in zone " + s.Zone
			}
			add(what, s.Stretch, "", surging)
		}
		for _, s := range t.SlowProvisioning {
			add("slow provisioning", s.Stretch, "", surging)
		}
		for _, s := range t.SlowDrains {
			add("slow draining", s.Stretch, "", draining)
		}
		for _, b := range t.BlockingBudgets {
			what := "blocking budget"
			if b.Namespace != "" {
				what += " of namespace " + b.Namespace
			}
			add(what, b.Stretch, in.poolOfNamespace(b.Namespace), draining)
		}
		for _, s := range t.Outages {
			hold("outage", s, "")
		}
		for _, f := range t.Freezes {
			hold("freeze of NodePool "+f.Pool, f.Stretch, f.Pool)
		}
	}
	return all
}

// poolOfNamespace is the pool of the Fleet whose Pods alone are in the namespace; empty where it may be any.
func (in *Input) poolOfNamespace(namespace string) string {
	for _, pod := range in.Pods {
		if pod.Namespace == namespace {
			return ""
		}
	}
	for _, f := range in.Fleets {
		if f.Pool == namespace {
			return namespace
		}
	}
	return ""
}

// mishap tells what a stretch of trouble met, in one pool or, without one, in all.
func (s Stretch) mishap(m Mishap, pool string, disturbed part, result *Result, o Options) Mishap {
	from, until := s.bounds(o)
	m.From, m.Until = from.UTC(), until.UTC()
	for _, r := range result.Rotations {
		begins, ends := disturbed(r)
		if (pool != "" && r.Pool != pool) || begins == nil || !begins.Before(until) || (ends != nil && !ends.After(from)) {
			continue
		}
		m.Rotations++
		if r.Outcome == Failed {
			m.RolledBack++
		}
	}
	known := m.meetWindows(result.Pools, pool)
	m.Text = fmt.Sprintf("the %s %s %s", m.What, s.words(o), m.words(known, result.End))
	return m
}

// meetWindows counts the windows that were open in it, and tells whether they are known: a controller must have seen the pool.
func (m *Mishap) meetWindows(pools []Pool, pool string) (known bool) {
	met := map[string]bool{} // pools of one policy share theirs
	known, m.whole = true, true
	for _, p := range pools {
		if pool != "" && p.Name != pool {
			continue
		}
		known = known && p.Reason != neverSeen
		for _, w := range p.Windows {
			if met[w.Label] || !w.Start.Before(m.Until) || !w.End.After(m.From) {
				continue
			}
			met[w.Label] = true
			from, until := later(w.Start, m.From), earlier(w.End, m.Until)
			m.taken += until.Sub(from)
			m.whole = m.whole && from.Equal(w.Start) && until.Equal(w.End)
		}
	}
	m.OpenWindows = len(met)
	return known
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// words say what it met. Windows are known of pools that a controller has seen.
func (m Mishap) words(known bool, end time.Time) string {
	switch kept := m.kept(); {
	case m.Rotations > 0 && kept != "":
		return m.met() + ", and " + kept
	case m.Rotations > 0:
		return m.met()
	case kept != "":
		return kept
	case !m.From.Before(end):
		return "met no rotation: the run had ended before"
	case m.OpenWindows == 1:
		return "met no rotation, though 1 window was open then"
	case m.OpenWindows > 1:
		return fmt.Sprintf("met no rotation, though %d windows were open then", m.OpenWindows)
	case !known:
		return "met no rotation: no controller ran"
	default:
		return "met no rotation: no window was open then"
	}
}

func (m Mishap) met() string {
	if m.RolledBack > 0 {
		return fmt.Sprintf("met %s, %d of them rolled back", plural(m.Rotations, "rotation"), m.RolledBack)
	}
	return fmt.Sprintf("met %s, none rolled back", plural(m.Rotations, "rotation"))
}

// kept says what a trouble in which no rotation can begin took from the fleet; empty where it took nothing.
func (m Mishap) kept() string {
	switch {
	case !m.holds || m.OpenWindows == 0:
		return ""
	case m.whole:
		return fmt.Sprintf("kept %s from being used", plural(m.OpenWindows, "window"))
	default:
		return fmt.Sprintf("kept %s from being used for %s", plural(m.OpenWindows, "window"), packed(m.taken))
	}
}

// words are the stretch as the command line has it.
func (s Stretch) words(o Options) string {
	from, _ := s.bounds(o)
	begins := from.UTC().Format(time.RFC3339)
	if s.From.At.IsZero() {
		begins = packed(s.From.After)
	}
	switch {
	case s.For != nil:
		return "of " + begins + "+" + packed(time.Duration(*s.For))
	case !from.After(o.Start):
		return "of the whole run"
	default:
		return "from " + begins + " on"
	}
}

// packed writes a duration as a Span is written.
func packed(d time.Duration) string { return strings.ReplaceAll(rotation.Spell(d), " ", "") }

// idle tells whether the trouble met no rotation and kept none from beginning, and so has shown nothing.
func (m Mishap) idle() bool { return m.Rotations == 0 && m.kept() == "" }
