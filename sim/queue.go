// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/sim/cluster"
)

// Verb is what a move does.
type Verb uint8

// The verbs, by actor.
const (
	// timedPass is a pass that came due by itself: at any instant it goes before everything else, as if it had been
	// there for long.
	timedPass Verb = iota
	pass
	showChange
	startController
	stopController
	schedule
	runPod
	endPod
	fillWorkload
	fillDaemons
	countBudget
	provision
	launch
	register
	initialize
	giveUp
	expire
	terminate
	drain
	finishNode
	countPool
	disrupt
	conclude
	collect
	followScript
)

// Move is something that an actor will do: a verb and the object that it is done to. It is a plain value.
type Move struct {
	Verb Verb
	On   cluster.Key
	// UID of the object; empty where whichever has the name is meant.
	UID types.UID
}

// Due is a move and the instant at which it is due.
type Due struct {
	Move
	At time.Time

	order uint64
}

// queue holds the moves to come.
type queue struct {
	moves dues
	order uint64
	// called holds the moves that are called for at the present instant: once is enough.
	called map[Move]struct{}
}

func (q *queue) add(move Move, at time.Time) {
	q.order++
	q.moves.push(Due{move, at, q.order})
}

// once adds a move for the present instant, unless it has been called for already.
func (q *queue) once(move Move, now time.Time) {
	if _, called := q.called[move]; called {
		return
	}
	if q.called == nil {
		q.called = map[Move]struct{}{}
	}
	q.called[move] = struct{}{}
	q.add(move, now)
}

// pop takes the next move out, if one is due by then.
func (q *queue) pop(by time.Time) (Due, bool) {
	if len(q.moves) == 0 || q.moves[0].At.After(by) {
		return Due{}, false
	}
	next := q.moves.pop()
	delete(q.called, next.Move)
	return next, true
}

// dues is a heap: earliest first, at one instant the timed passes first, by pool, and the rest in the order in which they
// were called for.
type dues []Due

func (d dues) before(i, j int) bool {
	a, b := &d[i], &d[j]
	if !a.At.Equal(b.At) {
		return a.At.Before(b.At)
	}
	switch timed := a.Verb == timedPass; {
	case timed != (b.Verb == timedPass):
		return timed
	case timed && a.On != b.On:
		return a.On.Name < b.On.Name
	default:
		return a.order < b.order
	}
}

func (d *dues) push(due Due) {
	*d = append(*d, due)
	heap := *d
	for i := len(heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !heap.before(i, parent) {
			return
		}
		heap[i], heap[parent] = heap[parent], heap[i]
		i = parent
	}
}

func (d *dues) pop() Due {
	heap := *d
	first, last := heap[0], len(heap)-1
	heap[0] = heap[last]
	heap[last] = Due{}
	heap = heap[:last]
	*d = heap
	for i := 0; ; {
		least := 2*i + 1
		if least >= len(heap) {
			return first
		}
		if right := least + 1; right < len(heap) && heap.before(right, least) {
			least = right
		}
		if !heap.before(least, i) {
			return first
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
