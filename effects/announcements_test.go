// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// announcement is what of an Announce people and metrics see.
type announcement struct {
	On        string
	Reason    string
	Severity  effects.Severity
	Message   string
	Outcome   effects.Outcome
	Condition bool
	Fallback  bool
}

var _ = DescribeTable("What is told, to whom, and what is counted (§4.2)",
	func(s rotation.Snapshot, name string, expected announcement) {
		Expect(announced(s, name)).To(HaveLen(1))
		told := announced(s, name)[0]
		Expect(announcement{
			told.Target.Kind + " " + told.Target.Name, told.Reason, told.Severity, told.Message, told.Outcome, told.Condition, told.Fallback,
		}).To(Equal(expected))
		Expect(told.Pool).To(Equal("api"))
		Expect(told.Claim).To(Equal("old"))
		Expect(told.Attempt).NotTo(BeEmpty())
	},
	Entry("a start", In("the claim is marked and nothing else"), effects.AnnounceStarted, announcement{
		On: "NodePool api", Reason: "RotationStarted", Severity: effects.Normal,
		Message: "rotating NodeClaim old (node old-node): its replacement comes first; Karpenter would expire it at 2026-01-13T18:00:00Z"}),
	Entry("a fallback, counted", In("the fallback is anchored and nothing else"), effects.AnnounceFallback, announcement{
		On: "NodePool api", Reason: "ForcefulFallback", Severity: effects.Warning, Fallback: true,
		Message: "NodeClaim old (node old-node) is drained without a replacement: its deadline is closer than a rotation takes"}),
	Entry("no headroom, while it lasts", In("a node is due and the limits leave no room"), effects.AnnounceInsufficientHeadroom, announcement{
		On: "NodePool api", Reason: "InsufficientHeadroom", Severity: effects.Warning, Condition: true,
		Message: "NodeClaim old cannot be rotated: the limits of NodePool api leave no room for the surge (cpu: the surge needs 1, 3500m of 4 are used)"}),
	Entry("a success, counted", In("the drained claim is gone"), effects.AnnounceCompleted, announcement{
		On: "NodePool api", Reason: "RotationCompleted", Severity: effects.Normal, Outcome: effects.Success,
		Message: "NodeClaim old has been replaced, surge 1m0s, drain 5m0s"}),
	Entry("an expiry, counted, on the claim", In("the pending claim is being deleted"), effects.AnnounceExpired, announcement{
		On: "NodeClaim old", Reason: "RotationExpired", Severity: effects.Warning, Outcome: effects.Expired,
		Message: "NodeClaim old was deleted by another hand before its replacement stood"}),
	Entry("an expiry, counted, on the pool when the claim is gone", In("the pending claim is gone"), effects.AnnounceExpired, announcement{
		On: "NodePool api", Reason: "RotationExpired", Severity: effects.Warning, Outcome: effects.Expired,
		Message: "NodeClaim old was deleted by another hand before its replacement stood"}),
	Entry("a placeholder that found no node", In("the attempt has timed out"), effects.AnnounceUnschedulable, announcement{
		On: "NodeClaim old", Reason: "SurgeUnschedulable", Severity: effects.Warning,
		Message: "the placeholder found no node: 0/2 nodes are available: 2 Insufficient cpu."}),
	Entry("a failure, counted, on the claim", In("a failure is still anchored"), effects.AnnounceFailed, announcement{
		On: "NodeClaim old", Reason: "RotationFailed", Severity: effects.Warning, Outcome: effects.Failure,
		Message: "the replacement of NodeClaim old did not stand within readyTimeout (failures so far: 1); everything is as before, the next attempt follows after the backoff"}),
	Entry("a lost governance, which is no outcome", In("no policy governs the pending rotation"), effects.AnnounceGovernanceLost, announcement{
		On: "NodePool api", Reason: "GovernanceLost", Severity: effects.Warning,
		Message: "the rotation of NodeClaim old was taken back: there is no RotationPolicy; create one whose nodePoolSelector matches the NodePool's labels"}),
	Entry("a stuck drain, while it lasts", In("the drain is overdue", WithWorkloadOn("old-node", "web-9")), effects.AnnounceDrainStuck, announcement{
		On: "NodePool api", Reason: "DrainStuck", Severity: effects.Warning, Condition: true, Message: "the drain of NodeClaim old is overdue"}),
)

var _ = Describe("A duration is observed (§4.2)", func() {
	It("of the surge, as the mirror has it", func() {
		Expect(announced(In("the node drains"), effects.AnnounceSurgeWait)).To(HaveExactElements(
			And(HaveField("Phase", effects.SurgeWait), HaveField("Duration", time.Minute), HaveField("Reason", BeEmpty()))))
	})
	It("of the drain, after the anchor is gone", func() {
		s, _ := after(In("the drained claim is gone"), effects.ClearAnchor)
		Expect(announced(s, effects.AnnounceDrained)).To(HaveExactElements(
			And(HaveField("Phase", effects.Drain), HaveField("Duration", 5*time.Minute), HaveField("Claim", "old"))))
	})
	It("not at all where its stamp cannot be read or is missing (architecture, Unreadable and absent values)", func() {
		for _, value := range []Fact{PoolAnnotated(rotation.KeyDrainingAt, "?"), PoolAnnotated(rotation.KeySurgeWait, "?")} {
			s := APool(Anchored("old"), value)
			Expect(announced(s, effects.AnnounceSurgeWait, effects.AnnounceDrained)).To(BeEmpty())
			Expect(announced(s, effects.AnnounceCompleted)).To(HaveLen(1))
		}
	})
})

var _ = Describe("Nothing is told", func() {
	It("of a fallback in a rotation with a surge (§3.6)", func() {
		Expect(asks(In("the drain is decided and nothing is deleted"), effects.AnnounceFallback)).To(BeEmpty())
	})
	It("of a placeholder that has a node, or that the scheduler has not judged (§4.2)", func() {
		Expect(asks(In("the attempt has timed out with a node that came late"), effects.AnnounceUnschedulable)).To(BeEmpty())
		Expect(asks(In("an expiry is still anchored"), effects.AnnounceUnschedulable)).To(BeEmpty())
	})
})

var _ = Describe("An announcement names its attempt, so that it is delivered once (architecture, Announcements)", func() {
	attempt := func(s rotation.Snapshot, name string) string { return announced(s, name)[0].Attempt }

	It("the same in every pass of one attempt, another in the next", func() {
		first := APool(old(PendingFor(time.Minute)), Anchored("old"))
		later := LookedAt(first, first.Now.Add(time.Minute))
		Expect(attempt(later, effects.AnnounceStarted)).To(Equal(attempt(first, effects.AnnounceStarted)))
		next := APool(old(PendingFor(0)), Anchored("old"))
		Expect(attempt(next, effects.AnnounceStarted)).NotTo(Equal(attempt(first, effects.AnnounceStarted)))
	})
	It("one failure apart from the next, after the stamp is gone", func() {
		once, twice := APool(old(Failed(1, 0)), Anchored("old")), APool(old(Failed(2, 0)), Anchored("old"))
		Expect(attempt(once, effects.AnnounceFailed)).NotTo(Equal(attempt(twice, effects.AnnounceFailed)))
	})
	It("the same before and after the anchor is cleared", func() {
		s := In("the drained claim is gone")
		cleared, _ := after(s, effects.ClearAnchor)
		Expect(attempt(cleared, effects.AnnounceCompleted)).To(Equal(attempt(s, effects.AnnounceCompleted)))
	})
})
