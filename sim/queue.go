// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"container/heap"
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
	expire
	terminate
	drain
	finishNode
	countPool
	consolidate
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
	heap.Push(&q.moves, Due{move, at, q.order})
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
	next, _ := heap.Pop(&q.moves).(Due)
	delete(q.called, next.Move)
	return next, true
}

// dues is a heap: earliest first, at one instant the timed passes first, by pool, and the rest in the order in which they
// were called for.
type dues []Due

func (d dues) Len() int      { return len(d) }
func (d dues) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d dues) Less(i, j int) bool {
	if !d[i].At.Equal(d[j].At) {
		return d[i].At.Before(d[j].At)
	}
	switch a, b := d[i].Verb == timedPass, d[j].Verb == timedPass; {
	case a != b:
		return a
	case a && d[i].On != d[j].On:
		return d[i].On.Name < d[j].On.Name
	default:
		return d[i].order < d[j].order
	}
}

// Push is heap.Interface's.
func (d *dues) Push(x any) {
	if due, ok := x.(Due); ok {
		*d = append(*d, due)
	}
}

// Pop is heap.Interface's.
func (d *dues) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}
