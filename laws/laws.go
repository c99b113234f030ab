// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"strings"

	"noderotation.io/noderotation/machine"
)

// All returns the laws of a rotation table, to be checked next to machine.GenericLaws (§5.2, §5.3).
func All() []machine.Law {
	return []machine.Law{
		anchorFirst(),
		clearLast(),
		anchorRenewed(),
		mirrorBeforeDelete(),
		stateWritten(),
		cleanup(),
		surgeFirst(),
		protected(),
		gatedStart(),
		forceExpiryFirst(),
		freezeHolds(),
		gateHeld(),
		noOrphanState(),
		outcomeRecorded(),
		handedOver(),
		derivedStates(),
	}
}

// ofRows is a law's check that looks at each row by itself.
func ofRows(check func(row) []machine.Problem) func(*machine.Model) []machine.Problem {
	return func(m *machine.Model) []machine.Problem {
		var problems []machine.Problem
		for i := range m.Table().Rows {
			problems = append(problems, check(row{&m.Table().Rows[i], m})...)
		}
		return problems
	}
}

// ofCases is a law's check that looks at each row of some states together with the cases in which it fires there.
func ofCases(states []string, check func(row, cases) []machine.Problem) func(*machine.Model) []machine.Problem {
	return func(m *machine.Model) []machine.Problem {
		var problems []machine.Problem
		for _, state := range states {
			fires := casesOf(m, state)
			for _, r := range m.Rows(state) {
				problems = append(problems, check(row{r, m}, fires)...)
			}
		}
		return problems
	}
}

// list joins words for a sentence: "a, b and c".
func list(words []string, conjunction string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}
