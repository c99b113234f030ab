// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"noderotation.io/noderotation/controller"
)

// Search is an exploration of one scene.
type Search struct {
	Scene *Scene
	// Machine runs the table that is explored.
	Machine *controller.Machine
	// Most is how many states are found at most; zero for all.
	Most int
	// Workers that expand states side by side; one if zero.
	Workers int
	// Hand, where set, stands between the controller and the API server. Forgetful processes do not read their own writes.
	Hand      Hand
	Forgetful bool
	// Progress, where set, is told now and then how far the search is. It returns false to end it there.
	Progress func(Result) bool
}

// Result is what a search has come to.
type Result struct {
	// States were found, judged, and shown to lead back to a clean cluster; of Expanded everything that comes next was found.
	States, Expanded int
	// Steps were made from one state to another.
	Steps int
	// Depth is the length of the longest path to a state, Return the most steps that it took from one to a clean cluster.
	Depth, Return int
	// Coverage of what was exercised.
	Coverage *Coverage
	// Breach is the first one found; nil where every invariant held.
	Breach *Breach
}

// Breach is a broken invariant, and a shortest way to break it.
type Breach struct {
	Scene string
	// What is wrong, in a sentence.
	What string
	// Path from the scene's beginning; what is wrong shows in, or after, its last step.
	Path []Step
}

// chunk is how many states are expanded before what they lead to is gathered in order: so the states that are found, their
// depths and the paths to them are the same whatever the number of workers. What was counted on the way is not, neither
// steps nor coverage: each worker leaves out a refusal once it has tried it often enough, and which worker has a state is
// chance. A breach, too, that shows in nothing but such a refusal may be met by more workers and missed by fewer.
const chunk = 256

// search is a Search under way.
type search struct {
	*Search
	seed     maphash.Seed
	workers  []*worker
	index    map[Hash]int32
	nodes    []node
	steps    map[Step]uint32
	stepOf   []Step
	frontier []found
	result   Result
}

// node is what is kept of every state.
type node struct {
	parent int32
	step   uint32
	// next is the state by which the world is brought to its end: itself where it is clean, none yet where negative.
	next int32
}

// found is a state that has yet to be expanded.
type found struct {
	id    int32
	state *State
	hash  Hash
}

const noNode = -1

// Run explores until every state is found, or as many as may be.
func (s *Search) Run() Result {
	run := &search{
		Search: s, seed: maphash.MakeSeed(), index: map[Hash]int32{}, steps: map[Step]uint32{},
		result: Result{Coverage: newCoverage(s.Machine)},
	}
	for range max(s.Workers, 1) {
		run.workers = append(run.workers, run.worker())
	}
	beginning := s.Scene.State()
	run.insert(noNode, Step{}, beginning, run.workers[0].canon.hash(beginning))
	for len(run.frontier) > 0 && run.result.Breach == nil && !run.full() {
		if !run.level() {
			break
		}
		run.result.Depth++
	}
	if run.result.Breach == nil {
		run.returns()
	}
	for _, w := range run.workers {
		run.result.Coverage.join(w.coverage)
	}
	run.result.States = len(run.nodes)
	return run.result
}

func (s *search) worker() *worker {
	return &worker{
		scene: s.Scene, canon: newCanon(s.Scene, s.seed), a: newLeader(s.Machine, s.Hand), b: newLeader(s.Machine, s.Hand),
		coverage: newCoverage(s.Machine), forgetful: s.Forgetful,
		known: func(h Hash) bool { _, known := s.index[h]; return known },
	}
}

func (s *search) full() bool { return s.Most > 0 && len(s.nodes) >= s.Most }

// level expands every state of one depth; the result is false where the search is to end.
func (s *search) level() bool {
	current := s.frontier
	s.frontier = nil
	for len(current) > 0 && !s.full() && s.result.Breach == nil {
		n := min(chunk, len(current))
		s.gather(current[:n], s.expand(current[:n]))
		clear(current[:n])
		current = current[n:]
		if s.Progress != nil && !s.Progress(Result{States: len(s.nodes), Expanded: s.result.Expanded, Steps: s.result.Steps, Depth: s.result.Depth}) {
			s.frontier = append(current, s.frontier...)
			return false
		}
	}
	s.frontier = append(current, s.frontier...)
	return true
}

// expand expands the states side by side.
func (s *search) expand(states []found) []expansion {
	out := make([]expansion, len(states))
	var next atomic.Int32
	var all sync.WaitGroup
	for _, w := range s.workers {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(states); i = int(next.Add(1)) - 1 {
				out[i] = w.expand(states[i].state, states[i].hash)
			}
		})
	}
	all.Wait()
	return out
}

// gather takes in what the states lead to, in order.
func (s *search) gather(states []found, expansions []expansion) {
	for i := range expansions {
		from, e := states[i].id, &expansions[i]
		s.result.Expanded++
		s.result.Steps += e.steps
		for _, b := range e.breaches {
			if s.result.Breach == nil {
				s.result.Breach = s.breach(from, b.what, b.step)
			}
		}
		for j := range e.successors {
			next := &e.successors[j]
			if _, known := s.index[next.hash]; !known {
				s.insert(from, next.step, next.state, next.hash)
			}
		}
		switch {
		case e.clean:
			s.nodes[from].next = from
		case e.hasFair:
			s.nodes[from].next = s.index[e.fair]
		}
	}
}

func (s *search) insert(parent int32, step Step, state *State, hash Hash) {
	number, known := s.steps[step]
	if !known {
		number = uint32(len(s.stepOf))
		s.steps[step] = number
		s.stepOf = append(s.stepOf, step)
	}
	id := int32(len(s.nodes))
	s.index[hash] = id
	s.nodes = append(s.nodes, node{parent, number, noNode})
	s.frontier = append(s.frontier, found{id, state, hash})
}

// breach is one found in, or after, a step from a state.
func (s *search) breach(from int32, what string, last ...Step) *Breach {
	return &Breach{Scene: s.Scene.Name, What: what, Path: append(s.path(from), last...)}
}

// path to a state.
func (s *search) path(to int32) []Step {
	var path []Step
	for id := to; s.nodes[id].parent != noNode; id = s.nodes[id].parent {
		path = append(path, s.stepOf[s.nodes[id].step])
	}
	slices.Reverse(path)
	return path
}
