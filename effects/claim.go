// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"strconv"

	"noderotation.io/noderotation/rotation"
)

// claimEffects write the old NodeClaim.
func claimEffects() []Effect {
	return []Effect{
		{Name: MarkPending, About: "Mark the claim as pending and stamp the attempt's start, once per attempt.", Section: "§5.3 state, started-at",
			Writes: []string{rotation.WriteState(rotation.StatePending)}, Apply: markPending},
		{Name: MarkDraining, About: "Mark the claim as draining.", Section: "§5.3 state",
			Writes: []string{rotation.WriteState(rotation.StateDraining)}, Apply: markDraining},
		{Name: MarkFailed, About: "Mark the claim as failed, with the time and one more failure, in one update.", Section: "§5.3 state, failed-at, retry-count",
			Writes: []string{rotation.WriteState(rotation.StateFailed)}, Apply: markFailed},
		{Name: MarkExpired, About: "Mark the claim as expired, for good: it is not selected again while it goes.", Section: "§5.2 force-expiry",
			Writes: []string{rotation.WriteState(rotation.StateExpired)}, Apply: markExpired},
		{Name: ResetClaim, About: "Take the claim's state back, keeping its failures; a claim already being deleted says when it was let go.", Section: "§3.8 governance lost",
			Writes: []string{rotation.WriteState("")}, Apply: resetClaim},
		{Name: RecordSurgeClaim, About: "Record the claim that the placeholder sits on; it follows the placeholder.", Section: "§5.3 surge-claim",
			Writes: []string{rotation.WriteSurgeClaim}, Apply: recordSurgeClaim},
		{Name: Delete, About: "Delete the old claim, by UID, unless it is being deleted.", Section: "§5.2",
			Writes: []string{rotation.WriteDelete}, Apply: deleteClaim},
		{Name: Reap, About: "Delete the claim that this attempt induced, if it holds nothing of anybody's.", Section: "§3.8",
			Writes: []string{rotation.WriteReap}, Apply: reap},
	}
}

// patchClaim asks for set on the subject, as far as it is not there yet; nothing when the subject is gone.
func patchClaim(s rotation.Snapshot, set map[string]string, remove ...string) (rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists {
		return none(s)
	}
	change := needed(claim.Annotations, set, remove)
	if change.Empty() {
		return none(s)
	}
	claim.Annotations = rotation.Annotate(claim.Annotations, set, remove...)
	return s.WithClaim(claim), []Action{PatchClaim{claim.Object, change}}, nil
}

// markPending begins an attempt unless one is in flight: a claim that is pending keeps its stamp, which is written
// once; any other has an old attempt's leavings replaced.
func markPending(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists {
		return none(s)
	}
	set := map[string]string{rotation.KeyState: rotation.StatePending}
	var remove []string
	if claim.Annotations[rotation.KeyState] != rotation.StatePending {
		remove = append(remove, rotation.KeySurgeClaim)
		set[rotation.KeyStartedAt] = rotation.FormatStamp(s.Now)
	} else if !claim.StartedAt().Present {
		set[rotation.KeyStartedAt] = rotation.FormatStamp(s.Now)
	}
	return patchClaim(s, set, remove...)
}

func markDraining(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	return patchClaim(s, map[string]string{rotation.KeyState: rotation.StateDraining})
}

func markFailed(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists || claim.Annotations[rotation.KeyState] == rotation.StateFailed {
		return none(s)
	}
	count, _ := claim.RetryCount()
	return patchClaim(s, map[string]string{
		rotation.KeyState:      rotation.StateFailed,
		rotation.KeyFailedAt:   rotation.FormatStamp(s.Now),
		rotation.KeyRetryCount: strconv.Itoa(count + 1),
	}, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

func markExpired(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	return patchClaim(s, map[string]string{rotation.KeyState: rotation.StateExpired}, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

func resetClaim(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists {
		return none(s)
	}
	var set map[string]string
	if _, released := claim.Annotations[rotation.KeyReleasedAt]; claim.Deleting() && !released {
		set = map[string]string{rotation.KeyReleasedAt: rotation.FormatStamp(s.Now)}
	}
	return patchClaim(s, set, rotation.KeyState, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

func recordSurgeClaim(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	name, known := rotation.SurgeClaim(s)
	if !known {
		return none(s)
	}
	return patchClaim(s, map[string]string{rotation.KeySurgeClaim: name})
}

func deleteClaim(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists || claim.Deleting() {
		return none(s)
	}
	claim.Deleted = s.Now
	return s.WithClaim(claim), []Action{DeleteClaim{claim.Object}}, nil
}

// reap says in the log why it deletes nothing: an induced node that stays is Karpenter's to consolidate.
func reap(s rotation.Snapshot) (rotation.Snapshot, []Action, error) {
	induced, ok, reason := rotation.Reapable(s)
	if !ok {
		return s, []Action{tell(s, claimTarget(s), Normal, "", "nothing is reaped: "+reason)}, nil
	}
	induced.Deleted = s.Now
	return s.WithClaim(induced), []Action{DeleteClaim{induced.Object}}, nil
}
