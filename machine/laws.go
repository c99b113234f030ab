// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"time"
)

// Options sets what the generic laws measure by.
type Options struct {
	// Bound is the longest `requeue` that a row may have.
	Bound time.Duration
}

// GenericLaws returns the laws that any table should obey, whatever it is
// about: known-names, total, no-shadow, reachable and requeue.
func GenericLaws(o Options) []Law {
	return []Law{knownNames, total, noShadow, reachable, requeue(o.Bound)}
}

var total = Law{
	Name:   "total",
	Reason: "Each pass fires exactly one event, so every state ends with a row that always holds.",
	Check: func(m *Model) []Problem {
		var ps []Problem
		for _, s := range m.Table().States {
			rows := m.Rows(s.Name)
			if len(rows) == 0 {
				ps = append(ps, m.StateProblem(s.Name,
					"no row starts from it, so a pass would find nothing to fire; add one without `when`, or remove the state"))
				continue
			}
			if last := rows[len(rows)-1]; len(last.When) > 0 {
				ps = append(ps, m.RowKeyProblem(last, "when",
					"it is the last row of state %s and is guarded, so a pass could find nothing to fire; "+
						"end the state with a row without `when`", s.Name))
			}
		}
		return ps
	},
}

var noShadow = Law{
	Name:   "no-shadow",
	Reason: "A row that can never fire tells the reader of a behaviour that does not exist.",
	Check: func(m *Model) []Problem {
		var ps []Problem
		for _, s := range m.Table().States {
			firings := m.Firings(s.Name)
			fires := map[*Row]bool{}
			for _, f := range firings {
				fires[f.Row] = true
			}
			for _, r := range m.Rows(s.Name) {
				if !fires[r] && m.Consistent(Facts{}, r.When...) {
					ps = append(ps, shadowed(m, s.Name, r, firings))
				}
			}
		}
		return append(ps, contradictions(m)...)
	},
}

// contradictions has a problem for each row whose conditions can never hold together.
func contradictions(m *Model) []Problem {
	var ps []Problem
	for i := range m.Table().Rows {
		if r := &m.Table().Rows[i]; !m.Consistent(Facts{}, r.When...) {
			ps = append(ps, m.RowKeyProblem(r, "when", "it can never fire, as its conditions contradict each other; remove one of them, or the row"))
		}
	}
	return ps
}

// shadowed says which rows take every case of a row in a state.
func shadowed(m *Model, state string, r *Row, firings []Firing) Problem {
	takes := map[*Row]bool{}
	for _, f := range firings {
		if m.Consistent(f.Facts, r.When...) {
			takes[f.Row] = true
		}
	}
	var takers []string
	for _, above := range m.Rows(state) {
		if takes[above] {
			takers = append(takers, above.ID)
		}
	}
	return m.RowProblem(r, "it can never fire in state %s, where %s above it takes every case; move it up, guard what is above, or remove it",
		state, strings.Join(takers, " or "))
}

var reachable = Law{
	Name:   "reachable",
	Reason: "A state that cannot be entered is dead, and one that cannot be left for the initial state is a trap.",
	Check:  checkReachable,
}

func checkReachable(m *Model) []Problem {
	t := m.Table()
	if _, ok := t.State(t.Initial); !ok {
		return nil // known-names says so; every state would only repeat it
	}
	forth, back := map[string][]string{}, map[string][]string{}
	edge := func(from, to string) {
		forth[from] = append(forth[from], to)
		back[to] = append(back[to], from)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		for _, from := range r.From {
			edge(from, r.To)
			if m.Returns(r) {
				edge(from, t.Initial)
			}
		}
	}
	entered, returning := closure(forth, t.Initial), closure(back, t.Initial)
	var ps []Problem
	for _, s := range t.States {
		if !entered[s.Name] {
			ps = append(ps, m.StateProblem(s.Name, "no sequence of rows leads from %s into it; add a row to it, or remove the state", t.Initial))
		}
		if !returning[s.Name] {
			ps = append(ps, m.StateProblem(s.Name, "no sequence of rows leads from it back to %s; add a row that does", t.Initial))
		}
	}
	return ps
}

// closure is everything that the edges lead to from a start, which included.
func closure(edges map[string][]string, start string) map[string]bool {
	seen := map[string]bool{start: true}
	for open := []string{start}; len(open) > 0; {
		next := edges[open[0]]
		open = open[1:]
		for _, s := range next {
			if !seen[s] {
				seen[s] = true
				open = append(open, s)
			}
		}
	}
	return seen
}

func requeue(bound time.Duration) Law {
	return Law{
		Name:   "requeue",
		Reason: "A pass that sleeps for ever, or for long, misses what no event tells it.",
		Check: func(m *Model) []Problem {
			var ps []Problem
			for i := range m.Table().Rows {
				r := &m.Table().Rows[i]
				switch _, said := r.lines["requeue"]; {
				case r.Requeue == 0 && !said:
					ps = append(ps, m.RowProblem(r, "it has no `requeue`; say how long the pass may sleep, at most %s", bound))
				case r.Requeue <= 0:
					ps = append(ps, m.RowKeyProblem(r, "requeue",
						"its requeue %s is not longer than zero; say how long the pass may sleep, at most %s", r.Requeue, bound))
				case r.Requeue > bound:
					ps = append(ps, m.RowKeyProblem(r, "requeue", "its requeue %s is longer than %s; shorten it", r.Requeue, bound))
				}
			}
			return ps
		},
	}
}
