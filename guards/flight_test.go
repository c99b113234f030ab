// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/guards"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

var _ = DescribeTable("A guard of a rotation in flight says why, and until when",
	func(name string, s rotation.Snapshot, expected machine.Verdict) {
		verdict := ask(name, s)
		Expect(verdict.Until).To(BeTemporally("==", expected.Until))
		Expect(verdict.Reason()).To(Equal(expected.Reason()))
		Expect(verdict.Holds).To(Equal(expected.Holds))
	},

	Entry("claim_gone: it is (§5.2 completion)", guards.ClaimGone, APool(Anchored("old")), holding("NodeClaim old no longer exists")),
	Entry("claim_gone: it exists (§5.2 completion)", guards.ClaimGone, APool(Anchored("old"), due()), closed("NodeClaim old exists")),
	Entry("claim_gone: a claim that finalizes still exists (§5.2 completion)", guards.ClaimGone, In("the node drains"), closed("NodeClaim old exists")),
	Entry("claim_gone: no rotation (§5.2 completion)", guards.ClaimGone, APool(due()), closed("no rotation is anchored")),

	Entry("deletion_timestamp: present (§5.2 force-expiry)", guards.DeletionTimestamp, APool(Anchored("old"), due(BeingDeleted(time.Minute))),
		holding("NodeClaim old is being deleted since Fri 2026-01-09 17:59:00 UTC")),
	Entry("deletion_timestamp: absent (§5.2 force-expiry)", guards.DeletionTimestamp, APool(Anchored("old"), due()),
		closed("NodeClaim old is not being deleted")),
	Entry("deletion_timestamp: no claim (§5.2 force-expiry)", guards.DeletionTimestamp, APool(Anchored("old")),
		closed("there is no anchored NodeClaim")),

	Entry("ready_timeout_elapsed: to the second it is not (§3.8)", guards.ReadyTimeoutElapsed, APool(Anchored("old"), due(PendingFor(15*time.Minute))),
		closed("the replacement has until Fri 2026-01-09 18:00:00 UTC, in 0s").ChangingAt(Opening.Add(time.Hour+1))),
	Entry("ready_timeout_elapsed: beyond it is (§3.8)", guards.ReadyTimeoutElapsed, APool(Anchored("old"), due(PendingFor(16*time.Minute))),
		holding("the attempt began Fri 2026-01-09 17:44:00 UTC and readyTimeout ended Fri 2026-01-09 17:59:00 UTC")),
	Entry("ready_timeout_elapsed: of an attempt that began in the future (§3.8)", guards.ReadyTimeoutElapsed,
		APool(Anchored("old"), due(PendingFor(-time.Hour))),
		holding("noderotation.io/started-at of NodeClaim old lies in the future: the attempt counts as timed out").ChangingAt(Opening.Add(time.Hour+59*time.Minute))),
	Entry("ready_timeout_elapsed: of one that began within what clocks may lie apart (§3.8)", guards.ReadyTimeoutElapsed,
		APool(Anchored("old"), due(PendingFor(-time.Minute))),
		closed("the replacement has until Fri 2026-01-09 18:16:00 UTC, in 16m").ChangingAt(Opening.Add(time.Hour+16*time.Minute+1))),
	Entry("ready_timeout_elapsed: no claim (§3.8)", guards.ReadyTimeoutElapsed, APool(Anchored("old")), closed("there is no anchored NodeClaim")),

	Entry("surge_ready: it is (§3.3)", guards.SurgeReady, In("the surge is ready"),
		holding("placeholder surge-for-old runs on Node new-node, which is Ready")),
	Entry("surge_ready: no placeholder (§3.3)", guards.SurgeReady, In("the placeholder is missing"),
		closed("placeholder surge-for-old does not exist")),
	Entry("surge_ready: waiting (§3.3)", guards.SurgeReady, In("the placeholder waits for a node"),
		closed("placeholder surge-for-old has no node yet: 0/2 nodes are available: 2 Insufficient cpu.")),
	Entry("surge_ready: preempted but running (§3.3)", guards.SurgeReady, In("the placeholder is preempted"),
		closed("placeholder surge-for-old is being removed")),
	Entry("surge_ready: on the candidate itself (§3.3)", guards.SurgeReady,
		APool(Anchored("old"), due(PendingFor(0)), WithPlaceholderOn("old-node", corev1.PodRunning)),
		closed("placeholder surge-for-old sits on Node old-node, the very one that is to be replaced")),
	Entry("surge_ready: no claim (§3.3)", guards.SurgeReady, APool(Anchored("old")), closed("there is no claim to replace")),

	Entry("surge_settled: Karpenter may still plan for the placeholder (§3.3)", guards.SurgeSettled,
		APool(Anchored("old"), due(PendingFor(0)), WithPlaceholderOn("new-node", corev1.PodRunning, RunningFor(time.Second))),
		closed("Karpenter may still be planning for the placeholder until Fri 2026-01-09 18:00:02 UTC, in 2s").ChangingAt(Opening.Add(time.Hour+2*time.Second))),
	Entry("surge_settled: it has run for long enough (§3.3)", guards.SurgeSettled,
		APool(Anchored("old"), due(PendingFor(0)), WithPlaceholderOn("new-node", corev1.PodRunning, RunningFor(3*time.Second))),
		holding("the placeholder has run for long enough, since Fri 2026-01-09 17:59:57 UTC")),
	Entry("surge_settled: not told (§3.3)", guards.SurgeSettled, In("the surge is ready"),
		holding("no placeholder tells since when it runs")),

	Entry("drain_overdue: within the claim's own grace period and buffer (§3.3)", guards.DrainOverdue,
		APool(Anchored("old"), due(DrainingFor(32*time.Minute), Graceful(30*time.Minute))),
		closed("the drain of NodeClaim old may last until Fri 2026-01-09 18:00:00 UTC, in 0s").ChangingAt(Opening.Add(time.Hour+1))),
	Entry("drain_overdue: beyond (§3.3)", guards.DrainOverdue, APool(Anchored("old"), due(DrainingFor(33*time.Minute), Graceful(30*time.Minute))),
		holding("the drain of NodeClaim old should have ended Fri 2026-01-09 17:59:00 UTC")),
	Entry("drain_overdue: one hour stands in for an unset grace period (§3.2)", guards.DrainOverdue,
		APool(PoolThat(func(p *rotation.Pool) { p.TerminationGracePeriod = nil }), Anchored("old"), due(DrainingFor(32*time.Minute))),
		closed("the drain of NodeClaim old may last until Fri 2026-01-09 18:30:00 UTC, in 30m").ChangingAt(Opening.Add(90*time.Minute+1))),
	Entry("drain_overdue: no drain (§3.3)", guards.DrainOverdue, APool(Anchored("old"), due()), closed("no drain is in progress")),
)

// The table "Unreadable and absent values" of the architecture, row by row, as the guards see it.
var _ = DescribeTable("A value that is not there, or cannot be read, means the safe thing",
	func(name string, absent, unreadable, empty rotation.Snapshot, ifAbsent, ifUnreadable machine.Verdict) {
		Expect(said(ask(name, absent))).To(Equal(said(ifAbsent)), "absent")
		Expect(said(ask(name, unreadable))).To(Equal(said(ifUnreadable)), "unreadable")
		Expect(said(ask(name, empty))).To(Equal(said(ifUnreadable)), "empty")
	},
	Entry("freeze: frozen; absent, not frozen", guards.Frozen,
		APool(), APool(PoolAnnotated(rotation.KeyFreeze, "next week")), APool(PoolAnnotated(rotation.KeyFreeze, "")),
		closed("NodePool api is not frozen"),
		holding("NodePool api has an unreadable noderotation.io/freeze: it counts as frozen")),
	Entry("last-rotation-at: the pause is not over; absent, it is", guards.CooldownElapsed,
		APool(), APool(PoolAnnotated(rotation.KeyLastRotationAt, "2026-01-09")), APool(PoolAnnotated(rotation.KeyLastRotationAt, "")),
		holding("there was no earlier success"),
		closed("the pause after the last success counts as not over: noderotation.io/last-rotation-at cannot be read")),
	Entry("last-failure-at: the pause is not over; absent, it is", guards.FailurePauseElapsed,
		APool(), APool(PoolAnnotated(rotation.KeyLastFailureAt, "1736445600")), APool(PoolAnnotated(rotation.KeyLastFailureAt, "")),
		holding("there was no earlier failure"),
		closed("the pause after the last failure counts as not over: noderotation.io/last-failure-at cannot be read")),
	Entry("failed-at: the backoff is not over; absent, it is", guards.BackoffElapsed,
		APool(Anchored("old"), due(InState(rotation.StateFailed))),
		APool(Anchored("old"), due(Failed(1, Day), Annotated(rotation.KeyFailedAt, "?"))),
		APool(Anchored("old"), due(Failed(1, Day), Annotated(rotation.KeyFailedAt, ""))),
		holding("there was no earlier failure of NodeClaim old"),
		closed("the pause after the last failure of NodeClaim old counts as not over: noderotation.io/failed-at cannot be read")),
	Entry("retry-count: the backoff is not over; absent, it is as after the first failure", guards.BackoffElapsed,
		APool(Anchored("old"), due(InState(rotation.StateFailed), Annotated(rotation.KeyFailedAt, "2026-01-09T17:30:00Z"))),
		APool(Anchored("old"), due(Failed(1, Day), Annotated(rotation.KeyRetryCount, "-2"))),
		APool(Anchored("old"), due(Failed(1, Day), Annotated(rotation.KeyRetryCount, ""))),
		holding("the pause after the last failure of NodeClaim old ended Fri 2026-01-09 18:00:00 UTC"),
		closed("the pause after the last failure of NodeClaim old counts as not over: noderotation.io/retry-count cannot be read")),
	Entry("started-at: timed out; absent, not elapsed", guards.ReadyTimeoutElapsed,
		APool(Anchored("old"), due(InState(rotation.StatePending))),
		APool(Anchored("old"), due(PendingFor(0), Annotated(rotation.KeyStartedAt, "noon"))),
		APool(Anchored("old"), due(PendingFor(0), Annotated(rotation.KeyStartedAt, ""))),
		closed("the attempt has not been stamped yet"),
		holding("noderotation.io/started-at of NodeClaim old cannot be read: the attempt counts as timed out")),
)

var _ = Describe("A claim state that is outside the contract (architecture, Unreadable and absent values)", func() {
	It("makes the claim no candidate, and others are not held up", func() {
		s := APool(due(InState("sleeping")))
		Expect(said(ask(guards.Candidate, s))).To(Equal(said(closed("none of 1 NodeClaims may be rotated; NodeClaim old has a state annotation outside the contract"))))
		s = APool(due(InState("sleeping")), AClaim("older", Aged(9*Day)))
		Expect(s.Selection.Candidate).To(Equal("older"))
	})
})
