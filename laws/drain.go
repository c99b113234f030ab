// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// gateHeld: a drain keeps the pool closed until the claim is gone or no policy governs any more, and a drain that is
// not under way is begun again (§5.2 stuck drain, §5.4).
func gateHeld() machine.Law {
	return machine.Law{
		Name:   "gate-held",
		Reason: "A pool stays closed to other rotations until its drain is over, and a drain that was decided takes place.",
		Check: ofCases([]string{rotation.StateDraining}, func(r row, fires cases) []machine.Problem {
			var problems []machine.Problem
			if r.has(effectClearAnchor) && fires.some(r, machine.IsNot(guardClaimGone), machine.Is(guardGoverned)) {
				problems = append(problems, r.wrongIn("when", "it can clear the anchor in draining while the claim still drains; add %s or %s",
					guardClaimGone, machine.IsNot(guardGoverned))...)
			}
			if !r.has(effectDelete) &&
				fires.some(r, machine.IsNot(guardClaimGone), machine.IsNot(guardDeletionTimestamp), machine.Is(guardGoverned)) {
				problems = append(problems, r.wrongIn("when", "it can fire in draining while the claim is not being deleted, and does not delete it; put a row with %s before it that does %s",
					machine.IsNot(guardDeletionTimestamp), effectDelete)...)
			}
			return problems
		}),
	}
}

// forceExpiryFirst: a claim that another hand deletes, or has deleted, ends a pending rotation as expired, whatever
// else holds; only a lost governance may come before that (§5.2 force-expiry).
func forceExpiryFirst() machine.Law {
	return machine.Law{
		Name:   "force-expiry-first",
		Reason: "A node that goes before its replacement stands is an expiry, never a success, a failure or a wait.",
		Check:  ofCases([]string{rotation.StatePending}, checkForceExpiryFirst),
	}
}

func checkForceExpiryFirst(r row, fires cases) []machine.Problem {
	ends := r.To == rotation.StateIdle || r.To == rotation.StateExpired
	if ends && r.has(effectAnnounceExpired) {
		return nil
	}
	var expiries []string
	for _, guard := range []string{guardClaimGone, guardDeletionTimestamp} {
		expiry := []machine.Condition{machine.Is(guard)}
		if r.To == rotation.StateIdle {
			// A row that takes the rotation back because no policy governs may come first.
			expiry = append(expiry, machine.Is(guardGoverned))
		}
		if fires.some(r, expiry...) {
			expiries = append(expiries, guard)
		}
	}
	switch {
	case expiries == nil:
		return nil
	case ends:
		return r.wrongIn("do", "it can end a pending rotation with %s, and does not tell that it has expired; add %s",
			list(expiries, "or"), effectAnnounceExpired)
	}
	return r.wrongIn("when", "it can fire in pending with %s, and does not end the rotation as expired; put a row for that before it, to idle or expired with %s",
		list(expiries, "or"), effectAnnounceExpired)
}
