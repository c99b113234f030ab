// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

func (r *run) breach(format string, args ...any) {
	r.breaches = append(r.breaches, fmt.Sprintf(format, args...))
}

// judge judges a write as it takes effect. What nobody could know is not held against the pass: where it matters what a
// decision rested on, its own view is asked.
func (r *run) judge(w *write) {
	switch after := w.change.After.(type) {
	case *karpenterv1.NodePool:
		r.judgePool(poolBefore(w.change), after)
	case *karpenterv1.NodeClaim:
		if w.verb == "delete" {
			r.judgeDelete(after)
		}
	case *corev1.Pod:
		if w.verb == "create" {
			r.judgeCreate(after)
		}
	}
	if pod, is := w.change.Object().(*corev1.Pod); is && w.verb == "delete" {
		r.judgeHandOver(pod)
	}
	if w.verb == "delete" {
		if seen := r.view.Find(w.kind, w.key); seen == nil || seen.GetUID() != w.change.Object().GetUID() {
			r.breach("%s %s is deleted, and it is not the one that the pass has seen", w.kind, w.key)
		}
	}
}

// judgePool holds the serial gate (§5.2 anchor semantics, §3.8).
func (r *run) judgePool(before, after *karpenterv1.NodePool) {
	was, is := before.Annotations[rotation.KeyActiveRotation], after.Annotations[rotation.KeyActiveRotation]
	switch {
	case was != "" && is != "" && was != is:
		r.breach("the anchor of %s is moved from %s to %s while that rotation is in flight", after.Name, was, is)
	case was == "" && is != "":
		for _, claim := range r.live.NodeClaimsBy(byPool, after.Name) {
			if claim.Name != is && draining(claim) {
				r.breach("a rotation of %s starts beside %s, which an earlier one deleted and which still drains", is, claim.Name)
			}
		}
	}
	if was == "" && is != "" {
		r.judgeStart(after, is)
	}
}

// judgeStart holds the freeze, the window and the choice between surge and fallback (§3.1, §3.6).
func (r *run) judgeStart(after *karpenterv1.NodePool, name string) {
	pool, claim := r.view.NodePool(r.pool), r.view.NodeClaim(name)
	if frozen(pool, r.live.now) {
		r.breach("a rotation of %s starts although the pool is frozen", name)
	}
	policy := r.view.Policy(policyName)
	switch {
	case policy == nil:
		r.breach("a rotation of %s starts and no policy governs the pool", name)
		return
	case claim == nil:
		r.breach("a rotation of %s starts, and there is no such claim", name)
		return
	}
	if node := r.view.Node(claim.Status.NodeName); node != nil && node.Annotations[notedProtected] != "" {
		r.breach("a rotation of %s starts although an operator protects its node", name)
	}
	if r.live.now.Sub(claim.CreationTimestamp.Time) <= ofAge {
		r.breach("a rotation of %s starts, and it is not of age", name)
	}
	late := claim.CreationTimestamp.Add(expireAfter).Sub(r.live.now) < rotationBound
	fallback := after.Annotations[rotation.KeyRotationMode] != ""
	if enabled := policy.ForcefulFallback(); fallback != (enabled && late) {
		r.breach("the rotation of %s starts with fallback %t, though it is too late for a surge: %t, and the policy allows the fallback: %t",
			name, fallback, late, enabled)
	}
}

// draining is true of a claim that a rotation of ours deleted.
func draining(claim *karpenterv1.NodeClaim) bool {
	return claim.DeletionTimestamp != nil && claim.Annotations[notedForeign] == "" && claim.Annotations[notedReaped] == ""
}

func frozen(pool *karpenterv1.NodePool, now time.Time) bool {
	if pool == nil {
		return false
	}
	value, held := pool.Annotations[rotation.KeyFreeze]
	if !held {
		return false
	}
	until, err := time.Parse(time.RFC3339, value)
	return err != nil || now.Before(until)
}

// judgeCreate: no placeholder while the pool is frozen, and none once its drain has begun (§3.1, §3.3).
func (r *run) judgeCreate(pod *corev1.Pod) {
	name := pod.Annotations[rotation.KeySurgeFor]
	if frozen(r.view.NodePool(r.pool), r.live.now) {
		r.breach("placeholder %s is created although the pool is frozen", pod.Name)
	}
	if claim := r.live.NodeClaim(name); claim != nil && claim.Annotations[rotation.KeyState] == rotation.StateDraining {
		r.breach("placeholder %s is created again although the drain of %s has begun", pod.Name, name)
	}
}

// judgeHandOver: while a drain is decided and has not begun its placeholder keeps the room (§3.3).
func (r *run) judgeHandOver(pod *corev1.Pod) {
	name := pod.Annotations[rotation.KeySurgeFor]
	claim, pool := r.live.NodeClaim(name), r.live.NodePool(r.pool)
	if claim == nil || pool == nil || r.view.Policy(policyName) == nil || pool.Annotations[rotation.KeyActiveRotation] != name {
		return
	}
	if claim.Annotations[rotation.KeyState] == rotation.StateDraining && claim.DeletionTimestamp == nil {
		r.breach("placeholder %s is deleted although the drain of %s is decided and has not begun", pod.Name, name)
	}
}

// judgeDelete: a claim is deleted by its own rotation once its surge stands or as the fallback, or as the surge of a
// failed attempt with nobody on it, and by nothing else (§3.3, §3.6, §3.8).
func (r *run) judgeDelete(claim *karpenterv1.NodeClaim) {
	seen, live := r.view.NodePool(r.pool), r.live.NodePool(r.pool)
	if seen == nil || live == nil {
		r.breach("%s is deleted, and its NodePool does not exist", claim.Name)
		return
	}
	if anchor := seen.Annotations[rotation.KeyActiveRotation]; anchor != "" && anchor != claim.Name {
		r.judgeReap(claim, anchor)
		return
	}
	switch {
	case live.Annotations[rotation.KeyActiveRotation] != claim.Name:
		r.breach("%s is deleted, and no rotation is anchored on it", claim.Name)
	case claim.Annotations[rotation.KeyState] != rotation.StateDraining:
		r.breach("%s is deleted, and its state is %q", claim.Name, claim.Annotations[rotation.KeyState])
	case live.Annotations[rotation.KeyActiveRotationState] != rotation.StateDraining:
		r.breach("%s is deleted before the pool has the mirror of it", claim.Name)
	case live.Annotations[rotation.KeyRotationMode] != "":
		if !slices.ContainsFunc(r.told, func(a effects.Announce) bool { return a.Fallback }) {
			r.breach("%s is deleted without a surge, and nobody is told", claim.Name)
		}
	default:
		r.judgeDrain(claim)
	}
}

// judgeDrain judges the pass that begins a drain; a later one only ends what that began.
func (r *run) judgeDrain(claim *karpenterv1.NodeClaim) {
	before := r.view.NodeClaim(claim.Name)
	if before == nil || before.Annotations[rotation.KeyState] == rotation.StateDraining {
		return
	}
	if reason := unready(r.view, r.pool, before); reason != "" {
		r.breach("%s is deleted without a ready surge: %s", claim.Name, reason)
	} else if started := placeholderOf(r.view, claim.Name).Status.StartTime; started != nil && r.live.now.Sub(started.Time) < rotation.Settling {
		r.breach("%s is deleted while Karpenter may still plan for its placeholder", claim.Name)
	}
	if frozen(r.view.NodePool(r.pool), r.live.now) {
		r.breach("%s is deleted although the pool is frozen", claim.Name)
	}
}

// unready says why the claim's surge does not stand; empty when it does.
func unready(v *cluster.View, pool string, old *karpenterv1.NodeClaim) string {
	pod := placeholderOf(v, old.Name)
	switch {
	case pod == nil:
		return "there is no placeholder"
	case pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning:
		return "the placeholder does not run"
	case pod.Spec.NodeName == old.Status.NodeName:
		return "the placeholder is on the old node"
	}
	node, claim := v.Node(pod.Spec.NodeName), claimOfNode(v, pool, pod.Spec.NodeName)
	switch {
	case node == nil || claim == nil:
		return "the placeholder's node is not one of the pool's"
	case !nodeReady(node) || !claimReady(claim):
		return "the placeholder's node is not Ready"
	case node.DeletionTimestamp != nil || claim.DeletionTimestamp != nil:
		return "the placeholder's node is being removed"
	case node.Spec.Unschedulable:
		return "the placeholder's node is cordoned"
	default:
		return ""
	}
}

func (r *run) judgeReap(claim *karpenterv1.NodeClaim, anchor string) {
	cluster.Edit(r.live.Cluster, claim, func(c *karpenterv1.NodeClaim) { annotate(c, notedReaped, rotation.ValueTrue) })
	old := r.view.NodeClaim(anchor)
	if old == nil {
		r.breach("%s is deleted as the surge of %s, which does not exist", claim.Name, anchor)
		return
	}
	started, err := time.Parse(time.RFC3339, old.Annotations[rotation.KeyStartedAt])
	switch {
	case err != nil:
		r.breach("%s is deleted as the surge of %s, and nothing tells when that attempt began", claim.Name, anchor)
	case r.live.now.Sub(started) <= readyTimeout:
		r.breach("%s is deleted as the surge of %s, whose attempt has not timed out", claim.Name, anchor)
	case claim.CreationTimestamp.Time.Before(started):
		r.breach("%s is deleted as the surge of %s, and is older than the attempt", claim.Name, anchor)
	}
	if now := r.live.NodeClaim(anchor); now != nil && now.Annotations[rotation.KeyState] == rotation.StateDraining {
		r.breach("%s is deleted as the surge of %s, whose drain is decided", claim.Name, anchor)
	}
	for _, pod := range r.view.PodsBy(byNode, claim.Status.NodeName) {
		if pod.Namespace != namespace && claim.Status.NodeName != "" {
			r.breach("%s is deleted as the surge of %s, and Pod %s runs on it", claim.Name, anchor, pod.Name)
		}
	}
}
