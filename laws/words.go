// SPDX-License-Identifier: Apache-2.0

package laws

import "noderotation.io/noderotation/rotation"

// The guards that laws speak of. Guards and effects are referred to by name, as tables do; the names are a public
// contract.
const (
	guardGoverned            = "governed"
	guardFeasible            = "feasible"
	guardPoolSettled         = "pool_settled"
	guardInWindow            = "in_window"
	guardFrozen              = "frozen"
	guardCooldownElapsed     = "cooldown_elapsed"
	guardFailurePauseElapsed = "failure_pause_elapsed"
	guardBackoffElapsed      = "backoff_elapsed"
	guardEligible            = "eligible"
	guardCandidate           = "candidate"
	guardSurgeHeadroom       = "surge_headroom"
	guardSurgeReady          = "surge_ready"
	guardForcefulFallback    = "forceful_fallback"
	guardDeletionTimestamp   = "deletion_timestamp"
	guardClaimGone           = "claim_gone"
)

// The effects that laws speak of.
const (
	effectAnchor            = "anchor"
	effectRenewAnchor       = "renew_anchor"
	effectMirror            = "mirror"
	effectMarkPending       = "mark_pending"
	effectMarkDraining      = "mark_draining"
	effectMarkFailed        = "mark_failed"
	effectMarkExpired       = "mark_expired"
	effectResetClaim        = "reset_claim"
	effectFreeze            = "freeze"
	effectCordon            = "cordon"
	effectFreezeHost        = "freeze_host"
	effectUnfreeze          = "unfreeze"
	effectPlaceholder       = "placeholder"
	effectDeletePlaceholder = "delete_placeholder"
	effectDelete            = "delete"
	effectReap              = "reap"
	effectRecordSuccess     = "record_success"
	effectRecordFailure     = "record_failure"
	effectClearAnchor       = "clear_anchor"
	effectAnnounceExpired   = "announce_expired"
)

// marker is the effect that writes a state to the claim; for idle it takes the claim's state back.
func marker(state string) string {
	switch state {
	case rotation.StatePending:
		return effectMarkPending
	case rotation.StateDraining:
		return effectMarkDraining
	case rotation.StateFailed:
		return effectMarkFailed
	case rotation.StateExpired:
		return effectMarkExpired
	case rotation.StateIdle:
		return effectResetClaim
	}
	return "an effect that does"
}
