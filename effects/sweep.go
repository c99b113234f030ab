// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

// Inventory is everything in the cluster that may carry a marker of ours (§5.3 startup sweep).
type Inventory struct {
	Now          time.Time
	Pools        []rotation.Pool
	Claims       []*rotation.Claim
	Nodes        []*corev1.Node
	Placeholders []*corev1.Pod
}

// Leftover is one object that a rotation left behind, and what to do about it.
type Leftover struct {
	// Pool that the object belongs to; empty when it does not say.
	Pool    string
	Actions []Action
}

// Leftovers finds what no anchor references (§5.3 startup sweep). An anchored rotation is not stale: its pool's passes
// go on with it. Failed and expired claims keep their annotations.
func (i Inventory) Leftovers() []Leftover {
	anchors := map[string]bool{}
	for _, pool := range i.Pools {
		if anchor := pool.Annotations[rotation.KeyActiveRotation]; anchor != "" {
			anchors[anchor] = true
		}
	}
	found := i.orphanedPods(anchors)
	found = append(found, i.orphanedMarkers(anchors)...)
	found = append(found, i.orphanedClaims(anchors)...)
	return append(found, i.orphanedCompanions()...)
}

func (i Inventory) orphanedPods(anchors map[string]bool) []Leftover {
	var found []Leftover
	for _, pod := range i.Placeholders {
		if pod.DeletionTimestamp == nil && !anchors[pod.Annotations[rotation.KeySurgeFor]] {
			found = append(found, Leftover{pod.Spec.NodeSelector[rotation.LabelNodePool], []Action{deletePod(pod, rotation.Object{})}})
		}
	}
	return found
}

// orphanedMarkers looks at nodes by what they are marked for, and, where only an ownership marker is left, by whose
// node they are. For as long as a claim drains its replacement stays protected, also without an anchor: until the Pods have
// come it stands empty, and Karpenter would take it away.
func (i Inventory) orphanedMarkers(anchors map[string]bool) []Leftover {
	claims, nodes := map[string]bool{}, map[string]bool{}
	for _, claim := range i.Claims {
		if anchors[claim.Name] || claim.Deleting() {
			claims[claim.Name], nodes[claim.NodeName] = true, true
		}
	}
	var found []Leftover
	for _, node := range i.Nodes {
		marked := node.Annotations[rotation.KeySurgeFor]
		if anchors[marked] || claims[marked] || nodes[node.Name] {
			continue
		}
		s := &rotation.Snapshot{Nodes: map[string]*corev1.Node{node.Name: node}}
		if _, actions, _ := release(s, node); len(actions) > 0 {
			found = append(found, Leftover{node.Labels[rotation.LabelNodePool], actions})
		}
	}
	return found
}

// orphanedClaims finds claims that say they are in a rotation which no pool knows of. No crash leaves one behind, so a
// person is told, and the pool pauses as after any failure: whoever took the anchor away may do so again and again. A claim
// that is already being deleted keeps the next rotation from starting beside it.
func (i Inventory) orphanedClaims(anchors map[string]bool) []Leftover {
	pools := map[string]rotation.Pool{}
	for _, pool := range i.Pools {
		pools[pool.Name] = pool
	}
	var found []Leftover
	for _, claim := range i.Claims {
		state := claim.Annotations[rotation.KeyState]
		if anchors[claim.Name] || (state != rotation.StatePending && state != rotation.StateDraining) {
			continue
		}
		change := Change{
			Set: map[string]string{
				rotation.KeyState:      rotation.StateFailed,
				rotation.KeyFailedAt:   rotation.FormatStamp(i.Now),
				rotation.KeyRetryCount: claim.FurtherRetry(),
			},
			Remove: needed(claim.Annotations, nil, []string{rotation.KeyStartedAt, rotation.KeySurgeClaim}).Remove,
		}
		next := "it is now marked failed and retried after its backoff"
		if claim.Deleting() {
			change.Set[rotation.KeyReleasedAt] = rotation.FormatStamp(i.Now)
			next = "its drain goes on, and no other node of the pool is rotated before that is over"
		}
		name := claim.Labels[rotation.LabelNodePool]
		// The claim first, in the version that is seen: a pool whose rotation has ended meanwhile is not made to pause.
		actions := []Action{PatchClaim{claim.Object, change}}
		if pool, exists := pools[name]; exists {
			actions = append(actions, pausing(pool, i.Now)...)
		}
		found = append(found, Leftover{name, append(actions, Announce{
			Pool: name, Claim: claim.Name, Attempt: "orphaned",
			Target: Target{"NodeClaim", claim.Object}, Severity: Warning, Reason: ReasonRotationFailed,
			Message: fmt.Sprintf("NodeClaim %s was marked %s but no NodePool is anchored on it; %s", claim.Name, state, next),
		})})
	}
	return found
}

// pausing begins the pause after a failure, unless a later one has begun it.
func pausing(pool rotation.Pool, now time.Time) []Action {
	stamp := map[string]string{rotation.KeyLastFailureAt: rotation.FormatStamp(now)}
	last := rotation.ParseStamp(pool.Annotations, rotation.KeyLastFailureAt)
	change := needed(pool.Annotations, stamp, nil)
	if change.Empty() || last.Readable && last.At.After(now) {
		return nil
	}
	return []Action{PatchPool{
		Pool: pool.Object, Anchored: pool.Annotations[rotation.KeyActiveRotation], AnchoredOn: pool.Annotations[rotation.KeyAnchoredOn], Change: change,
	}}
}

// orphanedCompanions finds companions of an anchor that is not there.
func (i Inventory) orphanedCompanions() []Leftover {
	var found []Leftover
	for _, pool := range i.Pools {
		if pool.Annotations[rotation.KeyActiveRotation] != "" {
			continue
		}
		if change := needed(pool.Annotations, nil, rotation.AnchorKeys()); !change.Empty() {
			found = append(found, Leftover{pool.Name, []Action{PatchPool{Pool: pool.Object, Change: change}}})
		}
	}
	return found
}
