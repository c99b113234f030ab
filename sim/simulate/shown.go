// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Codes of what a run has shown, beside the engine's own findings.
const (
	NodeExpired       = "NodeExpired"
	RotationsFailed   = "RotationsFailed"
	FallbackUsed      = "FallbackUsed"
	PoolNotGoverned   = "PoolNotGoverned"
	DrainsPastWindows = "DrainsPastWindows"
)

// shown are the findings of the run itself: what happened to the fleet, and what to change.
func shown(result *Result) []Finding {
	var found []Finding
	for i := range result.Pools {
		pool := &result.Pools[i]
		add := func(code string, severity Severity, since time.Time, format string, args ...any) {
			found = append(found, Finding{code, severity, pool.Name, "NodePool " + pool.Name + ": " + fmt.Sprintf(format, args...), since})
		}
		if pool.Policy == "" {
			add(PoolNotGoverned, Warn, result.Start, "nothing is rotated, and its nodes are left to expire: %s.", pool.Reason)
		}
		if expired := result.ended(pool.Name, Expired); len(expired) > 0 && pool.Policy != "" {
			add(NodeExpired, Fatal, *expired[0].Deleted, "%s expired (%s). %s", plural(len(expired), "node"), names(expired), result.because(pool, expired))
		}
		if failed := result.attempts(pool.Name, Failed); len(failed) > 0 {
			add(RotationsFailed, Warn, failed[0].Start, "%s rolled back, because no replacement stood within readyTimeout; "+
				"see that the cloud has capacity in the nodes' zones, raise readyTimeout if nodes come late, or match fewer node labels.", attempts(len(failed)))
		}
		if fallen := result.ended(pool.Name, Fallback); len(fallen) > 0 {
			add(FallbackUsed, Warn, *fallen[0].Deleted, "%s drained without a replacement, because the deadline was too near for one (%s); "+
				"raise minRotationChances, lengthen the windows, or look at why the earlier chances were missed.", were(len(fallen)), names(fallen))
		}
		if past := result.pastWindows(pool); len(past) > 0 {
			add(DrainsPastWindows, Warn, past[0].Start, "%s still draining when the window closed, the longest by %s; "+
				"a drain that has begun runs on. Where that disturbs, shorten the drain or begin earlier.", were(len(past)), Rough(longestPast(pool, past)))
		}
	}
	return found
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt was"
	}
	return fmt.Sprintf("%d attempts were", n)
}

func were(n int) string {
	if n == 1 {
		return "1 node was"
	}
	return fmt.Sprintf("%d nodes were", n)
}

// because says why nodes expired, and what would have helped.
func (r *Result) because(pool *Pool, expired []*Life) string {
	counts := map[miss]int{}
	for _, life := range expired {
		counts[r.missOf(pool, life)]++
	}
	var reasons []string
	for _, m := range []struct {
		miss miss
		text string
	}{
		{noWindow, "For %d of them no window lay between coming of age and expiring: open windows closer together, or lengthen expireAfter."},
		{tooLate, "For %d of them no rotation came to its end in time: look at the attempts in the timeline."},
		{crowded, "For %d of them the windows that they lived to see were taken up by other nodes: by the policy's estimates they have room for about " +
			plural(pool.Capacity, "rotation") + " each; lengthen the windows or open more of them, lower cooldownAfter, raise minRotationChances, or spread the nodes over several NodePools."},
		{idle, "For %d of them nothing was begun in the windows that they lived to see: look at whether the controller ran, and at findings, " +
			"freezes, the pool's limits and the nodes' protection."},
	} {
		if n := counts[m.miss]; n > 0 {
			reasons = append(reasons, fmt.Sprintf(m.text, n))
		}
	}
	return strings.Join(reasons, " ")
}

// miss is how a node came to expire.
type miss int

const (
	noWindow miss = iota
	tooLate
	crowded
	idle
)

func (r *Result) missOf(pool *Pool, life *Life) miss {
	if slices.ContainsFunc(r.Rotations, func(a *Rotation) bool { return a.Claim == life.Claim && a.Pool == life.Pool }) {
		return tooLate
	}
	missed := noWindow
	for _, w := range pool.Windows {
		switch {
		case life.Due == nil || !w.End.After(*life.Due) || !w.Start.Before(*life.Deadline):
		case w.Rotated+w.Failed > 0:
			return crowded
		default:
			missed = idle
		}
	}
	return missed
}

func (r *Result) ended(pool string, fate Fate) []*Life {
	lives := of(r.Lives, func(l *Life) bool { return l.Pool == pool && l.Fate == fate })
	slices.SortStableFunc(lives, func(a, b *Life) int { return a.Deleted.Compare(*b.Deleted) })
	return lives
}

func (r *Result) attempts(pool string, outcome Outcome) []*Rotation {
	return of(r.Rotations, func(a *Rotation) bool { return a.Pool == pool && a.Outcome == outcome })
}

// pastWindows are the rotations whose drain went on for longer than half an hour after their window had closed.
func (r *Result) pastWindows(pool *Pool) []*Rotation {
	return slices.DeleteFunc(r.attempts(pool.Name, Completed), func(a *Rotation) bool { return pool.past(a) < 30*time.Minute })
}

// past is for how long a rotation went on after its window had closed.
func (p *Pool) past(a *Rotation) time.Duration {
	for _, w := range p.Windows {
		if w.Label == a.Window && a.End != nil {
			return a.End.Sub(w.End)
		}
	}
	return 0
}

func longestPast(pool *Pool, past []*Rotation) time.Duration {
	var longest time.Duration
	for _, a := range past {
		longest = max(longest, pool.past(a))
	}
	return longest
}

// names lists a few nodes.
func names(lives []*Life) string {
	const few = 4
	var list []string
	for i, life := range lives {
		if i == few {
			return strings.Join(list, ", ") + fmt.Sprintf(" and %d more", len(lives)-few)
		}
		list = append(list, life.Claim)
	}
	return strings.Join(list, ", ")
}
