// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// Made are the NodeClaims of the pool that came into being, in their order.
func Made(recording record.Recording, pool string) []string {
	var claims []string
	recording.Replay(func(event record.Event, _ record.World) {
		claim, isClaim := event.After.(*karpenterv1.NodeClaim)
		if isClaim && event.Before == nil && claim.Labels[karpenterv1.NodePoolLabelKey] == pool {
			claims = append(claims, claim.Name)
		}
	})
	return claims
}

// Hosts are the Nodes that placeholders for the claim were ever bound to, each once, in their order (§3.3).
func Hosts(recording record.Recording, claim string) []string {
	var nodes []string
	recording.Replay(func(event record.Event, _ record.World) {
		pod, isPod := event.After.(*corev1.Pod)
		if isPod && pod.Annotations[rotation.KeySurgeFor] == claim && pod.Spec.NodeName != "" && !slices.Contains(nodes, pod.Spec.NodeName) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	})
	return nodes
}
