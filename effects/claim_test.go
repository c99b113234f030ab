// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/effects"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// rotating is a pool anchored on the claim old, of which the facts are so.
func rotating(facts ...ClaimFact) rotation.Snapshot { return APool(old(facts...), Anchored("old")) }

// OfVersion is the claim's resourceVersion.
func OfVersion(version string) ClaimFact {
	return func(c *rotation.Claim, _ time.Time) { c.ResourceVersion = version }
}

var _ = Describe("mark_pending (§5.3 state, started-at)", func() {
	It("begins an attempt: state and stamp in one write", func() {
		Expect(asks(rotating(), effects.MarkPending)).To(HaveExactElements("patch NodeClaim old: started-at=" + now + " state=pending"))
	})
	It("stamps an attempt once", func() {
		Expect(asks(rotating(PendingFor(5*time.Minute)), effects.MarkPending)).To(BeEmpty())
	})
	It("stamps one whose stamp was lost: it has not elapsed", func() {
		Expect(asks(rotating(InState(rotation.StatePending)), effects.MarkPending)).To(HaveExactElements("patch NodeClaim old: started-at=" + now))
	})
	It("leaves a stamp that cannot be read to the rollback", func() {
		Expect(asks(rotating(InState(rotation.StatePending), Annotated(rotation.KeyStartedAt, "?")), effects.MarkPending)).To(BeEmpty())
	})
	It("begins a new attempt after a failure: a new stamp, no surge claim of the old one, its failures kept", func() {
		failed := rotating(Failed(2, 2*time.Hour), SurgingOn("new"), Annotated(rotation.KeyStartedAt, "2026-01-09T16:00:00Z"))
		Expect(asks(failed, effects.MarkPending)).To(HaveExactElements("patch NodeClaim old: started-at=" + now + " state=pending -surge-claim"))
		Expect(claim(failed, effects.MarkPending)).To(And(HaveKeyWithValue(rotation.KeyRetryCount, "2"), HaveKey(rotation.KeyFailedAt)))
	})
	It("begins a new attempt on a claim of which a lost governance left a stamp", func() {
		Expect(claim(rotating(Annotated(rotation.KeyStartedAt, "2026-01-01T00:00:00Z")), effects.MarkPending)).To(HaveKeyWithValue(rotation.KeyStartedAt, now))
	})
	It("asks for nothing of a claim that is gone", func() {
		Expect(asks(APool(Anchored("old")), effects.MarkPending)).To(BeEmpty())
	})
})

var _ = Describe("mark_draining (§5.3 state)", func() {
	It("writes the state and keeps the attempt's record", func() {
		s := rotating(PendingFor(time.Minute), SurgingOn("new"))
		Expect(asks(s, effects.MarkDraining)).To(HaveExactElements("patch NodeClaim old: state=draining"))
		Expect(asks(In("the node drains"), effects.MarkDraining)).To(BeEmpty())
	})
})

var _ = Describe("mark_failed (§5.3 state, failed-at, retry-count)", func() {
	It("records the failure and ends the attempt in one write", func() {
		Expect(asks(rotating(PendingFor(20*time.Minute), SurgingOn("new")), effects.MarkFailed)).To(HaveExactElements(
			"patch NodeClaim old: failed-at=" + now + " retry-count=1 state=failed -started-at -surge-claim"))
	})
	It("counts on from the failures before", func() {
		s := rotating(Failed(4, Day), PendingFor(20*time.Minute))
		Expect(claim(s, effects.MarkFailed)).To(And(HaveKeyWithValue(rotation.KeyRetryCount, "5"), HaveKeyWithValue(rotation.KeyFailedAt, now)))
	})
	It("repairs a count that cannot be read", func() {
		s := rotating(PendingFor(20*time.Minute), Annotated(rotation.KeyRetryCount, "many"))
		Expect(claim(s, effects.MarkFailed)).To(HaveKeyWithValue(rotation.KeyRetryCount, "1"))
	})
	It("counts a failure once", func() {
		Expect(asks(rotating(Failed(1, time.Minute)), effects.MarkFailed)).To(BeEmpty())
	})
})

var _ = Describe("mark_expired (§5.2 force-expiry)", func() {
	It("writes the terminal state and ends the attempt in one write", func() {
		Expect(asks(rotating(PendingFor(time.Minute), SurgingOn("new"), BeingDeleted(0)), effects.MarkExpired)).To(HaveExactElements(
			"patch NodeClaim old: state=expired -started-at -surge-claim"))
	})
	It("lets go of a claim whose drain the NodePool says to have begun, so that no other rotation starts beside it", func() {
		s, actions := after(APool(old(PendingFor(time.Minute), BeingDeleted(0)), Anchored("old"), PoolAnnotated(rotation.KeyActiveRotationState, "draining")), effects.MarkExpired, effects.ClearAnchor)
		Expect(told(actions)[0]).To(Equal("patch NodeClaim old: released-at=" + now + " state=expired -started-at"))
		settled, draining := s.Settled()
		Expect(settled).To(BeFalse())
		Expect(draining).To(Equal("old"))
	})
})

var _ = Describe("reset_claim (§3.8 governance lost)", func() {
	It("takes state, started-at and surge-claim back and keeps the failures", func() {
		s := rotating(Failed(3, Day), PendingFor(time.Minute), SurgingOn("new"))
		Expect(asks(s, effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now + " -state -started-at -surge-claim"))
		Expect(claim(s, effects.ResetClaim)).To(And(HaveLen(3), HaveKey(rotation.KeyFailedAt), HaveKey(rotation.KeyRetryCount), HaveKey(rotation.KeyReleasedAt)))
	})
	It("says of a claim already being deleted when it was let go, so that no other rotation starts beside it", func() {
		s, actions := after(rotating(DrainingFor(time.Minute)), effects.ResetClaim, effects.ClearAnchor)
		Expect(told(actions)).To(ContainElement("patch NodeClaim old: released-at=" + now + " -state -started-at"))
		settled, draining := s.Settled()
		Expect(settled).To(BeFalse())
		Expect(draining).To(Equal("old"))
	})
	It("writes to a claim that has nothing to take back, so that a process that decided before is refused", func() {
		Expect(asks(rotating(), effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now))
	})
	It("writes once, however late the anchor is cleared: its clearing was refused, or the pass was cut before", func() {
		cut, done := after(rotating(PendingFor(time.Minute), SurgingOn("new")), effects.ResetClaim)
		for _, later := range []time.Duration{time.Second, time.Hour} {
			Expect(asks(nextPass(cut, later, done...), effects.ResetClaim, effects.ClearAnchor)).To(HaveExactElements(
				"patch NodePool api: -active-rotation -anchored-on"))
		}
	})
	It("keeps the stamp where somebody else has changed the claim meanwhile: whoever anchored on it before is refused by that", func() {
		s := APool(old(Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z"), OfVersion("10")), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "9"))
		Expect(asks(s, effects.ResetClaim)).To(BeEmpty())
		Expect(asks(s, effects.MarkReleased)).To(BeEmpty())
	})
	It("stamps a claim anew that was let go by an earlier rotation, and is as it was anchored", func() {
		s := APool(old(Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z")), Anchored("old"))
		Expect(asks(s, effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now))
		Expect(asks(s, effects.MarkReleased)).To(HaveExactElements("patch NodeClaim old: released-at=" + now))
	})
	It("writes to a claim that the cache shows as it was before it was anchored: that is refused, as another has begun on it", func() {
		s := APool(old(Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z"), OfVersion("9")), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "10"))
		Expect(asks(s, effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now))
	})
	It("stamps anew what cannot be read, and what was marked since", func() {
		unreadable := rotating(Annotated(rotation.KeyReleasedAt, "?"), OfVersion("2"))
		Expect(asks(unreadable, effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now))
		drained := rotating(InState(rotation.StateDraining), Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z"), OfVersion("2"))
		Expect(asks(drained, effects.ResetClaim)).To(HaveExactElements("patch NodeClaim old: released-at=" + now + " -state"))
	})
	It("changes also a claim that was let go in this very second and then anchored again, and does so once", func() {
		anchored := APool(AClaim("old", Annotated(rotation.KeyReleasedAt, now)), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "1"))
		s, actions := after(anchored, effects.ResetClaim)
		Expect(told(actions)).To(HaveExactElements("patch NodeClaim old: released-at=2026-01-09T18:00:01Z"))
		Expect(asks(s, effects.ResetClaim)).To(BeEmpty())

		changed := APool(AClaim("old", Annotated(rotation.KeyReleasedAt, now)), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "of before"))
		Expect(asks(changed, effects.ResetClaim)).To(BeEmpty(), "the claim has another version than when it was anchored")
	})
})

var _ = Describe("record_surge_claim (§5.3 surge-claim)", func() {
	newcomer := AClaim("new", Aged(time.Minute))

	It("records the claim on whose node the placeholder sits, as soon as it is bound there", func() {
		s := APool(old(PendingFor(time.Minute)), Anchored("old"), newcomer, WithPlaceholderOn("new-node", corev1.PodPending))
		Expect(asks(s, effects.RecordSurgeClaim)).To(HaveExactElements("patch NodeClaim old: surge-claim=new"))
	})
	It("follows the placeholder to the current one (§3.8)", func() {
		s := APool(old(PendingFor(time.Minute), SurgingOn("given-up")), Anchored("old"), newcomer, WithPlaceholderOn("new-node", corev1.PodPending))
		Expect(claim(s, effects.RecordSurgeClaim)).To(HaveKeyWithValue(rotation.KeySurgeClaim, "new"))
	})
	It("asks for nothing while the placeholder waits, and keeps what is recorded", func() {
		s := APool(old(PendingFor(time.Minute), SurgingOn("new")), Anchored("old"), newcomer, WithPlaceholderOn("", corev1.PodPending))
		Expect(asks(s, effects.RecordSurgeClaim)).To(BeEmpty())
	})
	It("never records the old claim as its own surge", func() {
		s := APool(old(PendingFor(time.Minute)), Anchored("old"), WithPlaceholderOn("old-node", corev1.PodRunning))
		Expect(asks(s, effects.RecordSurgeClaim)).To(BeEmpty())
	})
})

var _ = Describe("delete (§5.2)", func() {
	It("deletes the claim by its UID, and as it was decided on", func() {
		_, actions := after(rotating(), effects.Delete)
		Expect(actions).To(HaveExactElements(effects.DeleteClaim{Claim: theOldClaim, Subject: theOldClaim}))
	})
	It("asks for nothing when it is being deleted, or gone", func() {
		Expect(asks(rotating(BeingDeleted(time.Hour)), effects.Delete)).To(BeEmpty())
		Expect(asks(APool(Anchored("old")), effects.Delete)).To(BeEmpty())
	})
})

var _ = Describe("reap (§3.8)", func() {
	late := old(PendingFor(20*time.Minute), SurgingOn("new"))

	It("deletes the claim that the attempt brought about, for the old one as it was decided on", func() {
		_, actions := after(In("the attempt has timed out with a node that came late"), effects.Reap)
		Expect(actions).To(HaveExactElements(effects.DeleteClaim{
			Claim: rotation.Object{Name: "new", UID: "uid-of-new", ResourceVersion: "1"}, Subject: theOldClaim,
		}))
	})
	DescribeTable("deletes nothing, and the log says why,",
		func(s rotation.Snapshot, reason string) {
			_, actions := after(s, effects.Reap)
			Expect(writes(actions)).To(BeEmpty())
			Expect(told(actions)).To(HaveExactElements(And(HavePrefix("log: nothing is reaped: "), ContainSubstring(reason))))
		},
		Entry("of a node that was there before", APool(late, Anchored("old"), AClaim("new", Aged(time.Hour))), "it was there before"),
		Entry("of a node that others use by now", APool(late, Anchored("old"), AClaim("new", Aged(time.Minute)), WithWorkloadOn("new-node", "web-2", "cpu=1")),
			"Pod shop/web-2 runs on Node new-node"),
		Entry("that nothing tells apart", APool(late, Anchored("old")), "no placeholder of NodeClaim old waits for a node"),
	)
})
