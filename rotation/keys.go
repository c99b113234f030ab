// SPDX-License-Identifier: Apache-2.0

package rotation

import "slices"

// Annotation keys of the state model (§5.3). Names and values are a public contract.
const (
	prefix = "noderotation.io/"

	KeyActiveRotation      = prefix + "active-rotation"
	KeyAnchoredOn          = prefix + "anchored-on"
	KeyActiveRotationState = prefix + "active-rotation-state"
	KeyDrainingAt          = prefix + "draining-at"
	KeySurgeWait           = prefix + "surge-wait"
	KeyRotationMode        = prefix + "rotation-mode"
	KeyState               = prefix + "state"
	KeyStartedAt           = prefix + "started-at"
	KeyFailedAt            = prefix + "failed-at"
	KeyRetryCount          = prefix + "retry-count"
	KeySurgeClaim          = prefix + "surge-claim"
	KeyReleasedAt          = prefix + "released-at"
	KeySurgeFor            = prefix + "surge-for"
	KeyDoNotDisrupt        = "karpenter.sh/do-not-disrupt"
	KeyDoNotDisruptOwned   = prefix + "do-not-disrupt-owned"
	KeyCordoned            = prefix + "cordoned"
	KeyLastFailureAt       = prefix + "last-failure-at"
	KeyFreeze              = prefix + "freeze"
	KeyFreezeReason        = prefix + "freeze-reason"
	KeyLastRotationAt      = prefix + "last-rotation-at"
)

// LabelNodePool is the label by which Karpenter says which NodePool a NodeClaim or Node belongs to.
const LabelNodePool = "karpenter.sh/nodepool"

// ValueTrue is the only value of a marker annotation, and the only value of karpenter.sh/do-not-disrupt that
// protects a Node (§3.2).
const ValueTrue = "true"

// ModeForcefulFallback is the only value of the rotation-mode annotation; its absence means surge (§5.3).
const ModeForcefulFallback = "forceful-fallback"

// Key describes one annotation for the people who read it: the single registry of what is persisted (§5.3).
type Key struct {
	Name     string
	Target   string
	Value    string
	Purpose  string
	Writer   string
	Lifetime string
	Clearer  string
}

// Keys lists every annotation that the product reads or writes, in the order of §5.3.
func Keys() []Key {
	return []Key{
		{KeyActiveRotation, "NodePool", "NodeClaim name", "durable anchor and serial gate", "anchor", "the rotation", "clear_anchor"},
		{KeyAnchoredOn, "NodePool", "resourceVersion of the NodeClaim", "tells one attempt at a NodeClaim from the next, so that a process that was overtaken cannot write to a later one", "anchor, renew_anchor", "the rotation", "clear_anchor"},
		{KeyActiveRotationState, "NodePool", "draining", "mirror of the phase, decides the outcome once the claim is gone", "mirror", "from the drain's start to the rotation's end", "clear_anchor, anchor"},
		{KeyDrainingAt, "NodePool", "RFC3339", "start of the drain, for its duration", "mirror", "from the drain's start to the rotation's end", "clear_anchor, anchor"},
		{KeySurgeWait, "NodePool", "Go duration", "how long the surge took", "mirror", "from the drain's start to the rotation's end", "clear_anchor, anchor"},
		{KeyRotationMode, "NodePool", ModeForcefulFallback, "marks the surge-less path", "mark_fallback", "the rotation", "clear_anchor, anchor"},
		{KeyState, "old NodeClaim", "pending, draining, failed or expired", "progress of the rotation", "mark_pending, mark_draining, mark_failed, mark_expired, sweep", "the NodeClaim", "reset_claim"},
		{KeyStartedAt, "old NodeClaim", "RFC3339", "start of the attempt, for readyTimeout", "mark_pending", "the attempt", "mark_failed, mark_expired, reset_claim"},
		{KeyFailedAt, "old NodeClaim", "RFC3339", "start of the backoff", "mark_failed, sweep", "the NodeClaim", "nobody"},
		{KeyRetryCount, "old NodeClaim", "integer", "failures so far, escalates the backoff", "mark_failed, sweep", "the NodeClaim", "nobody"},
		{KeySurgeClaim, "old NodeClaim", "NodeClaim name", "the claim that the placeholder sits on", "record_surge_claim", "the attempt", "mark_pending, mark_failed, mark_expired, reset_claim"},
		{KeyReleasedAt, "old NodeClaim", "RFC3339", "when a rotation of this claim was let go; where its drain had begun by then, no other starts beside it", "reset_claim, mark_released, mark_expired, sweep", "until the next attempt", "mark_pending"},
		{KeySurgeFor, "placeholder Pod, old and surge Node", "NodeClaim name", "pairs the object with its rotation", "placeholder, freeze, freeze_host", "the rotation", "delete_placeholder, unfreeze"},
		{KeyDoNotDisrupt, "old and surge Node", ValueTrue, "keeps Karpenter's voluntary disruption away", "freeze, freeze_host", "the rotation", "unfreeze, where do-not-disrupt-owned says it is ours"},
		{KeyDoNotDisruptOwned, "old and surge Node", ValueTrue, "do-not-disrupt is ours, not an operator's", "freeze, freeze_host", "the rotation", "unfreeze"},
		{KeyCordoned, "old Node", ValueTrue, "the cordon is ours, not an operator's", "cordon", "the rotation", "unfreeze"},
		{KeyLastFailureAt, "NodePool", "RFC3339", "start of the pause after a failure", "record_failure, sweep", "the NodePool", "nobody"},
		{KeyFreeze, "NodePool", "RFC3339", "no rotation starts, and a pending one is held, until then", "an operator", "until the operator removes it", "an operator"},
		{KeyFreezeReason, "NodePool", "text", "why the pool is frozen, for the people who ask; it decides nothing", "an operator", "the freeze", "an operator"},
		{KeyLastRotationAt, "NodePool", "RFC3339", "start of the pause after a success", "record_success", "the NodePool", "nobody"},
	}
}

// AnchorKeys is the whole rotation-scoped set on the NodePool. It is cleared in one update, so that no
// companion can outlive its rotation (§5.3, clearing the anchor).
func AnchorKeys() []string {
	return []string{KeyActiveRotation, KeyAnchoredOn, KeyActiveRotationState, KeyDrainingAt, KeySurgeWait, KeyRotationMode}
}

// NodeMarkers are the annotations on a Node that say what of it is ours (§3.4).
func NodeMarkers() []string {
	return []string{KeySurgeFor, KeyDoNotDisruptOwned, KeyCordoned}
}

// IsNodeMarker tells whether key marks ownership on a Node.
func IsNodeMarker(key string) bool { return slices.Contains(NodeMarkers(), key) }
