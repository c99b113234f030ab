// SPDX-License-Identifier: Apache-2.0

package machine

import "slices"

// Unused returns the registered guards and effects that no row names.
func (m *Model) Unused() (guards, effects []string) {
	asked, done := map[string]bool{}, map[string]bool{}
	for _, r := range m.table.Rows {
		for _, c := range r.When {
			asked[c.Guard] = true
		}
		for _, e := range r.Do {
			done[e] = true
		}
	}
	for _, g := range guardNames(m) {
		if !asked[g] {
			guards = append(guards, g)
		}
	}
	for _, e := range effectNames(m) {
		if !done[e] {
			effects = append(effects, e)
		}
	}
	return guards, effects
}

// Warnings returns what is worth a look in a table that breaks no law: guards
// and effects that no row names, and names that a row repeats.
func (m *Model) Warnings() Problems {
	var ps Problems
	guards, effects := m.Unused()
	for _, g := range guards {
		ps = append(ps, Problem{File: m.table.Name, Message: "no row asks guard " + g + "; is that meant?"})
	}
	for _, e := range effects {
		ps = append(ps, Problem{File: m.table.Name, Message: "no row has effect " + e + "; is that meant?"})
	}
	for i := range m.table.Rows {
		r := &m.table.Rows[i]
		if c, twice := repeated(r.When); twice {
			ps = append(ps, m.RowKeyProblem(r, "when", "it asks %s twice; once is enough", c))
		}
		if e, twice := repeated(r.Do); twice {
			ps = append(ps, m.RowKeyProblem(r, "do", "it has effect %s twice; effects are idempotent, so once is enough", e))
		}
	}
	return ps.sorted()
}

// repeated returns the first value that occurs twice.
func repeated[T comparable](list []T) (T, bool) {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return v, true
		}
	}
	var none T
	return none, false
}
