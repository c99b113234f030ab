// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"noderotation.io/noderotation/machine"
)

// space has the cases of one state: the truth assignments of the guards that
// rows of either table ask there.
type space struct {
	*diagram
	guards []string
	index  map[string]int
	// entails has for each literal those that are certain with it.
	entails [][]literal
	// consistent has the cases that the declarations allow.
	consistent set
}

// newSpace makes the space of some rows. Guards are asked in the order in which
// the rows do, which keeps the diagrams small.
func newSpace(m *machine.Model, rows ...*machine.Row) *space {
	s := &space{diagram: newDiagram(), index: map[string]int{}, consistent: every}
	for _, r := range rows {
		for _, c := range r.When {
			if _, known := s.index[c.Guard]; !known {
				s.index[c.Guard] = len(s.guards)
				s.guards = append(s.guards, c.Guard)
			}
		}
	}
	// All that follows from the declarations follows from pairs of literals, as
	// each implication is one; so what holds among these guards alone is what
	// each literal of theirs entails, however many other guards lie between.
	s.entails = make([][]literal, 2*len(s.guards))
	for l := range literal(2 * len(s.guards)) {
		facts, possible := m.Assume(machine.Facts{}, s.condition(l))
		follows := none
		if possible {
			s.entails[l] = s.literals(facts.Conditions())
			follows = s.all(s.entails[l])
		}
		s.consistent = s.and(s.consistent, s.or(s.of(l^1), follows))
	}
	return s
}

// condition is what a literal says.
func (s *space) condition(l literal) machine.Condition {
	return machine.Condition{Guard: s.guards[l.guard()], Not: !l.holds()}
}

// literals are the conditions on guards of the space.
func (s *space) literals(conditions []machine.Condition) []literal {
	var all []literal
	for _, c := range conditions {
		if i, known := s.index[c.Guard]; known {
			l := literal(2 * i)
			if c.Not {
				l ^= 1
			}
			all = append(all, l)
		}
	}
	return all
}

// fires has for each row the cases in which it fires, and at the end those in
// which none does.
func (s *space) fires(rows []*machine.Row) []set {
	fires := make([]set, 0, len(rows)+1)
	left := s.consistent
	for _, r := range rows {
		mine := s.and(left, s.all(s.literals(r.When)))
		fires = append(fires, mine)
		left = s.minus(left, mine)
	}
	return append(fires, left)
}

// words turns cubes into conditions.
func (s *space) words(cubes []cube) Cover {
	cover := make(Cover, len(cubes))
	for i, c := range cubes {
		cover[i] = Clause{}
		for _, l := range c {
			cover[i] = append(cover[i], s.condition(l))
		}
	}
	return cover
}
