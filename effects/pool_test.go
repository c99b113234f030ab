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

var _ = Describe("anchor (§5.2 anchor semantics)", func() {
	It("names the candidate, on the condition that none is named", func() {
		_, actions := after(APool(old()), effects.Anchor)
		Expect(actions).To(HaveExactElements(effects.PatchPool{
			Pool:   rotation.Object{Name: "api", UID: "uid-of-api", ResourceVersion: "1"},
			Change: effects.Change{Set: map[string]string{rotation.KeyActiveRotation: "old", rotation.KeyAnchoredOn: "1"}},
		}))
	})
	It("leaves another rotation's anchor alone", func() {
		Expect(asks(APool(old(), Anchored("other")), effects.Anchor)).To(BeEmpty())
	})
	It("asks for nothing without a candidate", func() {
		Expect(asks(APool(AClaim("young")), effects.Anchor)).To(BeEmpty())
	})
})

var _ = Describe("mark_fallback (§3.6)", func() {
	It("marks the anchored rotation, on the condition that it is still the anchored one", func() {
		_, actions := after(APool(old(), Anchored("old")), effects.MarkFallback)
		Expect(told(actions)).To(HaveExactElements("patch NodePool api: rotation-mode=forceful-fallback"))
		Expect(actions[0]).To(HaveField("Anchored", "old"))
	})
	It("is one write with the anchor", func() {
		_, actions := after(APool(old()), effects.Anchor, effects.MarkFallback, effects.Mirror)
		Expect(told(effects.Merge(actions))).To(HaveExactElements(
			"patch NodePool api: active-rotation=old active-rotation-state=draining anchored-on=1 draining-at=" + now + " rotation-mode=forceful-fallback"))
	})
})

var _ = Describe("mirror (§5.2 completion outcome)", func() {
	It("stamps the drain's start and the surge's duration with the phase", func() {
		Expect(asks(APool(old(PendingFor(5*time.Minute)), Anchored("old")), effects.Mirror)).To(HaveExactElements(
			"patch NodePool api: active-rotation-state=draining draining-at=" + now + " surge-wait=5m0s"))
	})
	It("writes its stamps once: what is mirrored stays", func() {
		Expect(asks(In("the node drains"), effects.Mirror)).To(BeEmpty())
		Expect(asks(APool(old(PendingFor(5*time.Minute)), Anchored("old"), Mirrored(Day, time.Hour)), effects.Mirror)).To(BeEmpty())
	})
	It("keeps stamps that cannot be read, since control does not depend on them", func() {
		Expect(asks(APool(old(), Anchored("old"), Mirrored(0, 0), PoolAnnotated(rotation.KeyDrainingAt, "?")), effects.Mirror)).To(BeEmpty())
	})
	It("counts from the deletion where it was lost and the drain has begun", func() {
		Expect(asks(APool(old(DrainingFor(3*time.Minute)), Anchored("old")), effects.Mirror)).To(HaveExactElements(
			"patch NodePool api: active-rotation-state=draining draining-at=2026-01-09T17:57:00Z surge-wait=1m0s"))
	})
	It("tells no surge's duration of a fallback, which had none", func() {
		Expect(pool(APool(old(PendingFor(time.Hour)), Anchored("old"), ByFallback()), effects.Mirror)).NotTo(HaveKey(rotation.KeySurgeWait))
	})
	It("tells none from a start that cannot be read", func() {
		unreadable := APool(old(PendingFor(0), Annotated(rotation.KeyStartedAt, "?")), Anchored("old"))
		Expect(pool(unreadable, effects.Mirror)).To(And(HaveKey(rotation.KeyDrainingAt), Not(HaveKey(rotation.KeySurgeWait))))
	})
	It("tells none that is negative, from a clock that stands wrong", func() {
		Expect(pool(APool(old(PendingFor(-time.Hour)), Anchored("old")), effects.Mirror)).To(HaveKeyWithValue(rotation.KeySurgeWait, "0s"))
	})
})

var _ = Describe("renew_anchor (§5.2 anchor semantics)", func() {
	It("takes over an anchor whose attempt was taken back, for the claim as it is now", func() {
		s := APool(old(), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "of before"))
		_, actions := after(s, effects.RenewAnchor)
		Expect(told(actions)).To(HaveExactElements("patch NodePool api: anchored-on=1"))
		Expect(actions[0]).To(SatisfyAll(HaveField("Anchored", "old"), HaveField("AnchoredOn", "of before")))
	})
	It("takes nothing over on a view of the claim that is older than the anchor", func() {
		Expect(asks(APool(old(OfVersion("9")), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "10")), effects.RenewAnchor)).To(BeEmpty())
		Expect(asks(APool(old(OfVersion("10")), Anchored("old"), PoolAnnotated(rotation.KeyAnchoredOn, "9")), effects.RenewAnchor)).To(
			HaveExactElements("patch NodePool api: anchored-on=10"))
	})
	It("leaves the anchor of an attempt that is under way, and of a claim that is gone", func() {
		torn := PoolAnnotated(rotation.KeyAnchoredOn, "of before")
		Expect(asks(APool(old(PendingFor(time.Minute)), Anchored("old"), torn), effects.RenewAnchor)).To(BeEmpty())
		Expect(asks(APool(old(DrainingFor(time.Minute)), Anchored("old"), torn), effects.RenewAnchor)).To(BeEmpty())
		Expect(asks(APool(Anchored("old"), torn), effects.RenewAnchor)).To(BeEmpty())
		Expect(asks(APool(old()), effects.RenewAnchor)).To(BeEmpty())
	})
})

var _ = Describe("record_success (§5.2 cooldown anchor)", func() {
	It("writes last-rotation-at on the pool", func() {
		Expect(asks(In("the drained claim is gone"), effects.RecordSuccess)).To(HaveExactElements("patch NodePool api: last-rotation-at=" + now))
	})
	It("replaces an earlier one, and repairs one that cannot be read", func() {
		Expect(pool(APool(Anchored("old"), Rotated(Day)), effects.RecordSuccess)).To(HaveKeyWithValue(rotation.KeyLastRotationAt, now))
		Expect(pool(APool(Anchored("old"), PoolAnnotated(rotation.KeyLastRotationAt, "?")), effects.RecordSuccess)).To(HaveKeyWithValue(rotation.KeyLastRotationAt, now))
	})
	It("is one write with the anchor's end (law outcome-recorded)", func() {
		_, actions := after(In("the drained claim is gone"), effects.RecordSuccess, effects.ClearAnchor)
		Expect(effects.Merge(actions)).To(HaveLen(1))
	})
})

var _ = DescribeTable("record_failure writes the later of last-failure-at and failed-at (§3.8)",
	func(failedAt ClaimFact, before Fact, expected string) {
		s := APool(old(InState(rotation.StateFailed), failedAt), Anchored("old"), before)
		Expect(pool(s, effects.RecordFailure)).To(HaveKeyWithValue(rotation.KeyLastFailureAt, expected))
	},
	Entry("the first failure", Failed(1, time.Minute), Anchored("old"), "2026-01-09T17:59:00Z"),
	Entry("a later failure", Failed(2, time.Minute), FailedLast(time.Hour), "2026-01-09T17:59:00Z"),
	Entry("a recovery that comes late never voids a pause", Failed(1, time.Hour), FailedLast(time.Minute), "2026-01-09T17:59:00Z"),
	Entry("one that cannot be read is repaired", Failed(1, time.Minute), PoolAnnotated(rotation.KeyLastFailureAt, "?"), "2026-01-09T17:59:00Z"),
	Entry("a failed-at that cannot be read counts as now", Annotated(rotation.KeyFailedAt, "?"), FailedLast(time.Hour), now),
	Entry("so does one that is missing", Annotated(rotation.KeyRetryCount, "1"), FailedLast(time.Hour), now),
)

var _ = Describe("clear_anchor (§5.3 clearing the anchor)", func() {
	everything := APool(old(), Anchored("old"), ByFallback(), Mirrored(time.Minute, time.Minute),
		Frozen(time.Hour), Rotated(Day), FailedLast(Day), PoolAnnotated("example.com/owner", "shop"))

	It("removes the whole rotation-scoped set in one patch, and nothing else", func() {
		s, actions := after(everything, effects.ClearAnchor)
		Expect(told(actions)).To(HaveLen(1))
		Expect(actions[0]).To(HaveField("Change.Set", BeEmpty()))
		Expect(actions[0]).To(HaveField("Change.Remove", ConsistOf(rotation.AnchorKeys())))
		Expect(actions[0]).To(HaveField("Anchored", "old"))
		Expect(s.Pool.Annotations).To(HaveLen(4))
		Expect(rotation.State(s)).To(Equal(rotation.StateIdle))
	})
	It("does so although only a companion is left", func() {
		Expect(asks(APool(Mirrored(0, 0)), effects.ClearAnchor)).To(HaveExactElements(
			"patch NodePool api: -active-rotation-state -draining-at -surge-wait"))
	})
	It("leaves the snapshot speaking of the rotation that ended", func() {
		s, _ := after(everything, effects.ClearAnchor)
		Expect(s.Anchor()).To(BeEmpty())
		Expect(s.SubjectName()).To(Equal("old"))
		Expect(s.AnchorValue(rotation.KeySurgeWait)).To(Equal("1m0s"))
	})
})
