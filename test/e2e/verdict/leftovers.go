// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// Leftovers are what of a rotation stands in the world: markers, protection and cordons of ours on Nodes, anchors on
// NodePools, placeholders, and claims in mid-rotation. After the last rotation there are none (§5.3).
func Leftovers(world record.World) []string {
	var left []string
	for _, node := range world.Nodes {
		for _, key := range rotation.NodeMarkers() {
			if value, stands := node.Annotations[key]; stands {
				left = append(left, fmt.Sprintf("Node %s has %s=%s", node.Name, key, value))
			}
		}
	}
	for _, pool := range world.Pools {
		for _, key := range rotation.AnchorKeys() {
			if value, stands := pool.Annotations[key]; stands {
				left = append(left, fmt.Sprintf("NodePool %s has %s=%s", pool.Name, key, value))
			}
		}
	}
	for _, pod := range world.Pods {
		if claim := pod.Annotations[rotation.KeySurgeFor]; claim != "" {
			left = append(left, fmt.Sprintf("placeholder %s stands for %s", pod.Name, claim))
		}
	}
	for _, claim := range world.Claims {
		left = append(left, leftOn(claim)...)
	}
	slices.Sort(left)
	return left
}

// leftOn is what of an attempt stands on a claim.
func leftOn(claim *karpenterv1.NodeClaim) (left []string) {
	if state := claim.Annotations[rotation.KeyState]; state == rotation.StatePending || state == rotation.StateDraining {
		left = append(left, fmt.Sprintf("NodeClaim %s is %s", claim.Name, state))
	}
	for _, key := range []string{rotation.KeyStartedAt, rotation.KeySurgeClaim} {
		if value, stands := claim.Annotations[key]; stands {
			left = append(left, fmt.Sprintf("NodeClaim %s has %s=%s", claim.Name, key, value))
		}
	}
	return left
}

// Protected are the names of the Nodes that Karpenter is kept from, by whoever it is, and of those that are cordoned.
func Protected(world record.World) (protected, cordoned []string) {
	for _, node := range world.Nodes {
		if node.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue {
			protected = append(protected, node.Name)
		}
		if node.Spec.Unschedulable {
			cordoned = append(cordoned, node.Name)
		}
	}
	slices.Sort(protected)
	slices.Sort(cordoned)
	return protected, cordoned
}
