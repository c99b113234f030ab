// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"

	"noderotation.io/noderotation/rotation"
)

// judge judges a state by itself, however it came about.
//
//nolint:gocognit // one rule after the other
func (s *Scene) judge(of *State) []string {
	var breaches []string
	breach := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	for _, node := range of.Nodes() {
		a := node.Annotations
		if a[notedProtected] != "" && (a[rotation.KeyDoNotDisrupt] != rotation.ValueTrue || a[rotation.KeyDoNotDisruptOwned] != "") {
			breach("an operator protects Node %s, and that has become do-not-disrupt=%q, owned=%q", node.Name, a[rotation.KeyDoNotDisrupt], a[rotation.KeyDoNotDisruptOwned])
		}
		if a[notedCordoned] != "" && (!node.Spec.Unschedulable || a[rotation.KeyCordoned] != "") {
			breach("an operator has cordoned Node %s, and that has become unschedulable=%t, cordoned=%q", node.Name, node.Spec.Unschedulable, a[rotation.KeyCordoned])
		}
	}
	for _, pool := range s.poolNames() {
		np := of.NodePool(pool)
		if np == nil {
			continue
		}
		anchor := np.Annotations[rotation.KeyActiveRotation]
		for _, key := range rotation.AnchorKeys() {
			if value, is := np.Annotations[key]; is && anchor == "" && np.Annotations[notedStray] == "" {
				breach("NodePool %s has %s=%q, and no rotation is anchored", pool, key, value)
			}
		}
		for _, claim := range of.NodeClaimsBy(byPool, pool) {
			if claim.Name == anchor {
				continue
			}
			switch state := claim.Annotations[rotation.KeyState]; state {
			case rotation.StatePending, rotation.StateDraining:
				if claim.Annotations[notedStray] != "" {
					continue // until the next pass over the pool sweeps it
				}
				breach("NodeClaim %s is %s, and %s", claim.Name, state, anchorIs(pool, anchor))
			default:
				for _, key := range []string{rotation.KeyStartedAt, rotation.KeySurgeClaim} {
					if value, is := claim.Annotations[key]; is {
						breach("NodeClaim %s has %s=%q, and %s", claim.Name, key, value, anchorIs(pool, anchor))
					}
				}
			}
		}
	}
	return breaches
}

func anchorIs(pool, anchor string) string {
	if anchor == "" {
		return "NodePool " + pool + " has no anchor"
	}
	return "NodePool " + pool + " is anchored on " + anchor
}

// clean is true where every pool is idle and nothing of ours is left.
func (s *Scene) clean(of *State) bool {
	for _, np := range of.NodePools() {
		if np.Annotations[rotation.KeyActiveRotation] != "" {
			return false
		}
	}
	return len(marks(of.View, nil)) == 0
}
