// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// derivedStates: a pass derives its state from annotations, whatever the table says (§5.3). A table that lacks one would
// leave a pool in it standing still.
func derivedStates() machine.Law {
	return machine.Law{
		Name:   "derived-states",
		Reason: "A pool can be found in any of these states, so each needs rows that lead out of it.",
		Check: func(m *machine.Model) []machine.Problem {
			var problems []machine.Problem
			for _, state := range []string{rotation.StateIdle, rotation.StatePending, rotation.StateDraining, rotation.StateFailed, rotation.StateExpired} {
				if _, known := m.Table().State(state); !known {
					problems = append(problems, machine.Problem{Line: m.Table().States[0].Line,
						Message: "it has no state " + state + ", but a pool can be found in it; add the state, and rows that lead out of it"})
				}
			}
			return problems
		},
	}
}
