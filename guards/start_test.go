// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/guards"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// due is a claim of age on a node with a workload.
func due(facts ...ClaimFact) Fact {
	return AClaim("old", append([]ClaimFact{Aged(10 * Day)}, facts...)...)
}

var _ = DescribeTable("A gate before the start of a rotation says why, and until when",
	func(name string, s rotation.Snapshot, expected machine.Verdict) {
		verdict := ask(name, s)
		Expect(verdict.Until).To(BeTemporally("==", expected.Until))
		Expect(verdict.Reason()).To(Equal(expected.Reason()))
		Expect(verdict.Holds).To(Equal(expected.Holds))
	},

	Entry("governed: a policy selects the pool (§5.4)", guards.Governed, APool(),
		holding("RotationPolicy api-policy governs the NodePool, which it selects with 0 label constraints")),
	Entry("governed: there is no policy (§5.4)", guards.Governed, APool(Ungoverned()),
		closed("there is no RotationPolicy; create one whose nodePoolSelector matches the NodePool's labels")),

	Entry("feasible: nodes get their chances (§3.2)", guards.Feasible, APool(), holding("the policy leaves every node its chances")),
	Entry("feasible: nobody asks for any (§3.2)", guards.Feasible, APool(Ungoverned()), closed("no policy governs the pool")),

	Entry("pool_settled: nothing is left of earlier rotations (§3.8)", guards.PoolSettled, APool(due()),
		holding("no earlier rotation is still draining")),
	Entry("pool_settled: a claim that we let go of drains (§3.8)", guards.PoolSettled,
		APool(AClaim("earlier", BeingDeleted(time.Minute), Annotated(rotation.KeyReleasedAt, "2026-01-09T17:59:30Z"))),
		closed("NodeClaim earlier, deleted by an earlier rotation, is still draining")),
	Entry("pool_settled: a claim marked draining drains (§3.8)", guards.PoolSettled, APool(AClaim("earlier", DrainingFor(time.Minute))),
		closed("NodeClaim earlier, deleted by an earlier rotation, is still draining")),
	Entry("pool_settled: a claim says that it is being rotated, and nothing is anchored (§5.3)", guards.PoolSettled, APool(AClaim("old", PendingFor(time.Minute))),
		closed("NodeClaim old says that it is being rotated, and NodePool api is not anchored on it: the controller's sweep marks it as failed")),
	Entry("pool_settled: a claim that Karpenter deletes is none of ours (§3.8)", guards.PoolSettled, APool(AClaim("other", BeingDeleted(time.Minute))),
		holding("no earlier rotation is still draining")),
	Entry("pool_settled: the anchored claim's own drain is no earlier one (§3.8)", guards.PoolSettled, APool(AClaim("old", DrainingFor(time.Minute)), Anchored("old")),
		holding("no earlier rotation is still draining")),

	Entry("in_window: open (§3.1)", guards.InWindow, APool(),
		holding("the window is open until Sat 2026-01-10 06:00:00 Asia/Tokyo").ChangingAt(Closing)),
	Entry("in_window: its start is inside (§3.1)", guards.InWindow, APool(At(Opening)),
		holding("the window is open until Sat 2026-01-10 06:00:00 Asia/Tokyo").ChangingAt(Closing)),
	Entry("in_window: its end is not (§3.1)", guards.InWindow, APool(At(Closing)),
		closed("the window opens Wed 2026-01-14 02:00:00 Asia/Tokyo, in 3d 20h").ChangingAt(NextOpening)),
	Entry("in_window: never closing (§3.1)", guards.InWindow, APool(WithPolicy(AlwaysOpen)), holding("the window never closes")),
	Entry("in_window: no policy (§3.1)", guards.InWindow, APool(Ungoverned()), closed("no policy, no window")),

	Entry("frozen: by an operator (§3.1)", guards.Frozen, APool(Frozen(90*time.Minute)),
		holding("NodePool api is frozen until Fri 2026-01-09 19:30:00 UTC, in 1h 30m").ChangingAt(Opening.Add(150*time.Minute))),
	Entry("frozen: for a reason (§3.1)", guards.Frozen,
		APool(Frozen(90*time.Minute), PoolAnnotated(rotation.KeyFreezeReason, "release\n of  the shop")),
		holding("NodePool api is frozen until Fri 2026-01-09 19:30:00 UTC (release of the shop), in 1h 30m").ChangingAt(Opening.Add(150*time.Minute))),
	Entry("frozen: until this very instant (§3.1)", guards.Frozen, APool(Frozen(0)),
		closed("the freeze of NodePool api ended Fri 2026-01-09 18:00:00 UTC")),

	Entry("cooldown_elapsed: not yet (§5.2 gate A)", guards.CooldownElapsed, APool(Rotated(4*time.Minute)),
		closed("the pause after the last success ends Fri 2026-01-09 18:06:00 UTC, in 6m").ChangingAt(Opening.Add(66*time.Minute))),
	Entry("cooldown_elapsed: just now (§5.2 gate A)", guards.CooldownElapsed, APool(Rotated(10*time.Minute)),
		holding("the pause after the last success ended Fri 2026-01-09 18:00:00 UTC")),
	Entry("cooldown_elapsed: a cooldown of zero (§5.4)", guards.CooldownElapsed, APool(WithPolicy(CoolingDown(0, time.Minute)), Rotated(0)),
		holding("the pause after the last success ended Fri 2026-01-09 18:00:00 UTC")),
	Entry("failure_pause_elapsed: not yet (§5.2 gate B)", guards.FailurePauseElapsed, APool(FailedLast(9*time.Minute)),
		closed("the pause after the last failure ends Fri 2026-01-09 18:01:00 UTC, in 1m").ChangingAt(Opening.Add(61*time.Minute))),
	Entry("failure_pause_elapsed: unset, it is the cooldown where that is longer (§5.4)", guards.FailurePauseElapsed,
		APool(WithPolicy(func(p *v1alpha1.RotationPolicy) {
			CoolingDown(time.Hour, 0)(p)
			p.Spec.Surge.FailurePause = nil
		}), FailedLast(59*time.Minute)),
		closed("the pause after the last failure ends Fri 2026-01-09 18:01:00 UTC, in 1m").ChangingAt(Opening.Add(61*time.Minute))),
	Entry("failure_pause_elapsed: over (§5.2 gate B)", guards.FailurePauseElapsed, APool(FailedLast(11*time.Minute)),
		holding("the pause after the last failure ended Fri 2026-01-09 17:59:00 UTC")),

	Entry("backoff_elapsed: the second failure doubles it (§3.2)", guards.BackoffElapsed, APool(due(Failed(2, 45*time.Minute)), Anchored("old")),
		closed("the pause after the last failure of NodeClaim old ends Fri 2026-01-09 18:15:00 UTC, in 15m").ChangingAt(Opening.Add(75*time.Minute))),
	Entry("backoff_elapsed: over (§3.2)", guards.BackoffElapsed, APool(due(Failed(1, 30*time.Minute)), Anchored("old")),
		holding("the pause after the last failure of NodeClaim old ended Fri 2026-01-09 18:00:00 UTC")),
	Entry("backoff_elapsed: of no claim (§3.2)", guards.BackoffElapsed, APool(), closed("there is no claim whose backoff could be over")),

	Entry("eligible: the anchored claim (§3.2)", guards.Eligible, APool(due(Failed(1, 30*time.Minute)), Anchored("old")),
		holding("NodeClaim old may be rotated")),
	Entry("eligible: not while its backoff lasts (§3.2)", guards.Eligible, APool(due(Failed(2, 45*time.Minute)), Anchored("old")),
		closed("NodeClaim old failed and backs off until 2026-01-09T18:15:00Z").ChangingAt(Opening.Add(75*time.Minute))),
	Entry("eligible: not what an operator has protected meanwhile (§3.2)", guards.Eligible,
		APool(due(Failed(1, time.Hour)), Anchored("old"), ANode("old-node", ProtectedByOperator)),
		closed("the Node of NodeClaim old is protected by an operator's karpenter.sh/do-not-disrupt")),
	Entry("eligible: not in a pool that is not Ready (§3.2)", guards.Eligible,
		APool(PoolThat(func(p *rotation.Pool) { p.NotReady = "no NodeClass" }), due(Failed(1, time.Hour)), Anchored("old")),
		closed("NodePool api is not Ready: no NodeClass")),
	Entry("eligible: no claim (§3.2)", guards.Eligible, APool(), closed("there is no claim that could be rotated")),

	Entry("candidate: due (§3.2)", guards.Candidate, APool(due()),
		holding("NodeClaim old is due; Karpenter expires it Tue 2026-01-13 18:00:00 UTC, in 4d")),
	Entry("candidate: due by an override, and without a deadline (§3.2)", guards.Candidate, APool(WithPolicy(OfAgeAt(5*Day)), due(NeverExpiring)),
		holding("NodeClaim old is due; it never expires")),
	Entry("candidate: young (§3.2)", guards.Candidate, APool(AClaim("young")),
		closed("none of 1 NodeClaims may be rotated; NodeClaim young comes of age at 2026-01-14T16:43:00Z").
			ChangingAt(Opening.Add(time.Hour-Day+5*Day+22*time.Hour+43*time.Minute+1))),
	Entry("candidate: protected by an operator (§3.2)", guards.Candidate, APool(due(), ANode("old-node", ProtectedByOperator)),
		closed("none of 1 NodeClaims may be rotated; the Node of NodeClaim old is protected by an operator's karpenter.sh/do-not-disrupt")),
	Entry("candidate: static pool (§3.2)", guards.Candidate, APool(PoolThat(func(p *rotation.Pool) { p.Static = true }), due()),
		closed("NodePool api is static (spec.replicas is set): Karpenter schedules no placeholder onto it")),
	Entry("candidate: pool not Ready (§3.2)", guards.Candidate, APool(PoolThat(func(p *rotation.Pool) { p.NotReady = "no NodeClass" }), due()),
		closed("NodePool api is not Ready: no NodeClass")),
	Entry("candidate: empty pool (§3.2)", guards.Candidate, APool(), closed("the pool has no NodeClaim")),

	Entry("surge_headroom: no limits (§3.3)", guards.SurgeHeadroom, APool(due()), holding("NodePool api has no limits")),
	Entry("surge_headroom: no room (§3.3)", guards.SurgeHeadroom,
		APool(due(), WithWorkloadOn("old-node", "web", "cpu=2"), Limited([]string{"cpu=8"}, []string{"cpu=7"})),
		closed("the limits of NodePool api leave no room for the surge (cpu: the surge needs 2, 7 of 8 are used)")),
	Entry("surge_headroom: just enough (§3.3)", guards.SurgeHeadroom,
		APool(due(), WithWorkloadOn("old-node", "web", "cpu=1"), Limited([]string{"cpu=8", "nodes=3"}, []string{"cpu=7", "nodes=2"})),
		holding("the limits of NodePool api leave room for the surge (cpu: 1 needed, 1 left; nodes: 1 needed, 1 left)")),
	Entry("surge_headroom: no node more (§3.3)", guards.SurgeHeadroom, APool(due(), Limited([]string{"nodes=2"}, []string{"nodes=2"})),
		closed("the limits of NodePool api leave no room for the surge (nodes: the surge needs 1, 2 of 2 are used)")),
	Entry("surge_headroom: for nobody (§3.3)", guards.SurgeHeadroom, APool(), closed("there is no claim to make room for")),

	Entry("forceful_fallback: off by default (§3.6)", guards.ForcefulFallback, APool(due(Aged(14*Day-time.Minute))),
		closed("the policy does not allow the forceful fallback")),
	Entry("forceful_fallback: a surge still fits, to the nanosecond (§3.6)", guards.ForcefulFallback,
		APool(WithPolicy(AllowingFallback), due(Aged(14*Day-77*time.Minute))),
		closed("a surge of NodeClaim old (at most 1h 17m) still fits before its deadline Fri 2026-01-09 19:17:00 UTC").ChangingAt(Opening.Add(time.Hour+1))),
	Entry("forceful_fallback: it no longer does (§3.6)", guards.ForcefulFallback,
		APool(WithPolicy(AllowingFallback), due(Aged(14*Day-77*time.Minute+1))),
		holding("a surge of NodeClaim old (at most 1h 17m) no longer fits before its deadline Fri 2026-01-09 19:16:59 UTC")),
	Entry("forceful_fallback: no candidate (§3.6)", guards.ForcefulFallback, APool(WithPolicy(AllowingFallback)), closed("there is no candidate")),
	Entry("forceful_fallback: no deadline (§3.6)", guards.ForcefulFallback, APool(WithPolicy(AllowingFallback, OfAgeAt(Day)), due(NeverExpiring)),
		closed("NodeClaim old has no deadline")),
)

var _ = Describe("A policy that leaves a node no time (§3.2)", func() {
	It("is not feasible, and the finding's own words say why", func() {
		verdict := ask(guards.Feasible, APool(PoolThat(func(p *rotation.Pool) { p.ExpireAfter = new(8 * Day) })))
		Expect(verdict.Holds).To(BeFalse())
		Expect(verdict.Reason()).To(HavePrefix(rotation.ANonPositive + ": "))
	})

	It("is Invalid when no pool could follow it, and so governs none", func() {
		invalid := APool(WithPolicy(AskingForChances(0)))
		Expect(ask(guards.Governed, invalid).Holds).To(BeFalse())
		Expect(ask(guards.Governed, invalid).Reason()).To(ContainSubstring("Invalid"))
		Expect(ask(guards.Candidate, invalid)).To(Equal(ask(guards.Governed, invalid)))
	})
})

var _ = Describe("No window in sight (§3.1)", func() {
	It("is told as such", func() {
		s := APool()
		s.Governance.Windows = rotation.Governance{}.Windows
		Expect(said(ask(guards.InWindow, s))).To(Equal(said(closed("no window opens in the coming 400 days"))))
	})
})
