// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"slices"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// gatedStart: a rotation starts, or starts again, only with every gate open (§5.2 gates).
func gatedStart() machine.Law {
	return machine.Law{
		Name:   "gated-start",
		Reason: "No rotation starts while a gate is closed.",
		Check: func(m *machine.Model) []machine.Problem {
			return ofCases(m.Table().StateNames(), checkGatedStart)(m)
		},
	}
}

func checkGatedStart(r row, fires cases) []machine.Problem {
	var closed, missing []string
	for _, gate := range gates(r, fires.state) {
		if fires.some(r, gate.Negated()) {
			closed = append(closed, gate.Negated().String())
			missing = append(missing, gate.String())
		}
	}
	if missing == nil {
		return nil
	}
	return r.wrongIn("when", "it can start a rotation from %s with %s; add %s", fires.state, list(closed, "or"), list(missing, "and"))
}

// gates are the conditions that must hold when the row fires in the state.
func gates(r row, state string) []machine.Condition {
	leaves := state == rotation.StateIdle && r.Leaves(state)
	retries := state == rotation.StateFailed && r.To == rotation.StatePending
	var all []machine.Condition
	if r.has(effectAnchor) || retries {
		all = append(all, machine.Is(guardGoverned), machine.Is(guardFeasible), machine.Is(guardPoolSettled), machine.Is(guardInWindow),
			machine.IsNot(guardFrozen), machine.Is(guardCooldownElapsed), machine.Is(guardFailurePauseElapsed))
	}
	if leaves {
		all = append(all, machine.Is(guardCandidate))
	}
	if retries {
		all = append(all, machine.Is(guardBackoffElapsed), machine.Is(guardEligible))
	}
	if retries || leaves && r.To == rotation.StatePending {
		all = append(all, machine.Is(guardSurgeHeadroom))
	}
	if leaves && r.To == rotation.StateDraining {
		all = append(all, machine.Is(guardForcefulFallback))
	}
	return all
}

// surgeFirst: a drain begins only with its surge standing, or from idle as the fallback (§3.3, §3.6).
func surgeFirst() machine.Law {
	return machine.Law{
		Name:   "surge-first",
		Reason: "A node is drained only once its replacement stands, except by the forceful fallback.",
		Check: func(m *machine.Model) []machine.Problem {
			others := slices.DeleteFunc(m.Table().StateNames(), func(s string) bool { return s == rotation.StateDraining })
			return ofCases(others, checkSurgeFirst)(m)
		},
	}
}

func checkSurgeFirst(r row, fires cases) []machine.Problem {
	neither, wanted := []machine.Condition{machine.IsNot(guardSurgeReady)}, guardSurgeReady
	if fires.state == rotation.StateIdle {
		neither, wanted = append(neither, machine.IsNot(guardForcefulFallback)), guardForcefulFallback
	}
	if r.To != rotation.StateDraining || !fires.some(r, neither...) {
		return nil
	}
	return r.wrongIn("when", "it can begin a drain from %s without a replacement; add %s", fires.state, wanted)
}

// freezeHolds: while an operator's freeze holds, a pending rotation gets no placeholder and deletes nothing (§3.1).
func freezeHolds() machine.Law {
	return machine.Law{
		Name:   "freeze-holds",
		Reason: "An operator's freeze holds a rotation for as long as it can still be called off.",
		Check: ofCases([]string{rotation.StatePending}, func(r row, fires cases) []machine.Problem {
			var forbidden []string
			for _, e := range []string{effectPlaceholder, effectDelete} {
				if at := r.first(e); at >= 0 {
					forbidden = append(forbidden, r.Do[at])
				}
			}
			if forbidden == nil || !fires.some(r, machine.Is(guardFrozen)) {
				return nil
			}
			return r.wrongIn("when", "it can fire in pending with %s, and does %s; add %s, or put a row for %s before it",
				guardFrozen, list(forbidden, "and"), machine.IsNot(guardFrozen), guardFrozen)
		}),
	}
}
