// SPDX-License-Identifier: Apache-2.0

package laws

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// cleanup: what a rotation put into the cluster is removed before its anchor goes, and the claim that a failed attempt
// induced is looked for while its placeholder still tells which it is (§3.4, §3.8).
func cleanup() machine.Law {
	return machine.Law{
		Name:   "cleanup",
		Reason: "Nothing of ours may outlive its rotation.",
		Check: ofRows(func(r row) []machine.Problem {
			var problems []machine.Problem
			if r.has(effectClearAnchor) && r.startsIn(rotation.StatePending, rotation.StateDraining, rotation.StateExpired) {
				problems = append(problems, leftBehind(r)...)
			}
			if r.has(effectMarkFailed) && !r.hasBefore(effectReap, effectDeletePlaceholder) {
				problems = append(problems, r.wrongIn("do", "it fails an attempt and does not remove the claim that this induced while the placeholder tells which it is; put %s before %s",
					effectReap, effectDeletePlaceholder)...)
			}
			return problems
		}),
	}
}

func leftBehind(r row) []machine.Problem {
	var missing []string
	for _, e := range []string{effectDeletePlaceholder, effectUnfreeze} {
		if !r.hasBefore(e, effectClearAnchor) {
			missing = append(missing, e)
		}
	}
	if missing != nil {
		return r.wrongIn("do", "it clears the anchor while something of the rotation may be left in the cluster; put %s before %s",
			list(missing, "and"), effectClearAnchor)
	}
	return append(undone(r, effectDeletePlaceholder, effectPlaceholder), undone(r, effectUnfreeze, effectFreeze, effectCordon, effectFreezeHost)...)
}

// undone is a problem where a later step of the row undoes the effect.
func undone(r row, effect string, by ...string) []machine.Problem {
	step := r.undone(effect, by...)
	if step == "" {
		return nil
	}
	return r.wrongIn("do", "%s undoes what %s does before it; remove %s", step, effect, step)
}

// protected: as long as the drain can still be called off the old node stays protected and cordoned, and the surge
// node is protected before the drain begins (§3.4).
func protected() machine.Law {
	return machine.Law{
		Name:   "protected",
		Reason: "Nobody else may disrupt the old node before its drain, nor the surge node from then on.",
		Check: ofRows(func(r row) []machine.Problem {
			var problems []machine.Problem
			if r.goes(rotation.StatePending, rotation.StatePending) {
				problems = append(problems, unprotected(r)...)
			}
			if r.goes(rotation.StatePending, rotation.StateDraining) {
				problems = append(problems, hostUnprotected(r)...)
			}
			return problems
		}),
	}
}

func unprotected(r row) []machine.Problem {
	var missing []string
	for _, e := range []string{effectFreeze, effectCordon} {
		if !r.has(e) {
			missing = append(missing, e)
		}
	}
	if missing != nil {
		return r.wrongIn("do", "it stays in pending and does not see to the old node's protection; add %s", list(missing, "and"))
	}
	return append(undone(r, effectFreeze, effectUnfreeze), undone(r, effectCordon, effectUnfreeze)...)
}

func hostUnprotected(r row) []machine.Problem {
	if !r.hasBefore(effectFreezeHost, effectDelete) {
		return r.wrongIn("do", "it begins the drain with the surge node unprotected; put %s before %s", effectFreezeHost, effectDelete)
	}
	return undone(r, effectFreezeHost, effectUnfreeze)
}

// handedOver: the room that the placeholder holds is given back when the drain begins, and stays so (§3.3).
func handedOver() machine.Law {
	return machine.Law{
		Name:   "handed-over",
		Reason: "Room that the placeholder still holds during the drain makes Karpenter launch a node too many.",
		Check: ofRows(func(r row) []machine.Problem {
			begins := r.goes(rotation.StatePending, rotation.StateDraining)
			stays := r.goes(rotation.StateDraining, rotation.StateDraining)
			switch {
			case begins && !r.has(effectDelete):
				return r.wrongIn("do", "it goes from pending to draining and deletes nothing; add %s, and %s after it", effectDelete, effectDeletePlaceholder)
			case begins && r.last(effectDeletePlaceholder) < r.first(effectDelete):
				return r.wrongIn("do", "it does not hand the placeholder's room to the drained Pods; put %s after %s", effectDeletePlaceholder, effectDelete)
			case stays && !r.has(effectDeletePlaceholder):
				return r.wrongIn("do", "it stays in draining, where no placeholder may be left; add %s", effectDeletePlaceholder)
			case begins || stays:
				return undone(r, effectDeletePlaceholder, effectPlaceholder)
			}
			return nil
		}),
	}
}
