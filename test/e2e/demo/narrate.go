// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// narrate says what a recorded event means for the fleet's rotations; nothing for most. world is as it was right after
// the event. It is a pure function: what it says hangs on its arguments alone.
func (f fleet) narrate(event record.Event, world record.World) []happening {
	switch object := event.Object().(type) {
	case *karpenterv1.NodePool:
		if object.Name == f.Pool {
			return f.ofPool(before[*karpenterv1.NodePool](event), after[*karpenterv1.NodePool](event), world)
		}
	case *karpenterv1.NodeClaim:
		if f.owns(object) {
			return f.ofClaim(before[*karpenterv1.NodeClaim](event), after[*karpenterv1.NodeClaim](event), world)
		}
	case *corev1.Node:
		if f.owns(object) {
			return f.ofNode(before[*corev1.Node](event), after[*corev1.Node](event), world)
		}
	case *corev1.Pod:
		if rotation.IsPlaceholder(object) {
			return f.ofPlaceholder(before[*corev1.Pod](event), after[*corev1.Pod](event), world)
		}
		if f.runs(object) {
			return f.ofPod(before[*corev1.Pod](event), after[*corev1.Pod](event), world)
		}
	}
	return nil
}

// before is what the event's object was; nil if it was not there.
func before[O record.Object](event record.Event) (object O) {
	object, _ = event.Before.(O)
	return object
}

// after is what the event's object is; nil if it is gone.
func after[O record.Object](event record.Event) (object O) {
	object, _ = event.After.(O)
	return object
}

// ofPool reads the anchor, which begins and ends each rotation (§5.3).
func (f fleet) ofPool(was, is *karpenterv1.NodePool, world record.World) []happening {
	if was == nil || is == nil {
		return nil
	}
	from, to := was.Annotations[rotation.KeyActiveRotation], is.Annotations[rotation.KeyActiveRotation]
	changed := func(key string) bool { return was.Annotations[key] != is.Annotations[key] }
	switch {
	case from == to:
		return nil
	case to != "":
		return one(noderotation, claimSelected, "NodeClaim/"+to, "selects NodeClaim "+to+f.reason(world.Claims[to], world))
	case changed(rotation.KeyLastRotationAt):
		return one(noderotation, rotationCompleted, "NodeClaim/"+from,
			fmt.Sprintf("completes the rotation; cooldown: the pool rests for %s", f.Cooldown))
	case changed(rotation.KeyLastFailureAt):
		return one(noderotation, rotationReleased, "NodeClaim/"+from, "lets the failed rotation go; the pool pauses before the next attempt")
	default:
		return one(noderotation, rotationReleased, "NodeClaim/"+from, "lets the rotation of NodeClaim "+from+" go")
	}
}

// reason says why the claim is the one to be rotated: of all that are due its deadline is the earliest (§3.2).
func (f fleet) reason(chosen *karpenterv1.NodeClaim, world record.World) string {
	deadline, expires := deadlineOf(chosen)
	if !expires {
		return ""
	}
	why := ": deadline "
	if f.isFirst(chosen, deadline, world) {
		why = ", next to expire: deadline "
	}
	return why + deadline.UTC().Format("Mon 2 Jan 15:04:05 MST")
}

// isFirst tells whether no other claim of the pool expires before the deadline.
func (f fleet) isFirst(chosen *karpenterv1.NodeClaim, deadline time.Time, world record.World) bool {
	for _, other := range world.ClaimsOf(f.Pool) {
		at, expires := deadlineOf(other)
		if other.Name != chosen.Name && expires && at.Before(deadline) {
			return false
		}
	}
	return true
}

// deadlineOf is when Karpenter would expire the claim; false if it never does.
func deadlineOf(claim *karpenterv1.NodeClaim) (time.Time, bool) {
	if claim == nil || claim.Spec.ExpireAfter.Duration == nil {
		return time.Time{}, false
	}
	return claim.CreationTimestamp.Add(*claim.Spec.ExpireAfter.Duration), true
}

// ofClaim tells of launches, drains and ends, and of rotations that did not succeed.
func (f fleet) ofClaim(was, is *karpenterv1.NodeClaim, world record.World) []happening {
	if is == nil {
		return one(karpenter, claimGone, "NodeClaim/"+was.Name, "ends node "+was.Name+", which is empty: NodeClaim gone")
	}
	object, said := "NodeClaim/"+is.Name, []happening(nil)
	launched := holds(is, karpenterv1.ConditionTypeLaunched)
	if launched && (was == nil || !holds(was, karpenterv1.ConditionTypeLaunched)) {
		said = append(said, f.launch(is, world))
	}
	if state := is.Annotations[rotation.KeyState]; was != nil && state != was.Annotations[rotation.KeyState] {
		switch state {
		case "failed":
			said = append(said, by(noderotation, rotationFailed, object, "rolls back: no replacement stood in time for NodeClaim "+is.Name))
		case "expired":
			said = append(said, by(noderotation, rotationExpired, object, "gives way: NodeClaim "+is.Name+" is being deleted by another hand"))
		}
	}
	if is.DeletionTimestamp != nil && (was == nil || was.DeletionTimestamp == nil) {
		said = append(said, drain(is))
	}
	return said
}

// launch tells of a new node. A rotation never makes the pool larger by more than one (§3.3).
func (f fleet) launch(claim *karpenterv1.NodeClaim, world record.World) happening {
	object, text := "NodeClaim/"+claim.Name, "launches NodeClaim "+claim.Name+in(zoneOf(claim))
	if size := f.size(world); size > f.Nodes+1 {
		return by(karpenter, claimSurplus, object, fmt.Sprintf("%s: %d nodes, which is too many", text, size))
	}
	return by(karpenter, claimLaunched, object, text)
}

// drain tells who deleted the claim: the state that the controller writes first says whether it was us.
func drain(claim *karpenterv1.NodeClaim) happening {
	object := "NodeClaim/" + claim.Name
	if claim.Annotations[rotation.KeyState] != "draining" {
		return by(karpenter, drainBegins, object, "drains NodeClaim "+claim.Name+", deleted by another hand than ours")
	}
	return by(noderotation, drainBegins, object, "deletes NodeClaim "+claim.Name+": the drain begins")
}

// zoneOf is where the claim is, or where it must be; empty if that is open.
func zoneOf(claim *karpenterv1.NodeClaim) string {
	if zone := claim.Labels[corev1.LabelTopologyZone]; zone != "" {
		return zone
	}
	for _, requirement := range claim.Spec.Requirements {
		if requirement.Key == corev1.LabelTopologyZone && len(requirement.Values) == 1 {
			return requirement.Values[0]
		}
	}
	return ""
}

// in says where, if that is known.
func in(zone string) string {
	if zone == "" {
		return ""
	}
	return " in " + zone
}

func one(who actor, did what, object, text string) []happening {
	return []happening{by(who, did, object, text)}
}
