// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// flightGuards watch a rotation that is anchored.
func flightGuards() []Guard {
	return []Guard{
		{Name: ClaimGone, About: "The anchored NodeClaim no longer exists.", Section: "§5.2 completion",
			Phrase: "the claim is gone", Denial: "the claim exists",
			Implies: []machine.Condition{{Guard: DeletionTimestamp, Not: true}, {Guard: ReadyTimeoutElapsed, Not: true},
				{Guard: DrainOverdue, Not: true}, {Guard: SurgeReady, Not: true}},
			Reads: []string{rotation.ReadAnchor, rotation.ReadClaims},
			Check: claimGone},
		{Name: DeletionTimestamp, About: "The anchored NodeClaim is being deleted.", Section: "§5.2 force-expiry",
			Phrase: "the claim is being deleted", Denial: "the claim is not being deleted",
			Reads: []string{rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadClaimDeletion},
			Check: deletionTimestamp},
		{Name: ReadyTimeoutElapsed, About: "The attempt has lasted longer than readyTimeout.", Section: "§3.8",
			Phrase: "readyTimeout has elapsed", Denial: "readyTimeout has not elapsed",
			Implies: []machine.Condition{{Guard: ClaimGone, Not: true}},
			Reads:   []string{rotation.ReadClock, rotation.ReadTerms, rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadStartedAt},
			Check:   readyTimeoutElapsed},
		{Name: SurgeReady, About: "The placeholder runs on another Ready node of this pool.", Section: "§3.3",
			Phrase: "the replacement stands", Denial: "the replacement does not stand",
			Implies: []machine.Condition{{Guard: ClaimGone, Not: true}},
			Reads:   []string{rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadClaimDeletion, rotation.ReadClaimReady, rotation.ReadClaimNode, rotation.ReadNodes, rotation.ReadPlaceholder},
			Check:   surgeReady},
		{Name: SurgeSettled, About: "Karpenter has had the time to finish planning for the placeholder.", Section: "§3.3 never more than N + 1",
			Phrase: "the surge has settled", Denial: "the surge has not settled",
			Reads: []string{rotation.ReadClock, rotation.ReadAnchor, rotation.ReadPlaceholder},
			Check: surgeSettled},
		{Name: DrainOverdue, About: "The drain takes longer than terminationGracePeriod and the buffer.", Section: "§5.2 stuck drain",
			Phrase: "the drain is overdue", Denial: "the drain is not overdue",
			Implies: []machine.Condition{{Guard: DeletionTimestamp}},
			Reads:   []string{rotation.ReadClock, rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadClaimDeletion, rotation.ReadClaimGrace},
			Check:   drainOverdue},
	}
}

func claimGone(s *rotation.Snapshot) machine.Verdict {
	name := s.Anchor()
	if name == "" {
		return machine.No("no rotation is anchored")
	}
	if _, exists := s.Claim(name); exists {
		return machine.No("NodeClaim %s exists", name)
	}
	return machine.Yes("NodeClaim %s no longer exists", name)
}

func deletionTimestamp(s *rotation.Snapshot) machine.Verdict {
	claim, exists := s.Claim(s.Anchor())
	switch {
	case !exists:
		return machine.No("there is no anchored NodeClaim")
	case !claim.Deleting():
		return machine.No("NodeClaim %s is not being deleted", claim.Name)
	default:
		return machine.Yes("NodeClaim %s is being deleted since %s", claim.Name, at(claim.Deleted))
	}
}

func readyTimeoutElapsed(s *rotation.Snapshot) machine.Verdict {
	claim, exists := s.Claim(s.Anchor())
	if !exists {
		return machine.No("there is no anchored NodeClaim")
	}
	started := claim.StartedAt()
	switch {
	case !started.Present:
		return machine.No("the attempt has not been stamped yet")
	case !started.Readable:
		return machine.Yes("%s of NodeClaim %s cannot be read: the attempt counts as timed out", rotation.KeyStartedAt, claim.Name)
	case started.Ahead(s.Now):
		return machine.Yes("%s of NodeClaim %s lies in the future: the attempt counts as timed out", rotation.KeyStartedAt, claim.Name).
			ChangingAt(started.BehindAt())
	}
	limit := started.At.Add(s.Governance.Terms.ReadyTimeout)
	if s.Now.After(limit) {
		return machine.Yes("the attempt began %s and readyTimeout ended %s", at(started.At), at(limit))
	}
	return machine.No("the replacement has until %s", at(limit)).Passing(", in %s", in(s.Now, limit)).ChangingAt(rotation.After(limit))
}

func surgeReady(s *rotation.Snapshot) machine.Verdict {
	if _, exists := s.Subject(); !exists {
		return machine.No("there is no claim to replace")
	}
	host, reason := rotation.SurgeReady(*s)
	return machine.Answer(host != nil, "%s", reason)
}

func surgeSettled(s *rotation.Snapshot) machine.Verdict {
	settles, known := rotation.SurgeSettles(*s)
	switch {
	case !known:
		return machine.Yes("no placeholder tells since when it runs")
	case s.Now.Before(settles):
		return machine.No("Karpenter may still be planning for the placeholder until %s", at(settles)).Passing(", in %s", in(s.Now, settles)).ChangingAt(settles)
	default:
		return machine.Yes("the placeholder has run for long enough, since %s", at(settles.Add(-rotation.Settling)))
	}
}

func drainOverdue(s *rotation.Snapshot) machine.Verdict {
	claim, exists := s.Claim(s.Anchor())
	if !exists || !claim.Deleting() {
		return machine.No("no drain is in progress")
	}
	limit := claim.Deleted.Add(claim.DrainBound())
	if s.Now.After(limit) {
		return machine.Yes("the drain of NodeClaim %s should have ended %s", claim.Name, at(limit))
	}
	return machine.No("the drain of NodeClaim %s may last until %s", claim.Name, at(limit)).Passing(", in %s", in(s.Now, limit)).ChangingAt(rotation.After(limit))
}
