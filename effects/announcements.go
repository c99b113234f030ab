// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"strings"
	"time"

	"noderotation.io/noderotation/rotation"
)

// announcements tell; they write nothing durable (§4.2).
func announcements() []Effect {
	return []Effect{
		{Name: AnnounceStarted, About: "Tell that a rotation has started.", Section: "§4.2",
			Reads: telling(rotation.ReadClaimAge, rotation.ReadClaimExpiry, rotation.ReadClaimNode),
			Apply: announceStarted},
		{Name: AnnounceFallback, About: "Tell and count a surge-less rotation; nothing for any other.", Section: "§3.6",
			Reads: telling(rotation.ReadMode, rotation.ReadClaimNode),
			Apply: announceFallback},
		{Name: AnnounceInsufficientHeadroom, About: "Tell that the pool's limits leave no room for the replacement.", Section: "§3.3",
			Reads: telling(rotation.ReadPoolLimits, rotation.ReadClaimNode, rotation.ReadClaimAllocatable, rotation.ReadNodes, rotation.ReadPods),
			Apply: announceInsufficientHeadroom},
		{Name: AnnounceSurgeWait, About: "Observe how long the replacement took.", Section: "§4.2",
			Reads: telling(rotation.ReadSurgeWait),
			Apply: announceSurgeWait},
		{Name: AnnounceCompleted, About: "Tell and count a success.", Section: "§5.2 completion",
			Reads: telling(rotation.ReadClock, rotation.ReadSurgeWait),
			Apply: announceCompleted},
		{Name: AnnounceDrained, About: "Observe how long the drain took.", Section: "§4.2",
			Reads: telling(rotation.ReadClock),
			Apply: announceDrained},
		{Name: AnnounceExpired, About: "Tell and count an expiry.", Section: "§5.2 force-expiry",
			Reads: telling(),
			Apply: announceExpired},
		{Name: AnnounceUnschedulable, About: "Tell why the placeholder found no node, if it found none.", Section: "§4.2",
			Reads: telling(rotation.ReadPlaceholder),
			Apply: announceUnschedulable},
		{Name: AnnounceFailed, About: "Tell and count a failure.", Section: "§3.8",
			Reads: telling(),
			Apply: announceFailed},
		{Name: AnnounceGovernanceLost, About: "Tell that the rotation was taken back because no policy governs the pool.", Section: "§5.4",
			Reads: telling(rotation.ReadGovernance),
			Apply: announceGovernanceLost},
		{Name: AnnounceDrainStuck, About: "Tell that the drain is overdue, and what holds it.", Section: "§5.2 stuck drain",
			Reads: telling(rotation.ReadClock, rotation.ReadClaimNode, rotation.ReadPods, rotation.ReadBudgets),
			Apply: announceDrainStuck},
	}
}

func announceStarted(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, _ := s.Subject()
	message := fmt.Sprintf("rotating NodeClaim %s (node %s): its replacement comes first", claim.Name, claim.NodeName)
	if deadline, expires := claim.Deadline(); expires {
		message += fmt.Sprintf("; Karpenter would expire it at %s", rotation.FormatStamp(deadline))
	}
	return s, []Action{tell(s, poolTarget(s), Normal, ReasonRotationStarted, message)}, nil
}

// announceFallback also stands in the row that finishes a torn start, so that a crash before the announcement does not
// lose the count.
func announceFallback(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	if s.Pool.Annotations[rotation.KeyRotationMode] != rotation.ModeForcefulFallback {
		return none(s)
	}
	claim, _ := s.Subject()
	message := fmt.Sprintf("NodeClaim %s (node %s) is drained without a replacement: its deadline is closer than a rotation takes", claim.Name, claim.NodeName)
	told := tell(s, poolTarget(s), Warning, ReasonForcefulFallback, message)
	told.Fallback = true
	return s, []Action{told}, nil
}

func announceInsufficientHeadroom(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	_, reason := rotation.SurgeHeadroom(*s)
	told := tell(s, poolTarget(s), Warning, ReasonInsufficientHeadroom, fmt.Sprintf("NodeClaim %s cannot be rotated: %s", s.SubjectName(), reason))
	told.Condition = true
	return s, []Action{told}, nil
}

func announceSurgeWait(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	wait, err := time.ParseDuration(s.Pool.Annotations[rotation.KeySurgeWait])
	if err != nil {
		return none(s)
	}
	return observe(s, SurgeWait, wait)
}

func announceCompleted(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	message := fmt.Sprintf("NodeClaim %s has been replaced", s.SubjectName())
	if wait := s.AnchorValue(rotation.KeySurgeWait); wait != "" {
		message += ", surge " + wait
	}
	if drain, known := drainDuration(s); known {
		message += ", drain " + drain.String()
	}
	told := tell(s, poolTarget(s), Normal, ReasonRotationCompleted, message)
	told.Outcome = Success
	return s, []Action{told}, nil
}

// announceDrained stands after clear_anchor, the durable write that ends the phase: a duration is observed at most once.
func announceDrained(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	drain, known := drainDuration(s)
	if !known {
		return none(s)
	}
	return observe(s, Drain, drain)
}

func drainDuration(s *rotation.Snapshot) (time.Duration, bool) {
	drainingAt, err := time.Parse(time.RFC3339, s.AnchorValue(rotation.KeyDrainingAt))
	return max(0, s.Now.Sub(drainingAt)).Truncate(time.Second), err == nil
}

func observe(s *rotation.Snapshot, phase Phase, d time.Duration) (*rotation.Snapshot, []Action, error) {
	told := tell(s, claimTarget(s), Normal, "", "")
	told.Phase, told.Duration = phase, d
	return s, []Action{told}, nil
}

func announceExpired(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	message := fmt.Sprintf("NodeClaim %s was deleted by another hand before its replacement stood", s.SubjectName())
	told := tell(s, claimTarget(s), Warning, ReasonRotationExpired, message)
	told.Outcome = Expired
	return s, []Action{told}, nil
}

// announceUnschedulable stands before the placeholder is deleted. A placeholder without a node is ordinary while
// Karpenter provisions; once readyTimeout has passed it is the reason of the failure.
func announceUnschedulable(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	reason := rotation.Unschedulable(s.Placeholder())
	if reason == "" {
		return none(s)
	}
	return s, []Action{tell(s, claimTarget(s), Warning, ReasonSurgeUnschedulable, "the placeholder found no node: "+reason)}, nil
}

func announceFailed(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, _ := s.Subject()
	message := fmt.Sprintf("the replacement of NodeClaim %s did not stand within readyTimeout (failures so far: %s); everything is as before, the next attempt follows after the backoff",
		claim.Name, claim.Annotations[rotation.KeyRetryCount])
	told := tell(s, claimTarget(s), Warning, ReasonRotationFailed, message)
	told.Outcome = Failure
	return s, []Action{told}, nil
}

func announceGovernanceLost(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	message := fmt.Sprintf("the rotation of NodeClaim %s was taken back: %s", s.SubjectName(), s.Governance.Reason)
	return s, []Action{tell(s, poolTarget(s), Warning, ReasonGovernanceLost, message)}, nil
}

func announceDrainStuck(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	message := fmt.Sprintf("the drain of NodeClaim %s is overdue", s.SubjectName())
	if holders := rotation.DrainHolders(*s); len(holders) > 0 {
		message += "; it is held by " + strings.Join(holders, "; ")
	}
	told := tell(s, poolTarget(s), Warning, ReasonDrainStuck, message)
	told.Condition = true
	return s, []Action{told}, nil
}
