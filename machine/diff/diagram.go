// SPDX-License-Identifier: Apache-2.0

package diff

import "math"

// set is a set of cases: a node of a diagram, and all below it. Equal sets of
// one diagram are equal numbers.
type set int32

const (
	none set = iota
	every
)

// node asks one guard; low has the cases in which it fails, high those in which
// it holds. Guards are asked in rising order on every way down.
type node struct {
	guard     int32
	low, high set
}

// constant is the guard of none and every: behind all others.
const constant = math.MaxInt32

// diagram is a reduced ordered binary decision diagram.
type diagram struct {
	nodes  []node
	unique map[node]set
	chosen map[[3]set]set
}

func newDiagram() *diagram {
	return &diagram{
		nodes:  []node{{constant, none, none}, {constant, every, every}},
		unique: map[node]set{},
		chosen: map[[3]set]set{},
	}
}

// literal is a guard's place in the diagram and a sign: 2i holds, 2i+1 fails.
type literal int

func (l literal) guard() int  { return int(l >> 1) }
func (l literal) holds() bool { return l&1 == 0 }

// of has the cases in which the literal is satisfied.
func (d *diagram) of(l literal) set {
	if l.holds() {
		return d.make(int32(l.guard()), none, every)
	}
	return d.make(int32(l.guard()), every, none)
}

func (d *diagram) make(guard int32, low, high set) set {
	if low == high {
		return low
	}
	n := node{guard, low, high}
	s, known := d.unique[n]
	if !known {
		s = set(len(d.nodes))
		d.nodes = append(d.nodes, n)
		d.unique[n] = s
	}
	return s
}

// choose has the cases of yes that are in f, and those of no that are not.
func (d *diagram) choose(f, yes, no set) set {
	switch {
	case f == every || yes == no:
		return yes
	case f == none:
		return no
	case yes == every && no == none:
		return f
	}
	key := [3]set{f, yes, no}
	if s, known := d.chosen[key]; known {
		return s
	}
	top := min(d.nodes[f].guard, d.nodes[yes].guard, d.nodes[no].guard)
	f0, f1 := d.split(f, top)
	yes0, yes1 := d.split(yes, top)
	no0, no1 := d.split(no, top)
	s := d.make(top, d.choose(f0, yes0, no0), d.choose(f1, yes1, no1))
	d.chosen[key] = s
	return s
}

// split has what is left of a set once the guard, which none of its own comes
// before, is known to fail, and once it is known to hold.
func (d *diagram) split(s set, guard int32) (low, high set) {
	if n := d.nodes[s]; n.guard == guard {
		return n.low, n.high
	}
	return s, s
}

func (d *diagram) and(a, b set) set   { return d.choose(a, b, none) }
func (d *diagram) or(a, b set) set    { return d.choose(a, every, b) }
func (d *diagram) minus(a, b set) set { return d.choose(b, none, a) }
func (d *diagram) not(a set) set      { return d.choose(a, none, every) }

// within reports whether every case of a is in b.
func (d *diagram) within(a, b set) bool { return d.minus(a, b) == none }

// all has the cases in which every literal is satisfied.
func (d *diagram) all(literals []literal) set {
	s := every
	for _, l := range literals {
		s = d.and(s, d.of(l))
	}
	return s
}
