// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"noderotation.io/noderotation/machine"
)

// cases are all the consistent answers that the guards can give in a state, with the row that fires on each.
type cases struct {
	state   string
	model   *machine.Model
	firings []machine.Firing
}

func casesOf(m *machine.Model, state string) cases {
	return cases{state: state, model: m, firings: m.Firings(state)}
}

// some tells whether the row fires in some case in which all the conditions hold. A guard that no row of the state
// asks is free: it holds in some cases and fails in others.
func (c cases) some(r row, conditions ...machine.Condition) bool {
	for _, f := range c.firings {
		if f.Row == r.Row && c.model.Consistent(f.Facts, conditions...) {
			return true
		}
	}
	return false
}
