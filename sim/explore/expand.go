// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"slices"
	"time"

	"noderotation.io/noderotation/sim/cluster"
)

// Step leads from one state to another: a move of an actor's, or a pass with what goes wrong in it.
type Step struct {
	Move  Move
	Fault Fault
	// At is the write that the fault is about, from 1.
	At uint8
	// Other is what happens meanwhile.
	Other Move
}

// successor is a state that a step leads to.
type successor struct {
	step  Step
	state *State
	hash  Hash
	// row that fired, where a pass was made.
	row string
}

// expansion is what comes next from a state.
type expansion struct {
	successors []successor
	breaches   []breachAt
	// fair is the successor by which the world is brought to its end, clean is true where it is there already.
	fair    Hash
	hasFair bool
	clean   bool
	steps   int
}

type breachAt struct {
	step Step
	what string
}

// worker expands states. It is used by one goroutine.
type worker struct {
	scene     *Scene
	canon     *canon
	a, b      *leader
	coverage  *Coverage
	known     func(Hash) bool
	forgetful bool

	// replay, where set, is told of every step.
	replay *replay

	of    *State
	hash  Hash
	moves []Move
	out   expansion
}

func (w *worker) pass(by *leader, r *run) *run {
	by.pass(r)
	if w.replay != nil {
		w.replay.runs = append(w.replay.runs, r)
	}
	return r
}

func (w *worker) sweep(r *run) *run {
	w.a.sweep(r)
	if w.replay != nil {
		w.replay.runs = append(w.replay.runs, r)
	}
	return r
}

// expand finds every state that comes next. The state itself is not changed.
func (w *worker) expand(s *State, hash Hash) expansion {
	w.of, w.hash, w.out = s, hash, expansion{clean: w.scene.clean(s)}
	w.moves = w.scene.moves(s)
	var waits wait
	for _, pool := range w.scene.poolNames() {
		if s.NodePool(pool) == nil && !w.scene.may(DropPool) {
			continue
		}
		pass := w.passes(pool)
		waits.ask(pass, s.now)
	}
	for _, move := range w.moves {
		next := s.clone()
		w.scene.make(next, move)
		w.add(Step{Move: move}, next, "", nil, move.Verb < Wait)
	}
	w.restarts()
	if next := waits.over(s); next != nil {
		w.add(Step{Move: Move{Verb: Wait}}, next, "", nil, true)
	}
	return w.out
}

// wait is how long no pool's decision can change by itself.
type wait struct {
	lasts time.Duration
	known bool
}

func (t *wait) ask(pass *run, now time.Time) {
	if d := pass.pass.Decision; d.Row != nil {
		if lasts, known := d.Lasts(now); known && (!t.known || lasts < t.lasts) {
			t.lasts, t.known = lasts, true
		}
	}
}

// over is the state once so long has passed; nil where nobody knows how long.
func (t *wait) over(s *State) *State {
	if !t.known {
		return nil
	}
	next := s.clone()
	next.now = onGrid(s.now.Add(t.lasts))
	return next
}

// onGrid is the first step of the clock that is not before the moment.
func onGrid(at time.Time) time.Time {
	down := at.Truncate(grid)
	if down.Before(at) {
		return down.Add(grid)
	}
	return down
}

// add adds a successor, unless it is known. The first that is added as fair is the fair one.
func (w *worker) add(step Step, state *State, row string, breaches []string, fair bool) Hash {
	if w.replay != nil {
		w.replay.met(step, state)
	}
	w.out.steps++
	w.coverage.verbs[step.Move.Verb]++
	w.coverage.faults[step.Fault]++
	for _, what := range breaches {
		w.out.breaches = append(w.out.breaches, breachAt{step, what})
	}
	hash := w.canon.hash(state)
	if fair && !w.out.hasFair {
		w.out.fair, w.out.hasFair = hash, true
	}
	if hash != w.hash && !w.known(hash) {
		for _, what := range w.scene.judge(state) {
			w.out.breaches = append(w.out.breaches, breachAt{step, what})
		}
		w.out.successors = append(w.out.successors, successor{step: step, state: state, hash: hash, row: row})
	}
	return hash
}

// passes makes the pool's pass, and everything that can go wrong in it.
func (w *worker) passes(pool string) *run {
	step := Step{Move: Move{Verb: Pass, On: pool}}
	next := w.of.clone()
	whole := w.pass(w.a, &run{live: next, view: w.of.View, pool: pool, keep: true})
	whole.judgeWhole(w.of)
	w.coverage.fired(whole)
	if len(whole.writes) == 0 {
		for _, what := range whole.breaches {
			w.out.breaches = append(w.out.breaches, breachAt{step, what})
		}
		return whole
	}
	hash := w.add(step, next, whole.row(), whole.breaches, true)
	if hash == w.hash {
		w.out.breaches = append(w.out.breaches, breachAt{step, "the pass writes, and nothing changes: " + whole.writes[0].String()})
	}
	w.killed(step, whole, Killed)
	w.refused(step, whole)
	w.behind(step, whole)
	if w.scene.Lags {
		w.overlapping(step, whole)
		w.late(step, whole)
		w.reborn(step, whole)
		w.unseen(step, whole)
	}
	return whole
}

// killed are the states in which a process leaves the cluster when it is killed between two writes.
func (w *worker) killed(step Step, whole *run, fault Fault) {
	step.Fault = fault
	for i := range len(whole.writes) - 1 {
		step.At = uint8(i + 1)
		w.add(step, whole.writes[i].after, "", nil, false)
	}
}

// refused has each write lost to a conflict, and each answer lost after the write took effect. The pass has to end there:
// both leave what a process leaves that is killed.
func (w *worker) refused(step Step, whole *run) {
	for i := range whole.writes {
		for _, fault := range []Fault{Conflict, Unanswered} {
			if w.coverage.enough(whole.row(), i, fault) {
				continue
			}
			step.Fault, step.At = fault, uint8(whole.writes[i].number)
			next := w.of.clone()
			r := w.pass(w.a, &run{live: next, view: w.of.View, pool: whole.pool, fault: fault, at: whole.writes[i].number})
			w.add(step, next, "", r.breaches, false)
			if left := i + int(fault-Conflict); len(r.writes) != left && whole.row() != "" {
				w.out.breaches = append(w.out.breaches, breachAt{step, "the pass goes on after a write that failed"})
			}
		}
	}
}

// behind has the same process make another pass, while its cache does not show one of its own writes.
func (w *worker) behind(step Step, whole *run) {
	step.Fault = OwnLag
	for i := range whole.writes {
		step.At = uint8(i + 1)
		next := whole.live.clone()
		own := whole.own.Clone()
		if w.forgetful {
			own = nil
		}
		r := w.pass(w.a, &run{live: next, view: without(next.View, whole.writes[i].change), pool: whole.pool, own: own})
		if len(r.writes) == 0 {
			w.out.steps++
			w.coverage.faults[OwnLag]++
			continue
		}
		w.add(step, next, "", r.breaches, false)
	}
}

// without is what a cache shows that has not seen the change.
func without(v *cluster.View, change cluster.Change) *cluster.View {
	stale := v.Clone()
	stale.Apply(cluster.Change{Kind: change.Kind, Before: stale.Find(change.Kind, change.Key()), After: change.Before, Version: change.Version})
	return stale
}

// overlapping has another process make a whole pass before one of the writes.
func (w *worker) overlapping(step Step, whole *run) {
	step.Fault = TwoLeaders
	for i := range whole.writes {
		step.At = uint8(whole.writes[i].number)
		next := w.of.clone()
		var other *run
		r := w.pass(w.a, &run{live: next, view: w.of.View, pool: whole.pool, at: int(step.At), before: func(number int) {
			if number == int(step.At) {
				other = w.pass(w.b, &run{live: next, view: next.View.Clone(), pool: whole.pool})
			}
		}})
		w.add(step, next, "", append(r.breaches, other.breaches...), false)
	}
}

// late has the pass decide on a cluster in which something has not happened yet that has. Where leaders overlap, another
// process has even seen it, and acted, before one of the writes.
func (w *worker) late(step Step, whole *run) {
	for _, move := range w.moves {
		next := w.of.clone()
		w.scene.make(next, move)
		step.Fault, step.At, step.Other = Lag, 0, move
		r := w.pass(w.a, &run{live: next, view: w.of.View, pool: whole.pool})
		w.add(step, next, "", r.breaches, false)
		if !w.scene.Leaders {
			continue
		}
		for i := range whole.writes {
			w.overtaken(step, whole, whole.writes[i].number)
		}
	}
	if w.scene.Leaders && len(whole.writes) > 1 {
		w.suspended(step, whole)
	}
}

// suspended has the process stand still for long after its first write, while another one leads and makes a pass.
func (w *worker) suspended(step Step, whole *run) {
	step.Fault, step.At, step.Other = Overtaken, 2, Move{Verb: Wait}
	next := w.of.clone()
	var other *run
	r := w.pass(w.a, &run{live: next, view: w.of.View, pool: whole.pool, after: func(number int) {
		if number == 1 {
			next.now = next.now.Add(readyTimeout + grid).Truncate(grid)
			other = w.pass(w.b, &run{live: next, view: next.View.Clone(), pool: whole.pool})
		}
	}})
	if other != nil {
		w.add(step, next, "", append(r.breaches, other.breaches...), false)
	}
}

// handover is the least that it takes for another process to lead. Stamps have a resolution of a second, and the two
// processes' differ.
const handover = time.Second

// overtaken has another process see the other move, and act, before one of the writes.
func (w *worker) overtaken(step Step, whole *run, at int) {
	step.Fault, step.At = Overtaken, uint8(at)
	next := w.of.clone()
	var other *run
	r := w.pass(w.a, &run{live: next, view: w.of.View, pool: whole.pool, before: func(number int) {
		if number != at {
			return
		}
		if slices.Contains(w.scene.moves(next), step.Other) {
			w.scene.make(next, step.Other)
		}
		next.now = next.now.Add(handover)
		other = w.pass(w.b, &run{live: next, view: next.View.Clone(), pool: whole.pool})
	}})
	if other != nil {
		w.add(step, next, "", append(r.breaches, other.breaches...), false)
	}
}

// restarts has a process start and sweep, and be killed while it does.
func (w *worker) restarts() {
	step := Step{Move: Move{Verb: Restart}}
	next := w.of.clone()
	whole := w.sweep(&run{live: next, view: w.of.View, keep: true})
	if len(whole.writes) > 0 {
		w.killed(step, whole, KilledSweeping)
		w.add(step, next, "", whole.breaches, false)
	} else {
		w.coverage.verbs[Restart]++
	}
	if whole.err != nil {
		w.out.breaches = append(w.out.breaches, breachAt{step, "the sweep ends with an error: " + whole.err.Error()})
	}
	for _, left := range unanchored(next.View) {
		w.out.breaches = append(w.out.breaches, breachAt{step, "after the sweep there is still " + left})
	}
}
