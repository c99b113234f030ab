// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// mostToReturn bounds the steps by which the world is brought back to a clean cluster, from any state.
const mostToReturn = 80

// returns shows that every state can be brought back to idle with nothing of ours left. Every state that was expanded
// knows which step a fair world takes: what a pass has to write is written, what has begun ends, and only where nothing
// else can happen the time passes. The controller need not be started again for it. From the others the world is followed until it comes to one that is known.
func (s *search) returns() {
	ends := make([]end, len(s.frontier))
	var next atomic.Int32
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() {
			seen := map[Hash]end{}
			for i := int(next.Add(1)) - 1; i < len(s.frontier); i = int(next.Add(1)) - 1 {
				ends[i] = s.follow(w, &s.frontier[i], seen)
			}
		})
	}
	all.Wait()
	distance := make([]int32, len(s.nodes))
	for i := range ends {
		id := s.frontier[i].id
		switch e := ends[i]; {
		case e.stuck != "":
			s.stuck(id, e.stuck)
			return
		case e.known == noNode:
			s.nodes[id].next, distance[id] = id, e.steps
		default:
			s.nodes[id].next, distance[id] = e.known, e.steps
		}
	}
	s.measure(distance)
}

// end is where a state is brought: a clean cluster, or a state that is known, and in how many steps.
type end struct {
	known int32
	steps int32
	stuck string
}

// follow follows a fair world from a state that was not expanded.
func (s *search) follow(w *worker, from *found, seen map[Hash]end) end {
	state, hash := from.state, from.hash
	var trail []Hash
	var result end
	for steps := int32(0); ; steps++ {
		if e, known := seen[hash]; known {
			result = end{e.known, e.steps + steps, e.stuck}
			break
		}
		if id, known := s.index[hash]; known && id != from.id {
			result = end{known: id, steps: steps}
			break
		}
		if w.scene.clean(state) {
			result = end{noNode, steps, ""}
			break
		}
		trail = append(trail, hash)
		next := w.fair(state)
		if next == nil || steps > mostToReturn {
			result = end{noNode, steps, "nothing more can happen, and the cluster is not as it was"}
			if next != nil {
				result.stuck = fmt.Sprintf("after %d more steps the cluster is not as it was", steps)
			}
			break
		}
		state, hash = next, w.canon.hash(next)
	}
	for i, h := range trail {
		seen[h] = end{result.known, result.steps - int32(i), result.stuck}
	}
	return result
}

// fair is the state that a fair world comes to next; nil where nothing more can happen. It agrees with expand.
func (w *worker) fair(s *State) *State {
	var waits wait
	for _, pool := range w.scene.poolNames() {
		if s.NodePool(pool) == nil && !w.scene.may(DropPool) {
			continue
		}
		next := s.clone()
		r := w.pass(w.a, &run{live: next, view: s.View, pool: pool})
		if len(r.writes) > 0 {
			return next
		}
		waits.ask(r, s.now)
	}
	for _, move := range w.scene.moves(s) {
		if move.Verb < Wait {
			next := s.clone()
			w.scene.make(next, move)
			return next
		}
	}
	return waits.over(s)
}

// measure finds how far every state is from a clean cluster, and those that never come to one.
func (s *search) measure(distance []int32) {
	const unknown, underway = 0, 1
	status := make([]uint8, len(s.nodes))
	for start := range s.nodes {
		var trail []int32
		id := int32(start)
		for status[id] == unknown && s.nodes[id].next != id {
			status[id] = underway
			trail = append(trail, id)
			id = s.nodes[id].next
			if id == noNode {
				s.stuck(trail[len(trail)-1], "nothing more can happen, and the cluster is not as it was")
				return
			}
		}
		if status[id] == underway {
			s.stuck(id, "a fair world goes round in circles from here, and the cluster is never as it was")
			return
		}
		status[id] = 2
		for i := len(trail) - 1; i >= 0; i-- {
			of := trail[i]
			distance[of] = distance[s.nodes[of].next] + max(distance[of], 1)
			status[of] = 2
			s.result.Return = max(s.result.Return, int(distance[of]))
		}
	}
	if s.result.Return > mostToReturn {
		s.stuck(0, fmt.Sprintf("it takes %d steps back to a clean cluster", s.result.Return))
	}
}

func (s *search) stuck(id int32, what string) {
	if s.result.Breach == nil {
		s.result.Breach = s.breach(id, what)
	}
}
