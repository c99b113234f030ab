// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"maps"
	"time"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// judgeWhole judges a pass that went well and saw the cluster as it was, by what it left.
func (r *run) judgeWhole(before *State) {
	if r.err != nil {
		r.breach("the pass over %s ends with an error, with nobody in its way: %v", r.pool, r.err)
		return
	}
	pool := before.NodePool(r.pool)
	if pool == nil {
		return
	}
	r.judgeOutcome(before, pool)
	r.judgeTold(before)
	after := r.live.NodePool(r.pool)
	if pool.Annotations[rotation.KeyActiveRotation] == "" && after.Annotations[rotation.KeyActiveRotation] == "" {
		r.judgeSwept()
	}
	if anchor := pool.Annotations[rotation.KeyActiveRotation]; anchor != "" && after.Annotations[rotation.KeyActiveRotation] == "" {
		// A failed rotation was cleaned up before it was marked so; its rows only let go.
		if claim := before.NodeClaim(anchor); claim == nil || claim.Annotations[rotation.KeyState] != rotation.StateFailed {
			r.judgeEnd(anchor)
		}
	}
	if anchor := after.Annotations[rotation.KeyActiveRotation]; anchor != "" {
		r.judgeFlight(after, r.live.NodeClaim(anchor))
		if pool.Annotations[rotation.KeyActiveRotation] == anchor {
			r.judgeSurgeClaim(r.live.NodeClaim(anchor))
		}
	}
	if policy := before.Policy(policyName); policy == nil && after.Annotations[rotation.KeyActiveRotation] != "" {
		if claim := before.NodeClaim(pool.Annotations[rotation.KeyActiveRotation]); claim == nil || claim.Annotations[rotation.KeyState] != rotation.StateFailed {
			r.breach("no policy governs %s, and its rotation is kept", r.pool)
		}
	}
}

// judgeSwept: a pass over a pool without an anchor leaves nothing behind that says a rotation is under way (§5.3).
func (r *run) judgeSwept() {
	for _, left := range unanchored(r.live.View) {
		r.breach("no rotation is anchored on %s, and after a pass over it there is still %s", r.pool, left)
	}
}

// judgeEnd: when a rotation's anchor goes nothing of the rotation is left (§5.2 completion, §3.8).
func (r *run) judgeEnd(name string) {
	if pod := placeholderOf(r.live.View, name); pod != nil && pod.DeletionTimestamp == nil {
		r.breach("the rotation of %s is over, and its placeholder is still there", name)
	}
	own := ""
	if claim := r.live.NodeClaim(name); claim != nil {
		own = claim.Status.NodeName
	}
	for _, node := range r.live.Nodes() {
		if node.DeletionTimestamp != nil || (node.Name != own && node.Annotations[rotation.KeySurgeFor] != name) {
			continue
		}
		for _, key := range rotation.NodeMarkers() {
			if value, marked := node.Annotations[key]; marked {
				r.breach("the rotation of %s is over, and Node %s has still %s=%q", name, node.Name, key, value)
			}
		}
		if node.Annotations[notedProtected] == "" && node.Annotations[rotation.KeyDoNotDisrupt] != "" || node.Annotations[notedCordoned] == "" && node.Spec.Unschedulable {
			r.breach("the rotation of %s is over, and Node %s is still protected or cordoned, though no operator did that", name, node.Name)
		}
	}
}

// judgeOutcome tells success, failure and expired apart as §5.2 and §3.8 do, and compares with what the pass told.
func (r *run) judgeOutcome(before *State, pool *karpenterv1.NodePool) {
	expected := outcome(before, pool)
	var told []effects.Outcome
	for _, a := range r.told {
		if a.Outcome != "" {
			told = append(told, a.Outcome)
		}
	}
	switch {
	case expected == "" && len(told) > 0:
		r.breach("%s is told of %s, where a rotation came to no end", told[0], r.pool)
	case expected != "" && (len(told) != 1 || told[0] != expected):
		r.breach("the rotation of %s came to %s, and what is told is %v", r.pool, expected, told)
	}
	after := r.live.NodePool(r.pool)
	moved := after.Annotations[rotation.KeyLastRotationAt] != pool.Annotations[rotation.KeyLastRotationAt]
	if now := rotation.FormatStamp(r.live.now); expected == effects.Success && after.Annotations[rotation.KeyLastRotationAt] != now || expected != effects.Success && moved {
		r.breach("the rotation of %s came to %q, and last-rotation-at is %q", r.pool, expected, after.Annotations[rotation.KeyLastRotationAt])
	}
	name := pool.Annotations[rotation.KeyActiveRotation]
	if expected != "" && after.Annotations[rotation.KeyActiveRotation] != "" {
		r.breach("the rotation of %s came to %s, and its anchor is still there", name, expected)
	}
	claim := r.live.NodeClaim(name)
	if claim == nil {
		return
	}
	switch state := claim.Annotations[rotation.KeyState]; {
	case expected == effects.Expired && state != rotation.StateExpired, expected == effects.Failure && state != rotation.StateFailed:
		r.breach("the rotation of %s came to %s, and its state is %q", name, expected, state)
	case expected == effects.Failure && after.Annotations[rotation.KeyLastFailureAt] != rotation.FormatStamp(r.live.now):
		r.breach("the rotation of %s has failed, and no pause begins", name)
	case expected == effects.Failure && claim.Annotations[rotation.KeyRetryCount] == before.NodeClaim(name).Annotations[rotation.KeyRetryCount]:
		r.breach("the rotation of %s has failed, and the failure is not counted", name)
	}
}

// outcome is what the pool's rotation has come to, empty while it goes on.
func outcome(s *State, pool *karpenterv1.NodePool) effects.Outcome {
	name := pool.Annotations[rotation.KeyActiveRotation]
	claim := s.NodeClaim(name)
	mirrored := pool.Annotations[rotation.KeyActiveRotationState] == rotation.StateDraining
	switch {
	case name == "":
		return ""
	case claim == nil && mirrored:
		return effects.Success
	case claim == nil:
		return effects.Expired
	}
	state := claim.Annotations[rotation.KeyState]
	switch {
	case pool.Annotations[rotation.KeyRotationMode] != "", state == rotation.StateDraining, state == rotation.StateExpired:
		return ""
	case claim.DeletionTimestamp != nil:
		return effects.Expired
	case state == rotation.StateFailed, s.Policy(policyName) == nil:
		return ""
	}
	started, err := time.Parse(time.RFC3339, claim.Annotations[rotation.KeyStartedAt])
	if err == nil && s.now.Sub(started) > readyTimeout {
		return effects.Failure
	}
	return ""
}

// judgeTold: a drain that is overdue is told, and so is a pool without room (§5.2 stuck drain, §3.3).
func (r *run) judgeTold(before *State) {
	pool := before.NodePool(r.pool)
	claim := before.NodeClaim(pool.Annotations[rotation.KeyActiveRotation])
	if claim == nil || before.Policy(policyName) == nil || claim.Annotations[rotation.KeyState] != rotation.StateDraining || claim.DeletionTimestamp == nil {
		return
	}
	overdue := before.now.Sub(claim.DeletionTimestamp.Time) > drainBound
	told := false
	for _, a := range r.told {
		told = told || a.Reason == effects.ReasonDrainStuck
	}
	if overdue != told {
		r.breach("the drain of %s is overdue: %t, and that is told: %t", claim.Name, overdue, told)
	}
}

// judgeFlight: a pass that leaves a rotation in flight leaves it as its phase should be (§5.2 idempotent recovery, §3.3,
// §3.4).
//
//nolint:gocognit // one rule after the other
func (r *run) judgeFlight(pool *karpenterv1.NodePool, claim *karpenterv1.NodeClaim) {
	if claim == nil {
		return
	}
	state := claim.Annotations[rotation.KeyState]
	if pool.Annotations[rotation.KeyRotationMode] != "" {
		// The fallback's anchor says draining, whatever an earlier attempt has left on the claim.
		state = rotation.StateDraining
	}
	switch state {
	case rotation.StatePending:
		node := r.live.Node(claim.Status.NodeName)
		if node != nil && node.DeletionTimestamp == nil {
			if node.Annotations[rotation.KeyDoNotDisrupt] != rotation.ValueTrue || !node.Spec.Unschedulable {
				r.breach("the rotation of %s is pending, and Node %s is not protected and cordoned", claim.Name, node.Name)
			}
		}
		if _, stamped := claim.Annotations[rotation.KeyStartedAt]; !stamped {
			r.breach("the rotation of %s is pending, and nothing says since when", claim.Name)
		}
		if placeholderOf(r.view, claim.Name) == nil && placeholderOf(r.live.View, claim.Name) == nil && node != nil && !frozen(pool, r.live.now) {
			r.breach("the rotation of %s is pending, and nobody asks for its replacement", claim.Name)
		}
	case rotation.StateDraining:
		if pod := placeholderOf(r.live.View, claim.Name); pod != nil && pod.DeletionTimestamp == nil {
			r.breach("%s is being drained, and its placeholder still holds the room", claim.Name)
		}
		if claim.DeletionTimestamp == nil {
			r.breach("the drain of %s is decided, and it is not being deleted", claim.Name)
		}
	case rotation.StateFailed, rotation.StateExpired:
		r.breach("the rotation of %s has come to its end, and its anchor is still there", claim.Name)
	}
	if _, mirrored := pool.Annotations[rotation.KeyActiveRotationState]; !mirrored && claim.Annotations[rotation.KeyState] == rotation.StateDraining {
		r.breach("%s is being drained, and the pool has no mirror of it", claim.Name)
	}
}

// judgeSurgeClaim: while a rotation is pending surge-claim follows the placeholder (§5.3).
func (r *run) judgeSurgeClaim(claim *karpenterv1.NodeClaim) {
	if claim == nil || claim.Annotations[rotation.KeyState] != rotation.StatePending {
		return
	}
	pod := placeholderOf(r.live.View, claim.Name)
	if pod == nil || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return
	}
	host := claimOfNode(r.live.View, r.pool, pod.Spec.NodeName)
	if host != nil && host.Name != claim.Name && claim.Annotations[rotation.KeySurgeClaim] != host.Name {
		r.breach("the placeholder of %s is bound to %s, and surge-claim says %q", claim.Name, host.Name, claim.Annotations[rotation.KeySurgeClaim])
	}
}

// unanchored are the marks of rotations that no anchor references: what a sweep has to remove (§5.3 startup sweep).
func unanchored(v *cluster.View) []string {
	anchors := map[string]bool{}
	for _, pool := range v.NodePools() {
		if anchor := pool.Annotations[rotation.KeyActiveRotation]; anchor != "" {
			anchors[anchor] = true
		}
	}
	return marks(v, anchors)
}

// marks are those of rotations other than the anchored ones, on what is not going away.
func marks(v *cluster.View, anchored map[string]bool) []string {
	var left []string
	for _, pod := range v.Pods() {
		if pod.Namespace == namespace && pod.DeletionTimestamp == nil && !anchored[pod.Annotations[rotation.KeySurgeFor]] {
			left = append(left, "placeholder "+pod.Name)
		}
	}
	for _, np := range v.NodePools() {
		for _, key := range rotation.AnchorKeys() {
			if _, is := np.Annotations[key]; is && np.Annotations[rotation.KeyActiveRotation] == "" {
				left = append(left, "NodePool "+np.Name+" with "+key)
			}
		}
	}
	for _, claim := range v.NodeClaims() {
		state := claim.Annotations[rotation.KeyState]
		if underway := state == rotation.StatePending || state == rotation.StateDraining; underway && !anchored[claim.Name] && claim.DeletionTimestamp == nil {
			left = append(left, "NodeClaim "+claim.Name+" in state "+state)
		}
	}
	return append(left, markedNodes(v, anchored)...)
}

// markedNodes leaves out those of an anchored rotation, and those of a claim that is going: the node to which its Pods are on
// their way stays protected until they have come.
func markedNodes(v *cluster.View, anchored map[string]bool) []string {
	claims, nodes := map[string]bool{}, map[string]bool{}
	maps.Copy(claims, anchored)
	for _, claim := range v.NodeClaims() {
		if anchored[claim.Name] || claim.DeletionTimestamp != nil {
			claims[claim.Name], nodes[claim.Status.NodeName] = true, true
		}
	}
	var left []string
	for _, node := range v.Nodes() {
		if node.DeletionTimestamp != nil || nodes[node.Name] || claims[node.Annotations[rotation.KeySurgeFor]] {
			continue
		}
		for _, key := range rotation.NodeMarkers() {
			if _, marked := node.Annotations[key]; marked {
				left = append(left, "Node "+node.Name+" with "+key)
			}
		}
	}
	return left
}
