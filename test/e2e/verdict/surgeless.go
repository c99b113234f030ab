// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// Surgeless judges that each drain of the pool is the forceful fallback's. When it begins the pool says so, and never is there a
// placeholder, or a marker, a protection or a cordon on a Node of the pool (§3.6).
//
// drains counts those that were judged.
func Surgeless(recording record.Recording, pool string) (drains int, found []string) {
	var all breaches
	recording.Replay(func(event record.Event, world record.World) {
		if claim, begins := beginsToGo(event, pool); begins && claim.Annotations[rotation.KeyState] == rotation.StateDraining {
			drains++
			annotations := map[string]string{}
			if np := world.Pools[pool]; np != nil {
				annotations = np.Annotations
			}
			if annotations[rotation.KeyRotationMode] != rotation.ModeForcefulFallback || annotations[rotation.KeyActiveRotationState] != rotation.StateDraining {
				all.add(event.Revision, "the drain of %s begins and the pool does not say that it is a forceful fallback", claim.Name)
			}
		}
		switch object := event.After.(type) {
		case *corev1.Pod:
			if event.Before == nil && placeholderIn(object, pool) {
				all.add(event.Revision, "placeholder %s is made", object.Name)
			}
		case *corev1.Node:
			if object.Labels[rotation.LabelNodePool] == pool {
				judgeUnmarked(&all, event.Revision, object)
			}
		}
	})
	return drains, all
}

func judgeUnmarked(found *breaches, at record.Revision, node *corev1.Node) {
	for _, key := range append(rotation.NodeMarkers(), rotation.KeyDoNotDisrupt) {
		if value, stands := node.Annotations[key]; stands {
			found.add(at, "Node %s has %s=%s", node.Name, key, value)
		}
	}
	if node.Spec.Unschedulable {
		found.add(at, "Node %s is cordoned", node.Name)
	}
}
