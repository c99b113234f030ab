// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"noderotation.io/noderotation/rotation"
)

// claimEffects write the old NodeClaim.
func claimEffects() []Effect {
	return []Effect{
		{Name: MarkPending, About: "Mark the claim as pending and stamp the attempt's start, once per attempt.", Section: "§5.3 state, started-at",
			Reads: ofSubject(rotation.ReadClock, rotation.ReadClaimState, rotation.ReadStartedAt, rotation.ReadSurgeClaim, rotation.ReadReleasedAt), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteState(rotation.StatePending)}, Apply: markPending},
		{Name: MarkDraining, About: "Mark the claim as draining.", Section: "§5.3 state",
			Reads: ofSubject(rotation.ReadClaimState), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteState(rotation.StateDraining)}, Apply: markDraining},
		{Name: MarkFailed, About: "Mark the claim as failed, with the time and one more failure, in one update.", Section: "§5.3 state, failed-at, retry-count",
			Reads: ofSubject(rotation.ReadClock, rotation.ReadClaimState, rotation.ReadStartedAt, rotation.ReadFailedAt, rotation.ReadRetryCount, rotation.ReadSurgeClaim), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteState(rotation.StateFailed)}, Apply: markFailed},
		{Name: MarkExpired, About: "Mark the claim as expired, for good: it is not selected again while it goes.", Section: "§5.2 force-expiry",
			Reads: ofSubject(rotation.ReadClock, rotation.ReadMirror, rotation.ReadClaimState, rotation.ReadStartedAt, rotation.ReadSurgeClaim, rotation.ReadReleasedAt), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteState(rotation.StateExpired), rotation.WriteReleased}, Apply: markExpired},
		{Name: ResetClaim, About: "Take the claim's state back, keeping its failures, and say when it was let go.", Section: "§3.8 governance lost",
			Reads: ofSubject(rotation.ReadClock, rotation.ReadAnchoredOn, rotation.ReadClaimState, rotation.ReadStartedAt, rotation.ReadSurgeClaim, rotation.ReadReleasedAt), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteState(""), rotation.WriteReleased}, Apply: resetClaim},
		{Name: MarkReleased, About: "Say on the claim when its rotation was let go, so that no process that decided before goes on with it.", Section: "§5.2 anchor semantics",
			Reads: ofSubject(rotation.ReadClock, rotation.ReadAnchoredOn, rotation.ReadReleasedAt), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteReleased}, Apply: markReleased},
		{Name: RecordSurgeClaim, About: "Record the claim that the placeholder sits on; it follows the placeholder.", Section: "§5.3 surge-claim",
			Reads: ofSubject(rotation.ReadClaimNode, rotation.ReadSurgeClaim, rotation.ReadPlaceholder), Needs: []string{rotation.NeedClaim, rotation.NeedHost},
			Writes: []string{rotation.WriteSurgeClaim}, Apply: recordSurgeClaim},
		{Name: Delete, About: "Delete the old claim, by UID, unless it is being deleted.", Section: "§5.2",
			Reads: ofSubject(rotation.ReadClaimDeletion), Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteDelete}, Apply: deleteClaim},
		{Name: Reap, About: "Delete the claim that this attempt induced, if it holds nothing of anybody's.", Section: "§3.8",
			Reads: telling(rotation.ReadSurgeClaim, rotation.ReadClaimAge, rotation.ReadClaimDeletion, rotation.ReadClaimNode, rotation.ReadPlaceholder, rotation.ReadPods, rotation.ReadUnbound, rotation.ReadPoolTemplate), Needs: []string{rotation.NeedClaim, rotation.NeedInduced},
			Writes: []string{rotation.WriteReap}, Apply: reap},
	}
}

// patchClaim asks for set on the subject, as far as it is not there yet; nothing when the subject is gone.
func patchClaim(s *rotation.Snapshot, set map[string]string, remove ...string) (*rotation.Snapshot, []Action, error) {
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
func markPending(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists {
		return none(s)
	}
	set := map[string]string{rotation.KeyState: rotation.StatePending}
	remove := []string{rotation.KeyReleasedAt}
	if claim.Annotations[rotation.KeyState] != rotation.StatePending {
		remove = append(remove, rotation.KeySurgeClaim)
		set[rotation.KeyStartedAt] = rotation.FormatStamp(s.Now)
	} else if !claim.StartedAt().Present {
		set[rotation.KeyStartedAt] = rotation.FormatStamp(s.Now)
	}
	return patchClaim(s, set, remove...)
}

func markDraining(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	return patchClaim(s, map[string]string{rotation.KeyState: rotation.StateDraining})
}

func markFailed(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists || claim.Annotations[rotation.KeyState] == rotation.StateFailed {
		return none(s)
	}
	return patchClaim(s, map[string]string{
		rotation.KeyState:      rotation.StateFailed,
		rotation.KeyFailedAt:   rotation.FormatStamp(s.Now),
		rotation.KeyRetryCount: claim.FurtherRetry(),
	}, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

// markExpired also lets go of a claim whose drain the NodePool says to have begun, though the claim does not: whoever deleted
// it, it drains, and no other rotation starts beside it.
func markExpired(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	set := map[string]string{rotation.KeyState: rotation.StateExpired}
	claim, _ := s.Subject()
	if claim.Annotations[rotation.KeyState] != rotation.StateExpired && s.AnchorValue(rotation.KeyActiveRotationState) == rotation.StateDraining {
		set[rotation.KeyReleasedAt] = rotation.FormatStamp(s.Now)
	}
	return patchClaim(s, set, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

func resetClaim(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	return letGo(s, rotation.KeyState, rotation.KeyStartedAt, rotation.KeySurgeClaim)
}

func markReleased(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) { return letGo(s) }

// letGo has the claim say when its rotation was let go, be there anything to take back or not: whoever decided before, and
// writes to the claim after, is refused. A claim that says so since it was anchored is not written again, however late.
//
// A crash, or a refused write, between claim and anchor leaves just that, and the next pass has only the anchor to clear. Of
// two leaders, one that begins an attempt has either decided on the claim as it was anchored, and is refused since it has
// changed; or it takes the anchor over first (renew_anchor), and then the clearing is refused. A claim that is as it was
// anchored may carry the stamp of an earlier rotation, which refuses nobody: it gets a later one, by a second at least. A
// cache that lags may show that stamp on a claim that is older than its anchor: that is written too, and refused.
func letGo(s *rotation.Snapshot, remove ...string) (*rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists {
		return none(s)
	}
	at := s.Now.Truncate(time.Second)
	if earlier := rotation.ParseStamp(claim.Annotations, rotation.KeyReleasedAt); earlier.Readable {
		if needed(claim.Annotations, nil, remove).Empty() && sinceAnchored(s, claim) {
			return none(s)
		}
		if !earlier.At.Before(at) {
			at = earlier.At.Add(time.Second)
		}
	}
	s, actions, err := patchClaim(s, map[string]string{rotation.KeyReleasedAt: rotation.FormatStamp(at)}, remove...)
	if changed, _ := s.Subject(); len(actions) > 0 {
		changed.ResourceVersion = "" // known once it is written
		s = s.WithClaim(changed)
	}
	return s, actions, err
}

// sinceAnchored tells whether the claim, as it is seen, is newer than what its rotation is anchored on. An anchored-on that is
// no version, or is missing, is another hand's: then any claim is newer.
func sinceAnchored(s *rotation.Snapshot, claim rotation.Claim) bool {
	version, anchored := claim.ResourceVersion, s.AnchorValue(rotation.KeyAnchoredOn)
	order, err := resourceversion.CompareResourceVersion(version, anchored)
	if err != nil {
		return version == "" || version != anchored // none: written by this very pass
	}
	return order > 0
}

func recordSurgeClaim(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	name, known := rotation.SurgeClaim(*s)
	if !known {
		return none(s)
	}
	return patchClaim(s, map[string]string{rotation.KeySurgeClaim: name})
}

func deleteClaim(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists || claim.Deleting() {
		return none(s)
	}
	claim.Deleted = s.Now
	return s.WithClaim(claim), []Action{DeleteClaim{Claim: claim.Object, Subject: claim.Object}}, nil
}

// reap says in the log why it deletes nothing: an induced node that stays is Karpenter's to consolidate.
func reap(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	induced, ok, reason := rotation.Reapable(*s)
	if !ok {
		return s, []Action{tell(s, claimTarget(s), Normal, "", "nothing is reaped: "+reason)}, nil
	}
	induced.Deleted = s.Now
	subject, _ := s.Subject()
	return s.WithClaim(induced), []Action{DeleteClaim{Claim: induced.Object, Subject: subject.Object}}, nil
}
