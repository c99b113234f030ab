// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"time"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// reborn has a process end after each of its writes, and another one begin with NodePools and NodeClaims as they were before
// the first: at once, and when the attempt that it takes for pending has run out of time. Of Nodes and Pods it has the
// newest: every kind has a watch of its own.
func (w *worker) reborn(step Step, whole *run) {
	step.Fault = Reborn
	for i := range whole.writes {
		step.At = uint8(i + 1)
		view, behind := before(whole.writes[:i+1])
		if !behind {
			continue
		}
		w.belated(step, whole, whole.writes[i].after, &run{view: view, pool: whole.pool})
	}
}

// before is what a cache shows once there were these writes, but for those of NodePools and NodeClaims; behind is true where there are some.
func before(writes []write) (view *cluster.View, behind bool) {
	view = writes[len(writes)-1].after.View
	for i := len(writes) - 1; i >= 0; i-- {
		if kind := writes[i].kind; kind == cluster.NodePool || kind == cluster.NodeClaim {
			view, behind = without(view, writes[i].change), true
		}
	}
	return view, behind
}

// unseen has the answer to each write lost, and the same process go on while its cache does not show that it took effect.
func (w *worker) unseen(step Step, whole *run) {
	step.Fault = Unseen
	for i := range whole.writes {
		step.At = uint8(i + 1)
		after := w.of.clone()
		first := w.pass(w.a, &run{live: after, view: w.of.View, pool: whole.pool, fault: Unanswered, at: whole.writes[i].number})
		if len(first.writes) == 0 {
			continue
		}
		view := without(after.View, first.writes[len(first.writes)-1].change)
		w.belated(step, first, after, &run{view: view, pool: whole.pool, own: first.own})
	}
}

// belated has the second run made after the first, which has left this state: at once, and after a timeout in its view.
func (w *worker) belated(step Step, first *run, left *State, second *run) {
	w.second(step, first, left.clone(), *second)
	if out, pending := timesOut(second.view, second.pool); pending && out.After(left.now) {
		next := left.clone()
		next.now = onGrid(out)
		step.Other = Move{Verb: Wait}
		w.second(step, first, next, *second)
	}
}

func (w *worker) second(step Step, first *run, next *State, r run) {
	r.live = next
	switch {
	case w.forgetful:
		r.own = nil
	case r.own != nil:
		r.own = r.own.Clone()
	}
	w.pass(w.a, &r)
	if len(r.writes) == 0 && w.replay == nil {
		w.out.steps++
		w.coverage.faults[step.Fault]++
		return
	}
	if w.replay != nil {
		w.replay.runs = append(w.replay.runs, first, &r)
	}
	w.add(step, next, "", r.breaches, false)
}

// timesOut is when the attempt that a cache shows as pending has run out of time.
func timesOut(v *cluster.View, pool string) (out time.Time, pending bool) {
	np := v.NodePool(pool)
	if np == nil {
		return out, false
	}
	claim := v.NodeClaim(np.Annotations[rotation.KeyActiveRotation])
	if claim == nil || claim.Annotations[rotation.KeyState] != rotation.StatePending {
		return out, false
	}
	started, err := time.Parse(time.RFC3339, claim.Annotations[rotation.KeyStartedAt])
	return started.Add(readyTimeout), err == nil
}
