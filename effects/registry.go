// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Effect is a named step of a rotation.
type Effect = machine.Effect[*rotation.Snapshot, Action]

// Names of the effects. They are a public contract: tables refer to them.
const (
	Anchor            = "anchor"
	RenewAnchor       = "renew_anchor"
	MarkFallback      = "mark_fallback"
	Mirror            = "mirror"
	MarkPending       = "mark_pending"
	MarkDraining      = "mark_draining"
	MarkFailed        = "mark_failed"
	MarkExpired       = "mark_expired"
	Freeze            = "freeze"
	Cordon            = "cordon"
	FreezeHost        = "freeze_host"
	Unfreeze          = "unfreeze"
	Placeholder       = "placeholder"
	DeletePlaceholder = "delete_placeholder"
	RecordSurgeClaim  = "record_surge_claim"
	Delete            = "delete"
	Reap              = "reap"
	ResetClaim        = "reset_claim"
	MarkReleased      = "mark_released"
	RecordSuccess     = "record_success"
	RecordFailure     = "record_failure"
	ClearAnchor       = "clear_anchor"

	AnnounceStarted              = "announce_started"
	AnnounceFallback             = "announce_fallback"
	AnnounceInsufficientHeadroom = "announce_insufficient_headroom"
	AnnounceSurgeWait            = "announce_surge_wait"
	AnnounceCompleted            = "announce_completed"
	AnnounceDrained              = "announce_drained"
	AnnounceExpired              = "announce_expired"
	AnnounceUnschedulable        = "announce_unschedulable"
	AnnounceFailed               = "announce_failed"
	AnnounceGovernanceLost       = "announce_governance_lost"
	AnnounceDrainStuck           = "announce_drain_stuck"
)

// All lists every effect, in the order in which a rotation meets them.
func All() []Effect {
	var all []Effect
	for _, group := range [][]Effect{poolEffects(), claimEffects(), nodeEffects(), surgeEffects(), announcements()} {
		all = append(all, group...)
	}
	return all
}

// Registry joins the guards with every effect.
func Registry(guards []machine.Guard[*rotation.Snapshot]) (machine.Registry[*rotation.Snapshot, Action], error) {
	return machine.NewRegistry(guards, All())
}

// none is the result of an effect that finds everything as it should be.
func none(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) { return s, nil, nil }
