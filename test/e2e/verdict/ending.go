// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"strconv"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// EndedInOrder judges that at the instant at which the pool's anchor is cleared, nothing else of the attempt is left, Nodes are
// protected and cordoned as they were before it, and those stamps are written that its outcome calls for and no others
// (§3.8, §5.2, §5.3).
//
// ended counts the attempts that were judged.
func EndedInOrder(recording record.Recording, pool string) (ended int, found []string) {
	var all breaches
	var before guarded
	attempts := Attempts(recording, pool)
	recording.Replay(func(event record.Event, world record.World) {
		for _, attempt := range attempts {
			switch event.Revision {
			case attempt.First:
				before = guardedIn(world, pool)
				before.pool = world.Pools[pool]
				before.retries = retriesOf(world.Claims[attempt.Claim])
			case attempt.Last:
				ended++
				judgeEnding(&all, attempt, world, pool, before)
			}
		}
	})
	return ended, all
}

// guarded is what stood before the attempt and must stand after it.
type guarded struct {
	pool                *karpenterv1.NodePool
	retries             int
	protected, cordoned map[string]bool
}

func guardedIn(world record.World, pool string) guarded {
	stands := guarded{protected: map[string]bool{}, cordoned: map[string]bool{}}
	for _, node := range world.NodesOf(pool) {
		stands.protected[node.Name] = node.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue
		stands.cordoned[node.Name] = node.Spec.Unschedulable
	}
	return stands
}

func judgeEnding(found *breaches, attempt Attempt, world record.World, pool string, before guarded) {
	for _, pod := range world.Pods {
		if pod.Annotations[rotation.KeySurgeFor] == attempt.Claim && pod.DeletionTimestamp == nil {
			found.add(attempt.Last, "the attempt at %s ended as %s and placeholder %s stands", attempt.Claim, attempt.Outcome, pod.Name)
		}
	}
	after := guardedIn(world, pool)
	for _, node := range world.NodesOf(pool) {
		if node.DeletionTimestamp != nil {
			continue // whatever stands on it goes with it
		}
		for _, key := range rotation.NodeMarkers() {
			if value, stands := node.Annotations[key]; stands {
				found.add(attempt.Last, "the attempt at %s ended as %s and Node %s has %s=%s", attempt.Claim, attempt.Outcome, node.Name, key, value)
			}
		}
		if was, is := before.protected[node.Name], after.protected[node.Name]; was != is {
			found.add(attempt.Last, "the attempt at %s ended as %s and left Node %s protected=%t, which was %t", attempt.Claim, attempt.Outcome, node.Name, is, was)
		}
		if was, is := before.cordoned[node.Name], after.cordoned[node.Name]; was != is {
			found.add(attempt.Last, "the attempt at %s ended as %s and left Node %s cordoned=%t, which was %t", attempt.Claim, attempt.Outcome, node.Name, is, was)
		}
	}
	if claim := world.Claims[attempt.Claim]; claim != nil {
		judgeClaim(found, attempt, claim, before.retries)
	}
	judgeStamps(found, attempt, before.pool, world.Pools[pool])
}

func judgeClaim(found *breaches, attempt Attempt, claim *karpenterv1.NodeClaim, retries int) {
	for _, key := range []string{rotation.KeyStartedAt, rotation.KeySurgeClaim} {
		if value, stands := claim.Annotations[key]; stands {
			found.add(attempt.Last, "the attempt at %s ended as %s and the claim has %s=%s", attempt.Claim, attempt.Outcome, key, value)
		}
	}
	expected := retries
	if attempt.Outcome == Failed {
		expected++
		if claim.Annotations[rotation.KeyFailedAt] == "" {
			found.add(attempt.Last, "the attempt at %s failed and the claim does not say when", attempt.Claim)
		}
	}
	if is := retriesOf(claim); is != expected {
		found.add(attempt.Last, "the attempt at %s ended as %s and the claim counts %d failures, not %d", attempt.Claim, attempt.Outcome, is, expected)
	}
}

// judgeStamps: a success begins the cooldown, a failure the failure pause, an expiry neither.
func judgeStamps(found *breaches, attempt Attempt, before, after *karpenterv1.NodePool) {
	if before == nil || after == nil {
		return // the pool is gone, and its stamps with it
	}
	for key, by := range map[string]Outcome{rotation.KeyLastRotationAt: Success, rotation.KeyLastFailureAt: Failed} {
		was, is := before.Annotations[key], after.Annotations[key]
		if written := was != is; written != (attempt.Outcome == by) {
			found.add(attempt.Last, "the attempt at %s ended as %s and %s was %q and is %q", attempt.Claim, attempt.Outcome, key, was, is)
		}
	}
	for _, key := range rotation.AnchorKeys() {
		if value, stands := after.Annotations[key]; stands {
			found.add(attempt.Last, "the attempt at %s ended as %s and the pool has %s=%s", attempt.Claim, attempt.Outcome, key, value)
		}
	}
}

// retriesOf is the claim's count of failures; -1 if it cannot be read.
func retriesOf(claim *karpenterv1.NodeClaim) int {
	if claim == nil || claim.Annotations[rotation.KeyRetryCount] == "" {
		return 0
	}
	count, err := strconv.Atoi(claim.Annotations[rotation.KeyRetryCount])
	if err != nil {
		return -1
	}
	return count
}

// Reaped judges that when a failed attempt ends, every claim that was launched for it is being deleted or gone (§3.8). A claim that
// a Pod other than the placeholder lives on is left to its guest, and one that could not be launched to Karpenter.
//
// induced counts the launched claims of failed attempts.
func Reaped(recording record.Recording, pool string) (induced int, found []string) {
	var all breaches
	launched := map[string]bool{}
	open := false
	attempts := Attempts(recording, pool)
	recording.Replay(func(event record.Event, world record.World) {
		for _, attempt := range attempts {
			switch event.Revision {
			case attempt.First:
				open = attempt.Outcome == Failed
				clear(launched)
			case attempt.Last:
				if open {
					induced += len(launched)
					judgeInduced(&all, attempt, world, launched)
				}
				open = false
			}
		}
		claim, isClaim := event.After.(*karpenterv1.NodeClaim)
		if open && isClaim && claim.Labels[karpenterv1.NodePoolLabelKey] == pool && newlyLaunched(event) {
			launched[claim.Name] = true
		}
	})
	return induced, all
}

func newlyLaunched(event record.Event) bool {
	before, existed := event.Before.(*karpenterv1.NodeClaim)
	after, _ := event.After.(*karpenterv1.NodeClaim)
	return after.Status.ProviderID != "" && (!existed || before.Status.ProviderID == "")
}

func judgeInduced(found *breaches, attempt Attempt, world record.World, launched map[string]bool) {
	for name := range launched {
		claim := world.Claims[name]
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		guests := 0
		for _, pod := range world.PodsOn(claim.Status.NodeName) {
			if pod.Annotations[rotation.KeySurgeFor] != attempt.Claim {
				guests++
			}
		}
		if guests == 0 {
			found.add(attempt.Last, "the attempt at %s failed and %s, which was launched for it, stands", attempt.Claim, name)
		}
	}
}
