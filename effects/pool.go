// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"slices"
	"time"

	"noderotation.io/noderotation/rotation"
)

// poolEffects write the NodePool: the anchor, its companions, and what outlives the rotation.
func poolEffects() []Effect {
	return []Effect{
		{Name: Anchor, About: "Name the candidate on the NodePool, if no rotation is anchored there: the serial gate.", Section: "§5.2 anchor semantics",
			Reads: ofSubject(rotation.ReadAnchoredOn, rotation.ReadMirror, rotation.ReadMode, rotation.ReadDrainingAt, rotation.ReadSurgeWait), Needs: []string{rotation.NeedSubject},
			Writes: []string{rotation.WriteAnchor}, Apply: anchor},
		{Name: RenewAnchor, About: "Take the anchor over for an attempt that has yet to begin, from a process that may be letting go of it.", Section: "§5.2 anchor semantics",
			Reads: []string{rotation.ReadAnchor, rotation.ReadAnchoredOn, rotation.ReadClaims, rotation.ReadClaimState}, Needs: []string{rotation.NeedClaim},
			Writes: []string{rotation.WriteAnchorRenewed}, Apply: renewAnchor},
		{Name: MarkFallback, About: "Mark the anchored rotation as surge-less.", Section: "§3.6",
			Reads:  ofAnchor(rotation.ReadMode),
			Writes: []string{rotation.WriteMode}, Apply: markFallback},
		{Name: Mirror, About: "Mirror the draining phase on the NodePool, with the drain's start and the surge's duration.", Section: "§5.2 completion outcome",
			Reads:  ofSubject(rotation.ReadAnchoredOn, rotation.ReadMirror, rotation.ReadMode, rotation.ReadDrainingAt, rotation.ReadSurgeWait, rotation.ReadClock, rotation.ReadClaimDeletion, rotation.ReadStartedAt),
			Writes: []string{rotation.WriteMirror}, Apply: mirror},
		{Name: RecordSuccess, About: "Write last-rotation-at, from which the cooldown counts.", Section: "§5.2 cooldown anchor",
			Reads:  ofAnchor(rotation.ReadClock, rotation.ReadLastRotation),
			Writes: []string{rotation.WriteLastRotation}, Apply: recordSuccess},
		{Name: RecordFailure, About: "Write last-failure-at: the later of its old value and the claim's failed-at.", Section: "§3.8",
			Reads:  ofSubject(rotation.ReadAnchoredOn, rotation.ReadClock, rotation.ReadLastFailure, rotation.ReadFailedAt),
			Writes: []string{rotation.WriteLastFailure}, Apply: recordFailure},
		{Name: ClearAnchor, About: "Remove the anchor and all its companions in one update.", Section: "§5.3 clearing the anchor",
			Reads: ofAnchor(rotation.ReadMirror, rotation.ReadDrainingAt, rotation.ReadSurgeWait, rotation.ReadMode), Needs: []string{rotation.NeedAnchor},
			Writes: []string{rotation.WriteAnchorCleared}, Returns: true, Apply: clearAnchor},
	}
}

// patchPool asks for set on the pool of an anchored rotation, or on one without a rotation, as far as it is not there yet.
func patchPool(s *rotation.Snapshot, set map[string]string, remove ...string) (*rotation.Snapshot, []Action, error) {
	change := needed(s.Pool.Annotations, set, remove)
	if change.Empty() {
		return none(s)
	}
	patch := PatchPool{Pool: s.Pool.Object, Anchored: s.Anchor(), AnchoredOn: s.Pool.Annotations[rotation.KeyAnchoredOn], Change: change}
	return s.WithPoolAnnotations(set, remove...), []Action{patch}, nil
}

// needed is the part of a change that annotations do not show yet: trap 11, a patch that always writes, wakes the
// next pass for ever.
func needed(annotations, set map[string]string, remove []string) Change {
	change := Change{Set: map[string]string{}}
	for key, value := range set {
		if have, present := annotations[key]; !present || have != value {
			change.Set[key] = value
		}
	}
	for _, key := range remove {
		if _, present := annotations[key]; present {
			change.Remove = append(change.Remove, key)
		}
	}
	return change
}

// anchor takes out whatever companions an anchor has left that another hand took away: the new rotation would take them for
// its own, and drain without a surge.
func anchor(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	if s.Anchor() != "" || s.SubjectName() == "" {
		return none(s)
	}
	claim, _ := s.Subject()
	set := map[string]string{
		rotation.KeyActiveRotation: s.SubjectName(),
		rotation.KeyAnchoredOn:     claim.ResourceVersion,
	}
	others := slices.DeleteFunc(rotation.AnchorKeys(), func(key string) bool { _, is := set[key]; return is })
	return patchPool(s, set, others...)
}

// renewAnchor takes an anchor over for an attempt that has yet to begin. Another process may be about to let go of it,
// having taken the claim's state back: it no longer can, since the claim then has another version than the anchor says. On
// an older view of the claim nothing is taken over: the attempt is refused at the claim, and an anchor that went back to an
// earlier version would be taken for one that was let go since (letGo).
func renewAnchor(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	claim, exists := s.Subject()
	if !exists || s.Anchor() == "" || claim.Underway() || !sinceAnchored(s, claim) {
		return none(s)
	}
	return patchPool(s, map[string]string{rotation.KeyAnchoredOn: claim.ResourceVersion})
}

func markFallback(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	return patchPool(s, map[string]string{rotation.KeyRotationMode: rotation.ModeForcefulFallback})
}

// mirror stamps the drain's start and the surge's duration together with the mirror itself, once: a mirror that is
// already there keeps its stamps. One that is missing although the claim is being deleted counts from the deletion.
func mirror(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	if s.Pool.Annotations[rotation.KeyActiveRotationState] == rotation.StateDraining {
		return none(s)
	}
	claim, exists := s.Subject()
	drainingAt := s.Now
	if exists && claim.Deleting() {
		drainingAt = claim.Deleted
	}
	set := map[string]string{
		rotation.KeyActiveRotationState: rotation.StateDraining,
		rotation.KeyDrainingAt:          rotation.FormatStamp(drainingAt),
	}
	surge := s.Pool.Annotations[rotation.KeyRotationMode] == ""
	if started := claim.StartedAt(); exists && surge && started.Readable {
		set[rotation.KeySurgeWait] = max(0, drainingAt.Sub(started.At)).Truncate(time.Second).String()
	}
	return patchPool(s, set)
}

func recordSuccess(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	return patchPool(s, map[string]string{rotation.KeyLastRotationAt: rotation.FormatStamp(s.Now)})
}

// recordFailure never moves last-failure-at back: a recovery after a crash must not void a pause (§5.3). A failed-at
// that cannot be read counts as now, the safe side.
func recordFailure(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	failedAt := s.Now
	if claim, exists := s.Subject(); exists && claim.FailedAt().Readable {
		failedAt = claim.FailedAt().At
	}
	old := rotation.ParseStamp(s.Pool.Annotations, rotation.KeyLastFailureAt)
	if old.Readable && !old.At.Before(failedAt) {
		return none(s)
	}
	return patchPool(s, map[string]string{rotation.KeyLastFailureAt: rotation.FormatStamp(failedAt)})
}

// clearAnchor keeps what it clears in the snapshot, for what is told afterwards.
func clearAnchor(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	cleared := map[string]string{}
	for _, key := range rotation.AnchorKeys() {
		if value, present := s.Pool.Annotations[key]; present {
			cleared[key] = value
		}
	}
	next, actions, err := patchPool(s, nil, rotation.AnchorKeys()...)
	if len(actions) > 0 { // next is then a copy, and nobody else's yet
		next.Cleared = cleared
	}
	return next, actions, err
}
