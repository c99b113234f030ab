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

// checkKnownNames is also asked about a table that could not be read wholly. A name that is missing from it, or a state, is
// then no problem of its own.
func checkKnownNames(m *Model) []Problem {
	t := m.Table()
	var ps []Problem
	if _, ok := t.State(t.Initial); !ok && !t.statesUnread && !t.unread(t.Initial) {
		ps = append(ps, Problem{
			Line:    t.InitialLine,
			Message: "initial names no state " + quoted(t.Initial) + suggestion(t.Initial, t.StateNames()),
		})
	}
	names := taken{ids: map[string]*Row{}, events: map[[2]string]*Row{}}
	for i := range t.Rows {
		r := &t.Rows[i]
		ps = append(ps, names.id(m, r)...)
		ps = append(ps, names.event(m, r)...)
		ps = append(ps, unknownStates(m, r)...)
		ps = append(ps, unknownNames(m, r)...)
	}
	return ps
}

// taken has the first row of each id, and of each event from a state.
type taken struct {
	ids    map[string]*Row
	events map[[2]string]*Row
}

// id has a problem where an earlier row has the row's id.
func (t taken) id(m *Model, r *Row) []Problem {
	if m.Table().unread(r.ID) {
		return nil
	}
	if first := t.ids[r.ID]; first != nil {
		return []Problem{m.RowKeyProblem(r, "id", "line %d has a row of the same id; give one of them another", first.Line)}
	}
	t.ids[r.ID] = r
	return nil
}

// event has a problem for each state from which an earlier row has the row's event.
func (t taken) event(m *Model, r *Row) []Problem {
	var ps []Problem
	for _, from := range r.From {
		if m.Table().unread(from) || m.Table().unread(r.Event) {
			continue
		}
		key := [2]string{r.Event, from}
		first := t.events[key]
		if first == nil {
			t.events[key] = r
			continue
		}
		ps = append(ps, m.RowKeyProblem(r, "event",
			"event %s from state %s is already that of row %s in line %d; name one of the two events differently",
			r.Event, from, first.name(), first.Line))
	}
	return ps
}

// unknownStates has a problem for each state that a row names and the table does not have.
func unknownStates(m *Model, r *Row) []Problem {
	t := m.Table()
	if t.statesUnread {
		return nil
	}
	states := t.StateNames()
	var ps []Problem
	missing := func(key, name string) {
		if !slices.Contains(states, name) && !t.unread(name) {
			ps = append(ps, m.RowKeyProblem(r, key, "%s names no state %s%s", key, quoted(name), suggestion(name, states)))
		}
	}
	for _, from := range r.From {
		missing("from", from)
	}
	missing("to", r.To)
	return ps
}

// unknownNames has a problem for each guard and each effect that a row names and nobody has registered.
func unknownNames(m *Model, r *Row) []Problem {
	var ps []Problem
	missing := func(key, kind, name string, known []string) {
		if !slices.Contains(known, name) {
			ps = append(ps, m.RowKeyProblem(r, key, "%s names no %s %s%s", key, kind, quoted(name), suggestion(name, known)))
		}
	}
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
