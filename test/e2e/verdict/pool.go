// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// Serial judges that the pool never has two nodes on their way out, and a claim is in a rotation only while the pool's anchor names
// it (§3.3, §5.2 anchor semantics).
func Serial(recording record.Recording, pool string) []string {
	var found breaches
	recording.Replay(func(event record.Event, world record.World) {
		anchor := anchorOf(world, pool)
		var leaving []string
		for _, claim := range world.ClaimsOf(pool) {
			state := claim.Annotations[rotation.KeyState]
			if state == "pending" || state == "draining" {
				if claim.Name != anchor {
					found.add(event.Revision, "NodeClaim %s is %s and the anchor names %q", claim.Name, state, anchor)
				}
			}
			if leaves(claim) || state == "pending" || state == "draining" {
				leaving = append(leaving, claim.Name)
			}
		}
		if len(leaving) > 1 {
			slices.Sort(leaving)
			found.add(event.Revision, "%s are all on their way out", strings.Join(leaving, " and "))
		}
	})
	return found
}

// SideBySide tells whether there was an instant at which both pools were in a rotation (§3.3).
func SideBySide(recording record.Recording, one, other string) bool {
	met := false
	recording.Replay(func(_ record.Event, world record.World) {
		met = met || anchorOf(world, one) != "" && anchorOf(world, other) != ""
	})
	return met
}

func anchorOf(world record.World, pool string) string {
	if np := world.Pools[pool]; np != nil {
		return np.Annotations[rotation.KeyActiveRotation]
	}
	return ""
}

// leaves tells whether the claim takes a node away. One that never had a Node does not; and of one that another
// hand expires while it is pending we are not the ones who keep count (§5.2 force-expiry).
func leaves(claim *karpenterv1.NodeClaim) bool {
	return claim.DeletionTimestamp != nil && claim.Status.NodeName != "" && claim.Annotations[rotation.KeyState] != rotation.StateExpired
}

// NeverMoreThan judges that the pool has at most this many nodes, and as many claims, at any instant (§3.3: N + 1).
func NeverMoreThan(recording record.Recording, pool string, most int) []string {
	var found breaches
	recording.Replay(func(event record.Event, world record.World) {
		if claims := world.ClaimsOf(pool); len(claims) > most {
			found.add(event.Revision, "%d NodeClaims: %s", len(claims), namesOf(claims))
		}
		if nodes := world.NodesOf(pool); len(nodes) > most {
			found.add(event.Revision, "%d Nodes: %s", len(nodes), namesOf(nodes))
		}
	})
	return found
}

// MakeBeforeBreak judges that whenever one of the pool's claims that stood in a rotation begins to be deleted, its placeholder runs
// on another Ready Node of the pool and holds all the room that the old node's Pods will need (§3.3).
//
// replaced counts the drains that were judged: a recording without any proves nothing.
func MakeBeforeBreak(recording record.Recording, pool string) (replaced int, found []string) {
	var all breaches
	recording.Replay(func(event record.Event, world record.World) {
		claim, begins := beginsToGo(event, pool)
		if !begins || claim.Annotations[rotation.KeyState] != "draining" {
			return
		}
		replaced++
		placeholder, host := surgeOf(world, claim)
		switch {
		case placeholder == nil:
			all.add(event.Revision, "the drain of %s begins and no placeholder stands for it", claim.Name)
		case placeholder.DeletionTimestamp != nil || placeholder.Status.Phase != corev1.PodRunning:
			all.add(event.Revision, "the drain of %s begins and its placeholder does not run", claim.Name)
		case host == nil || host.Name == claim.Status.NodeName:
			all.add(event.Revision, "the drain of %s begins and its placeholder is on no other Node (%q)", claim.Name, placeholder.Spec.NodeName)
		case !record.NodeReady(host) || host.DeletionTimestamp != nil || host.Labels[karpenterv1.NodePoolLabelKey] != pool:
			all.add(event.Revision, "the drain of %s begins and %s is not a Ready Node of the pool", claim.Name, host.Name)
		default:
			for name, lacking := range lackingRoom(world, claim, placeholder) {
				all.add(event.Revision, "the drain of %s begins and its placeholder holds %s less of %s than the Pods there ask for", claim.Name, lacking, name)
			}
		}
	})
	return replaced, all
}

// beginsToGo tells whether with this event a claim of the pool got its deletionTimestamp.
func beginsToGo(event record.Event, pool string) (*karpenterv1.NodeClaim, bool) {
	after, isClaim := event.After.(*karpenterv1.NodeClaim)
	if !isClaim || after.Labels[karpenterv1.NodePoolLabelKey] != pool || after.DeletionTimestamp == nil {
		return nil, false
	}
	before, existed := event.Before.(*karpenterv1.NodeClaim)
	return after, existed && before.DeletionTimestamp == nil
}

// surgeOf finds the claim's placeholder and the Node it is on.
func surgeOf(world record.World, claim *karpenterv1.NodeClaim) (*corev1.Pod, *corev1.Node) {
	for _, pod := range world.Pods {
		if pod.Annotations[rotation.KeySurgeFor] == claim.Name {
			return pod, world.Nodes[pod.Spec.NodeName]
		}
	}
	return nil, nil
}

// lackingRoom is what the Pods on the claim's node ask for beyond what the placeholder holds. DaemonSets bring their own
// Pods to every node.
func lackingRoom(world record.World, claim *karpenterv1.NodeClaim, placeholder *corev1.Pod) map[corev1.ResourceName]string {
	room := corev1.ResourceList{}
	for _, container := range placeholder.Spec.Containers {
		room = container.Resources.Requests.DeepCopy()
	}
	lacking := map[corev1.ResourceName]string{}
	asked := corev1.ResourceList{}
	for _, pod := range world.PodsOn(claim.Status.NodeName) {
		if len(pod.OwnerReferences) > 0 && pod.OwnerReferences[0].Kind == "DaemonSet" {
			continue
		}
		for _, container := range pod.Spec.Containers {
			for name, quantity := range container.Resources.Requests {
				sum := asked[name]
				sum.Add(quantity)
				asked[name] = sum
			}
		}
	}
	for name, sum := range asked {
		held := room[name]
		if sum.Cmp(held) > 0 {
			sum.Sub(held)
			lacking[name] = sum.String()
		}
	}
	return lacking
}

// Rotated judges that each of these claims was anchored exactly once, drained, and is gone; the pool's nodes are others (§1).
func Rotated(recording record.Recording, pool string, claims ...string) []string {
	var found breaches
	anchored := map[string]int{}
	for _, attempt := range Attempts(recording, pool) {
		anchored[attempt.Claim]++
	}
	last := record.Revision(0)
	if events := recording.Events(); len(events) > 0 {
		last = events[len(events)-1].Revision
	}
	end := recording.End()
	for _, claim := range claims {
		if anchored[claim] != 1 {
			found.add(last, "NodeClaim %s was anchored %d times", claim, anchored[claim])
		}
		if end.Claims[claim] != nil {
			found.add(last, "NodeClaim %s is still there", claim)
		}
		delete(anchored, claim)
	}
	for claim := range maps.Keys(anchored) {
		found.add(last, "NodeClaim %s was anchored, which was not to be rotated", claim)
	}
	return found
}

func namesOf[O record.Object](objects []O) string {
	var names []string
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
