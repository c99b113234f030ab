// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"
)

// cube is a conjunction of literals.
type cube []literal

// bounds are what a cover must have (low) and all that it may have (high).
type bounds struct{ low, high set }

// covering is a list of cubes and the set that they make together.
type covering struct {
	cubes []cube
	set   set
}

// cover says a set in few words: cubes that together have every case of low and
// none outside of high. No literal can be left out of a cube, and no cube out of
// the list.
func (s *space) cover(low, high set) []cube {
	memo := map[bounds]covering{}
	cubes := s.sum(bounds{low, high}, memo).cubes
	for i, c := range cubes {
		cubes[i] = s.shortened(c, high)
	}
	cubes = s.needed(cubes, low)
	for _, c := range cubes {
		slices.Sort(c)
	}
	slices.SortFunc(cubes, func(a, b cube) int { return cmp.Or(cmp.Compare(len(a), len(b)), slices.Compare(a, b)) })
	return cubes
}

// sum is an irredundant sum of cubes between the bounds, by Minato and Morreale:
// the cubes that need the top guard to fail, those that need it to hold, and
// those that need not ask it.
func (s *space) sum(b bounds, memo map[bounds]covering) covering {
	switch {
	case b.low == none:
		return covering{set: none}
	case b.high == every:
		return covering{[]cube{{}}, every}
	}
	if known, ok := memo[b]; ok {
		return known
	}
	top := min(s.nodes[b.low].guard, s.nodes[b.high].guard)
	low0, low1 := s.split(b.low, top)
	high0, high1 := s.split(b.high, top)
	failing := s.sum(bounds{s.minus(low0, high1), high0}, memo)
	holding := s.sum(bounds{s.minus(low1, high0), high1}, memo)
	rest := s.or(s.minus(low0, failing.set), s.minus(low1, holding.set))
	either := s.sum(bounds{rest, s.and(high0, high1)}, memo)

	var whole covering
	for _, c := range failing.cubes {
		whole.cubes = append(whole.cubes, append(cube{literal(2*top + 1)}, c...))
	}
	for _, c := range holding.cubes {
		whole.cubes = append(whole.cubes, append(cube{literal(2 * top)}, c...))
	}
	whole.cubes = append(whole.cubes, either.cubes...)
	whole.set = s.or(s.make(top, failing.set, holding.set), either.set)
	memo[b] = whole
	return whole
}

// shortened leaves out of a cube what may be left out: first what follows from
// the rest, then denials, and of equals what is asked last.
func (s *space) shortened(c cube, high set) cube {
	order := slices.Clone(c)
	slices.SortFunc(order, func(a, b literal) int {
		return cmp.Or(
			cmp.Compare(rank(s.follows(a, c)), rank(s.follows(b, c))),
			cmp.Compare(rank(!a.holds()), rank(!b.holds())),
			cmp.Compare(b, a))
	})
	kept := slices.Clone(c)
	for _, l := range order {
		shorter := slices.DeleteFunc(slices.Clone(kept), func(k literal) bool { return k == l })
		if s.within(s.all(shorter), high) {
			kept = shorter
		}
	}
	return kept
}

// rank sorts what is so before what is not.
func rank(so bool) int {
	if so {
		return 0
	}
	return 1
}

// follows reports whether a literal is certain once one of the others is.
func (s *space) follows(l literal, others cube) bool {
	return slices.ContainsFunc(others, func(o literal) bool { return o != l && slices.Contains(s.entails[o], l) })
}

// needed leaves out the cubes that the others make up for, long ones first.
func (s *space) needed(cubes []cube, low set) []cube {
	slices.SortStableFunc(cubes, func(a, b cube) int { return cmp.Compare(len(b), len(a)) })
	behind := make([]set, len(cubes)+1)
	for i := len(cubes) - 1; i >= 0; i-- {
		behind[i] = s.or(s.all(cubes[i]), behind[i+1])
	}
	var kept []cube
	have := none
	for i, c := range cubes {
		if !s.within(low, s.or(have, behind[i+1])) {
			kept = append(kept, c)
			have = s.or(have, s.all(c))
		}
	}
	return kept
}

// literals counts the literals of a cover: how long it takes to say.
func literals(cubes []cube) int {
	n := 0
	for _, c := range cubes {
		n += len(c)
	}
	return n
}
