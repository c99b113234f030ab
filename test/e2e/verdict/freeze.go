// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// FreezeHeld judges that while the pool is frozen no rotation is anchored, no placeholder is made and no drain begins (§3.1). What
// was already decided when the freeze was written may still arrive; such a recording proves nothing, so freeze a pool at
// rest, or one that waits.
//
// held counts what happened to the pool, its claims, Nodes and placeholders while it was frozen. The writes of the freeze
// itself are not among it: nothing need have come of them.
func FreezeHeld(recording record.Recording, pool string) (held int, found []string) {
	var all breaches
	recording.Replay(func(event record.Event, world record.World) {
		if !frozenAt(world, pool, event.At) {
			return
		}
		if belongsTo(event.Object(), pool) && !setsFreeze(event) {
			held++
		}
		if was, is := anchors(event, pool); was == "" && is != "" {
			all.add(event.Revision, "NodePool %s is frozen and a rotation of %s is anchored", pool, is)
		}
		if pod, isPod := event.After.(*corev1.Pod); isPod && event.Before == nil && placeholderIn(pod, pool) {
			all.add(event.Revision, "NodePool %s is frozen and placeholder %s is made", pool, pod.Name)
		}
		if claim, begins := beginsToGo(event, pool); begins && claim.Annotations[rotation.KeyState] == rotation.StateDraining {
			all.add(event.Revision, "NodePool %s is frozen and the drain of %s begins", pool, claim.Name)
		}
	})
	return held, all
}

// belongsTo tells whether the object is the pool, or a claim, a Node or a placeholder of it.
func belongsTo(object record.Object, pool string) bool {
	switch o := object.(type) {
	case *karpenterv1.NodePool:
		return o.Name == pool
	case *corev1.Pod:
		return placeholderIn(o, pool)
	default:
		return object.GetLabels()[karpenterv1.NodePoolLabelKey] == pool
	}
}

// setsFreeze tells whether the event is a NodePool's, and it is frozen by it, or until another time.
func setsFreeze(event record.Event) bool {
	after, isPool := event.After.(*karpenterv1.NodePool)
	if !isPool {
		return false
	}
	was := ""
	if before, existed := event.Before.(*karpenterv1.NodePool); existed {
		was = before.Annotations[rotation.KeyFreeze]
	}
	return after.Annotations[rotation.KeyFreeze] != was
}

func placeholderIn(pod *corev1.Pod, pool string) bool {
	return pod.Annotations[rotation.KeySurgeFor] != "" && pod.Spec.NodeSelector[karpenterv1.NodePoolLabelKey] == pool
}

func frozenAt(world record.World, pool string, at time.Time) bool {
	np := world.Pools[pool]
	if np == nil {
		return false
	}
	until, err := time.Parse(time.RFC3339, np.Annotations[rotation.KeyFreeze])
	return err == nil && at.Before(until)
}

// Guarded judges that from the moment at which a claim of the pool is marked as pending and its Node has been protected and
// cordoned, that Node stays so until the anchor is cleared (§3.4, §5.2 idempotent recovery). An instant in which another
// hand took the guard away and we have yet to put it back is counted, not blamed: reasserted is how often that was made
// good.
func Guarded(recording record.Recording, pool string) (reasserted int, found []string) {
	var all breaches
	stood, broken, last := false, false, record.Revision(0)
	claim := ""
	recording.Replay(func(event record.Event, world record.World) {
		was, is := anchors(event, pool)
		if was != is {
			if was != "" && broken {
				all.add(event.Revision, "the Node of %s was left without its guard", claim)
			}
			stood, broken, claim = false, false, is
		}
		if claim == "" || world.Claims[claim] == nil {
			return
		}
		last = event.Revision
		node := world.Nodes[world.Claims[claim].Status.NodeName]
		guards := node != nil && node.Spec.Unschedulable && node.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue
		switch {
		case guards && broken:
			reasserted++
			broken = false
		case guards:
			stood = true
		case stood && node != nil && node.DeletionTimestamp == nil:
			broken = true
		}
	})
	if broken {
		all.add(last, "the Node of %s is without its guard", claim)
	}
	return reasserted, all
}
