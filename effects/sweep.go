// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"strconv"
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
			found = append(found, Leftover{pod.Spec.NodeSelector[rotation.LabelNodePool], []Action{deletePod(pod)}})
		}
	}
	return found
}

// orphanedMarkers looks at nodes by what they are marked for, and, where only an ownership marker is left, by whose
// node they are.
func (i Inventory) orphanedMarkers(anchors map[string]bool) []Leftover {
	anchored := map[string]bool{}
	for _, claim := range i.Claims {
		if anchors[claim.Name] && claim.NodeName != "" {
			anchored[claim.NodeName] = true
		}
	}
	var found []Leftover
	for _, node := range i.Nodes {
		if anchors[node.Annotations[rotation.KeySurgeFor]] || anchored[node.Name] {
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
// person is told. One that is already being deleted keeps the next rotation from starting beside it.
func (i Inventory) orphanedClaims(anchors map[string]bool) []Leftover {
	var found []Leftover
	for _, claim := range i.Claims {
		state := claim.Annotations[rotation.KeyState]
		if anchors[claim.Name] || (state != rotation.StatePending && state != rotation.StateDraining) {
			continue
		}
		count, _ := claim.RetryCount()
		change := Change{
			Set: map[string]string{
				rotation.KeyState:      rotation.StateFailed,
				rotation.KeyFailedAt:   rotation.FormatStamp(i.Now),
				rotation.KeyRetryCount: strconv.Itoa(count + 1),
			},
			Remove: needed(claim.Annotations, nil, []string{rotation.KeyStartedAt, rotation.KeySurgeClaim}).Remove,
		}
		if claim.Deleting() {
			change.Set[rotation.KeyReleasedAt] = rotation.FormatStamp(i.Now)
		}
		pool := claim.Labels[rotation.LabelNodePool]
		found = append(found, Leftover{pool, []Action{
			PatchClaim{claim.Object, change},
			Announce{
				Pool: pool, Claim: claim.Name, Attempt: "orphaned",
				Target: Target{"NodeClaim", claim.Object}, Severity: Warning, Reason: ReasonRotationFailed,
				Message: fmt.Sprintf("NodeClaim %s was marked %s but no NodePool is anchored on it; it is now marked failed and retried after its backoff", claim.Name, state),
			},
		}})
	}
	return found
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
