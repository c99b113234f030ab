// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
)

// logic knows a set of guards and what follows from what.
//
// Every declared implication reads "guard A holds ⇒ condition C", so every
// clause has the negative literal ¬A. Two things follow, and the laws rest on
// them. Once propagation ends without a contradiction, letting all guards that
// are still open fail satisfies every clause: propagation alone decides
// consistency exactly. And as no guard is impossible by itself (NewRegistry
// sees to it), a propagated set of facts contains everything that follows.
type logic struct {
	names []string
	index map[string]int
	// follows[l] are the literals that hold when literal l does.
	follows [][]literal
}

// literal is a guard's index and a sign: 2i holds, 2i+1 does not hold.
type literal int

func (l literal) negated() literal { return l ^ 1 }

// newLogic knows the declared guards, and the undeclared names as guards that
// imply nothing: an unknown name in a table is reported by known-names and must
// not stop the other laws.
func newLogic(guards []GuardDecl, undeclared []string) *logic {
	l := &logic{index: make(map[string]int, len(guards))}
	for _, g := range guards {
		l.add(g.Name)
	}
	for _, name := range undeclared {
		l.add(name)
	}
	for _, g := range guards {
		for _, c := range g.Implies {
			l.add(c.Guard)
		}
	}
	l.follows = make([][]literal, 2*len(l.names))
	for _, g := range guards {
		for _, c := range g.Implies {
			a, b := l.literal(Is(g.Name)), l.literal(c)
			l.follows[a] = append(l.follows[a], b)
			l.follows[b.negated()] = append(l.follows[b.negated()], a.negated())
		}
	}
	return l
}

func (l *logic) add(name string) {
	if _, known := l.index[name]; !known {
		l.index[name] = len(l.names)
		l.names = append(l.names, name)
	}
}

// literal of a condition; -1 for a guard that is not known here.
func (l *logic) literal(c Condition) literal {
	i, ok := l.index[c.Guard]
	switch {
	case !ok:
		return -1
	case c.Not:
		return literal(2*i + 1)
	}
	return literal(2 * i)
}

// nothing is the empty set of facts.
func (l *logic) nothing() Facts {
	return Facts{logic: l, truth: make([]truth, len(l.names))}
}

// assume returns the facts with the conditions and all that follows from them,
// and false if that contradicts itself. f is left as it was.
func (l *logic) assume(f Facts, conditions ...Condition) (Facts, bool) {
	next := Facts{logic: l, truth: append([]truth(nil), f.truth...)}
	var open []literal
	for _, c := range conditions {
		if lit := l.literal(c); lit >= 0 {
			open = append(open, lit)
		}
	}
	for len(open) > 0 {
		lit := open[len(open)-1]
		open = open[:len(open)-1]
		switch next.of(lit) {
		case holds:
		case fails:
			return Facts{}, false
		default:
			next.set(lit)
			open = append(open, l.follows[lit]...)
		}
	}
	return next, true
}

// truth is what is known of one guard.
type truth uint8

const (
	unknown truth = iota
	holds
	fails
)

// Facts is what is known of the guards in some set of cases: for each guard
// that it holds, that it fails, or nothing. It is closed: whatever follows from
// the declared implications is known too. Values are immutable; the zero value
// knows nothing.
type Facts struct {
	logic *logic
	truth []truth
}

// of is the truth of a literal.
func (f Facts) of(l literal) truth {
	t := f.truth[l>>1]
	if t == unknown || l&1 == 0 {
		return t
	}
	return holds + fails - t
}

func (f Facts) set(l literal) {
	f.truth[l>>1] = holds
	if l&1 == 1 {
		f.truth[l>>1] = fails
	}
}

// Known says whether the condition is satisfied, and whether that is known.
func (f Facts) Known(c Condition) (satisfied, known bool) {
	if f.logic == nil {
		return false, false
	}
	lit := f.logic.literal(c)
	if lit < 0 {
		return false, false
	}
	t := f.of(lit)
	return t == holds, t != unknown
}

// Holds reports whether the condition is known to be satisfied in every case.
func (f Facts) Holds(c Condition) bool {
	satisfied, known := f.Known(c)
	return known && satisfied
}

// Conditions lists what is known, in the order in which guards are registered.
func (f Facts) Conditions() []Condition {
	var known []Condition
	for i, t := range f.truth {
		if t != unknown {
			known = append(known, Condition{Guard: f.logic.names[i], Not: t == fails})
		}
	}
	return known
}

// String lists what is known as a table would: "in_window, not frozen".
func (f Facts) String() string {
	known := f.Conditions()
	if len(known) == 0 {
		return "always"
	}
	words := make([]string, len(known))
	for i, c := range known {
		words[i] = c.String()
	}
	return strings.Join(words, ", ")
}
