// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"slices"
	"strings"
)

// knownNames is also what Decide, Plan and Fire rely on.
var knownNames = Law{
	Name:   "known-names",
	Reason: "A name that nothing answers to, or that two things answer to, would be dropped or overwritten in silence.",
	Check:  checkKnownNames,
}

func checkKnownNames(m *Model) []Problem {
	t := m.Table()
	var ps []Problem
	if _, ok := t.State(t.Initial); !ok {
		ps = append(ps, Problem{
			Line:    t.InitialLine,
			Message: "initial names no state " + quoted(t.Initial) + suggestion(t.Initial, t.StateNames()),
		})
	}
	ids, events := map[string]*Row{}, map[[2]string]*Row{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if first := ids[r.ID]; first != nil {
			ps = append(ps, m.RowKeyProblem(r, "id", "line %d has a row of the same id; give one of them another", first.Line))
		} else {
			ids[r.ID] = r
		}
		for _, from := range r.From {
			key := [2]string{r.Event, from}
			if first := events[key]; first != nil {
				ps = append(ps, m.RowKeyProblem(r, "event",
					"event %s from state %s is already that of row %s in line %d; name one of the two events differently",
					r.Event, from, first.ID, first.Line))
			} else {
				events[key] = r
			}
		}
		ps = append(ps, unknownNames(m, r)...)
	}
	return ps
}

// unknownNames has a problem for each name in a row that nothing answers to.
func unknownNames(m *Model, r *Row) []Problem {
	states := m.Table().StateNames()
	var ps []Problem
	missing := func(key, kind, name string, known []string) {
		if !slices.Contains(known, name) {
			ps = append(ps, m.RowKeyProblem(r, key, "%s names no %s %s%s", key, kind, quoted(name), suggestion(name, known)))
		}
	}
	for _, from := range r.From {
		missing("from", "state", from, states)
	}
	missing("to", "state", r.To, states)
	for _, c := range r.When {
		missing("when", "guard", c.Guard, guardNames(m))
	}
	for _, e := range r.Do {
		missing("do", "effect", e, effectNames(m))
	}
	return ps
}

func guardNames(m *Model) []string {
	names := make([]string, len(m.guards))
	for i, g := range m.guards {
		names[i] = g.Name
	}
	return names
}

func effectNames(m *Model) []string {
	names := make([]string, len(m.effects))
	for i, e := range m.effects {
		names[i] = e.Name
	}
	return names
}

func quoted(name string) string { return `"` + name + `"` }

// suggestion ends a sentence about an unknown name with the likely one, or with
// all there are if they are few.
func suggestion(name string, known []string) string {
	const few = 8
	if len(known) > 0 {
		near := slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
		if distance(name, near) <= 1+len(name)/4 {
			return "; did you mean " + quoted(near) + "?"
		}
	}
	if len(known) <= few {
		return "; there are: " + strings.Join(known, ", ")
	}
	return "; correct the name, or register it"
}

// Nearest returns the known names that a mistyped one may have been meant to
// be, the nearest first and at most so many. A name that begins with the given
// one, or that one with it, is near too.
func Nearest(name string, known []string, most int) []string {
	var near []string
	for _, k := range known {
		begins := name != "" && (strings.HasPrefix(k, name) || strings.HasPrefix(name, k))
		if begins || distance(name, k) <= 1+len(name)/4 {
			near = append(near, k)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(name, a), distance(name, b)), cmp.Compare(a, b))
	})
	return near[:min(most, len(near))]
}

// distance is how many letters must be put in, taken out or replaced to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
