// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// startGuards are the gates before a rotation, and the choice of its node.
func startGuards() []Guard {
	return []Guard{
		{Name: Governed, About: "A valid policy governs the pool, uncontested.", Section: "§5.4",
			Phrase: "a policy governs the pool", Denial: "no policy governs the pool",
			Reads: []string{rotation.ReadGovernance},
			Check: governed},
		{Name: Feasible, About: "No fatal finding forbids new rotations of this pool.", Section: "§3.2",
			Phrase: "no finding is fatal", Denial: "a finding is fatal",
			Implies: []machine.Condition{{Guard: Governed}},
			Reads:   []string{rotation.ReadGovernance, rotation.ReadFindings},
			Check:   feasible},
		{Name: PoolSettled, About: "No claim of this pool that we deleted is still draining.", Section: "§3.8",
			Phrase: "no earlier drain goes on", Denial: "an earlier drain goes on",
			Reads: []string{rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadClaimDeletion, rotation.ReadClaimState, rotation.ReadReleasedAt},
			Check: poolSettled},
		{Name: InWindow, About: "A maintenance window of the governing policy is open.", Section: "§3.1",
			Phrase: "a window is open", Denial: "no window is open",
			Implies: []machine.Condition{{Guard: Governed}},
			Reads:   []string{rotation.ReadClock, rotation.ReadGovernance, rotation.ReadWindows},
			Check:   inWindow},
		{Name: Frozen, About: "An operator's freeze holds the pool, or its value cannot be read.", Section: "§3.1",
			Phrase: "the pool is frozen", Denial: "the pool is not frozen",
			Reads: []string{rotation.ReadClock, rotation.ReadFreeze},
			Check: frozen},
		{Name: CooldownElapsed, About: "cooldownAfter has passed since the last success.", Section: "§5.2 gate A",
			Phrase: "the cooldown is over", Denial: "the cooldown is not over",
			Reads: []string{rotation.ReadClock, rotation.ReadTerms, rotation.ReadLastRotation},
			Check: cooldownElapsed},
		{Name: FailurePauseElapsed, About: "failurePause has passed since the last failure.", Section: "§5.2 gate B",
			Phrase: "the pause after a failure is over", Denial: "the pause after a failure is not over",
			Reads: []string{rotation.ReadClock, rotation.ReadTerms, rotation.ReadLastFailure},
			Check: failurePauseElapsed},
		{Name: BackoffElapsed, About: "The escalated backoff of the failed claim has passed.", Section: "§3.2",
			Phrase: "the backoff is over", Denial: "the backoff is not over",
			Reads: []string{rotation.ReadClock, rotation.ReadTerms, rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadFailedAt, rotation.ReadRetryCount},
			Check: backoffElapsed},
		{Name: Eligible, About: "The anchored claim is one that may be rotated, and its pool starts rotations.", Section: "§3.2",
			Phrase: "the claim may be rotated", Denial: "the claim may not be rotated",
			Implies: []machine.Condition{{Guard: Governed}},
			Reads: []string{rotation.ReadClock, rotation.ReadTerms, rotation.ReadWindows, rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadClaims, rotation.ReadClaimAge,
				rotation.ReadClaimExpiry, rotation.ReadClaimGrace, rotation.ReadClaimDeletion, rotation.ReadClaimReady, rotation.ReadClaimState, rotation.ReadClaimNode, rotation.ReadNodes, rotation.ReadFailedAt, rotation.ReadRetryCount},
			Check: eligible},
		{Name: Candidate, About: "A claim of the pool is due and may be rotated.", Section: "§3.2",
			Phrase: "a node is due", Denial: "no node is due",
			Implies: []machine.Condition{{Guard: Governed}},
			Reads:   []string{rotation.ReadClock, rotation.ReadSelection, rotation.ReadClaims, rotation.ReadClaimAge, rotation.ReadClaimExpiry},
			Check:   candidate},
		{Name: SurgeHeadroom, About: "The pool's limits leave room for the replacement.", Section: "§3.3",
			Phrase: "the limits leave room for a surge", Denial: "the limits leave no room for a surge",
			Reads: []string{rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadPoolLimits, rotation.ReadClaims, rotation.ReadClaimNode, rotation.ReadClaimAllocatable, rotation.ReadNodes, rotation.ReadPods},
			Check: surgeHeadroom},
		{Name: ForcefulFallback, About: "The policy allows the fallback, and the claim's deadline is closer than a rotation takes.", Section: "§3.6",
			Phrase: "the fallback is due", Denial: "the fallback is not due",
			Implies: []machine.Condition{{Guard: Governed}, {Guard: Candidate}},
			Reads:   []string{rotation.ReadClock, rotation.ReadGovernance, rotation.ReadTerms, rotation.ReadSelection, rotation.ReadClaims, rotation.ReadClaimAge, rotation.ReadClaimExpiry, rotation.ReadClaimGrace},
			Check:   forcefulFallback},
	}
}

func governed(s *rotation.Snapshot) machine.Verdict {
	return machine.Answer(s.Governance.Policy != nil, "%s", s.Governance.Reason)
}

func feasible(s *rotation.Snapshot) machine.Verdict {
	if s.Governance.Policy == nil {
		return machine.No("no policy governs the pool")
	}
	if finding, fatal := s.Feasibility.Fatal(); fatal {
		return machine.No("%s: %s", finding.Code, finding.Message)
	}
	return machine.Yes("the policy leaves every node its chances")
}

func poolSettled(s *rotation.Snapshot) machine.Verdict {
	if settled, draining := s.Settled(); !settled {
		return machine.No("NodeClaim %s, deleted by an earlier rotation, is still draining", draining)
	}
	if stray := s.Stray(); stray != "" {
		return machine.No("NodeClaim %s says that it is being rotated, and NodePool %s is not anchored on it: the controller's sweep marks it as failed",
			stray, s.Pool.Name)
	}
	return machine.Yes("no earlier rotation is still draining")
}

func inWindow(s *rotation.Snapshot) machine.Verdict {
	if s.Governance.Policy == nil {
		return machine.No("no policy, no window")
	}
	if open, ok := s.Governance.Windows.Current(s.Now); ok {
		if open.End.IsZero() {
			return machine.Yes("the window never closes")
		}
		return machine.Yes("the window is open until %s", at(open.End)).ChangingAt(open.End)
	}
	next, ok := s.Governance.Windows.Next(s.Now)
	if !ok {
		return machine.No("no window opens in the coming 400 days")
	}
	return machine.No("the window opens %s", at(next.Start)).Passing(", in %s", in(s.Now, next.Start)).ChangingAt(next.Start)
}

func frozen(s *rotation.Snapshot) machine.Verdict {
	held, until := s.Freeze()
	switch {
	case !until.Present:
		return machine.No("NodePool %s is not frozen", s.Pool.Name)
	case !until.Readable:
		return machine.Yes("NodePool %s has an unreadable %s: it counts as frozen", s.Pool.Name, rotation.KeyFreeze)
	case held:
		return machine.Yes("NodePool %s is frozen until %s%s", s.Pool.Name, at(until.At), because(s)).Passing(", in %s", in(s.Now, until.At)).ChangingAt(until.At)
	default:
		return machine.No("the freeze of NodePool %s ended %s", s.Pool.Name, at(until.At))
	}
}

// because repeats the reason that the operator gave for the freeze.
func because(s *rotation.Snapshot) string {
	if reason := s.FreezeReason(); reason != "" {
		return " (" + reason + ")"
	}
	return ""
}

func cooldownElapsed(s *rotation.Snapshot) machine.Verdict {
	return pauseOver(s, s.Cooldown(), "success", rotation.KeyLastRotationAt)
}

func failurePauseElapsed(s *rotation.Snapshot) machine.Verdict {
	return pauseOver(s, s.FailurePause(), "failure", rotation.KeyLastFailureAt)
}

func backoffElapsed(s *rotation.Snapshot) machine.Verdict {
	claim, ok := s.Subject()
	if !ok {
		return machine.No("there is no claim whose backoff could be over")
	}
	key := rotation.KeyFailedAt
	if _, readable := claim.RetryCount(); !readable {
		key = rotation.KeyRetryCount
	}
	return pauseOver(s, claim.Backoff(s.Governance.Terms.RetryBackoff), "failure of NodeClaim "+claim.Name, key)
}

// pauseOver is the verdict on a pause that begins with what happened, as key says.
func pauseOver(s *rotation.Snapshot, pause rotation.Pause, happened, key string) machine.Verdict {
	switch {
	case !pause.Stamp.Present:
		return machine.Yes("there was no earlier %s", happened)
	case !pause.Stamp.Readable:
		return machine.No("the pause after the last %s counts as not over: %s cannot be read", happened, key)
	case pause.Over(s.Now):
		return machine.Yes("the pause after the last %s ended %s", happened, at(pause.End()))
	default:
		return machine.No("the pause after the last %s ends %s", happened, at(pause.End())).Passing(", in %s", in(s.Now, pause.End())).ChangingAt(pause.End())
	}
}

func eligible(s *rotation.Snapshot) machine.Verdict {
	claim, ok := s.Subject()
	switch {
	case s.Selection.Refusal != "":
		return machine.No("%s", s.Selection.Refusal)
	case !ok:
		return machine.No("there is no claim that could be rotated")
	}
	standing := s.Standing(&claim)
	return machine.Answer(standing.Standing == rotation.Eligible, "%s", later(standing.Explain)).ChangingAt(standing.Until)
}

func candidate(s *rotation.Snapshot) machine.Verdict {
	switch sel := &s.Selection; {
	case sel.Refusal != "":
		return machine.No("%s", sel.Refusal)
	case sel.Candidate == "":
		return noneOf(*sel).ChangingAt(sel.Next)
	}
	claim, _ := s.Claim(s.Selection.Candidate)
	deadline, expires := claim.Deadline()
	if !expires {
		return machine.Yes("NodeClaim %s is due; it never expires", claim.Name)
	}
	return machine.Yes("NodeClaim %s is due; Karpenter expires it %s", claim.Name, at(deadline)).Passing(", in %s", in(s.Now, deadline))
}

// noneOf is the verdict on a selection without a candidate.
func noneOf(sel rotation.Selection) machine.Verdict { return machine.No("%s", later(sel.Explain)) }

func surgeHeadroom(s *rotation.Snapshot) machine.Verdict {
	if _, ok := s.Subject(); !ok {
		return ofCandidate(s, machine.No("there is no claim to make room for"))
	}
	room, reason := rotation.SurgeHeadroom(*s)
	verdict := machine.Answer(room, "%s", reason)
	if s.Anchor() != "" {
		return verdict
	}
	return ofCandidate(s, verdict)
}

// ofCandidate is a verdict on the candidate: it can also change when another claim becomes the candidate.
func ofCandidate(s *rotation.Snapshot, v machine.Verdict) machine.Verdict {
	overtaken := s.Selection.Overtaken
	if overtaken.IsZero() || (!v.Until.IsZero() && v.Until.Before(overtaken)) {
		return v
	}
	return v.ChangingAt(overtaken)
}

func forcefulFallback(s *rotation.Snapshot) machine.Verdict {
	if s.Governance.Policy == nil || !s.Governance.Terms.FallbackEnabled {
		return machine.No("the policy does not allow the forceful fallback")
	}
	claim, ok := s.Claim(s.Selection.Candidate)
	if !ok {
		return ofCandidate(s, machine.No("there is no candidate"))
	}
	deadline, expires := claim.Deadline()
	if !expires {
		return ofCandidate(s, machine.No("NodeClaim %s has no deadline", claim.Name))
	}
	bound := claim.RotationBound(s.Governance.Terms.ReadyTimeout)
	if tooLate := rotation.After(deadline.Add(-bound)); s.Now.Before(tooLate) {
		return ofCandidate(s, machine.No("a surge of NodeClaim %s (at most %s) still fits before its deadline %s", claim.Name, span(bound), at(deadline)).ChangingAt(tooLate))
	}
	return ofCandidate(s, machine.Yes("a surge of NodeClaim %s (at most %s) no longer fits before its deadline %s", claim.Name, span(bound), at(deadline)))
}
