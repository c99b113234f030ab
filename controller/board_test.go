// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// posted is what the leader's passes have put up about the pool.
func (w *world) posted(pool string) v1alpha1.NodePoolStatus {
	GinkgoHelper()
	entry, known := w.leader.reconciler.Board.Entry(pool)
	Expect(known).To(BeTrue())
	return entry
}

var _ = Describe("What the passes post about a pool for the status of its policy (§5.4)", func() {
	It("follows the rotation in words", func() {
		w := aFleet()
		w.clock.SetTime(openSaturday.Add(-2 * time.Hour))
		w.pass("api")
		Expect(w.posted("api")).To(SatisfyAll(
			HaveField("Phase", "idle"), HaveField("Candidates", int32(1)), HaveField("BlockedBy", "in_window"),
			HaveField("Message", "the window opens Sat 2026-01-10 02:00:00 Asia/Tokyo"),
			HaveField("NextWindow.Time", BeTemporally("==", openSaturday.Add(-time.Hour))),
			HaveField("NextDeadline.Time", BeTemporally("==", openSaturday.Add(4*day)))))

		w.clock.SetTime(openSaturday)
		w.pass("api")
		w.pass("api")
		Expect(w.posted("api")).To(SatisfyAll(
			HaveField("Phase", "pending"), HaveField("BlockedBy", ""),
			HaveField("Message", "placeholder surge-for-old has no node yet: the scheduler has not judged it yet; "+
				"the replacement has until Fri 2026-01-09 18:15:00 UTC"),
			HaveField("NextWindow.Time", BeTemporally("==", openSaturday.Add(-time.Hour+4*day)))), "the next window is one that has not begun")

		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		w.pass("api")
		Expect(w.posted("api")).To(SatisfyAll(
			HaveField("Phase", "draining"), HaveField("BlockedBy", ""),
			HaveField("Message", "NodeClaim old exists; the drain of NodeClaim old may last until Fri 2026-01-09 19:02:00 UTC")))

		w.clock.Step(2 * time.Hour)
		w.pass("api")
		Expect(w.posted("api").Message).To(Equal("the drain of NodeClaim old should have ended Fri 2026-01-09 19:02:00 UTC"))

		w.theClaimFinalizes("old")
		w.pass("api")
		w.pass("api")
		Expect(w.posted("api")).To(SatisfyAll(HaveField("Phase", "idle"), HaveField("BlockedBy", "cooldown_elapsed")))
	})

	It("stays the same as time goes by, and is told on only when it changes", func() {
		w := aFleet()
		w.clock.SetTime(openSaturday.Add(-day))
		told := []string{}
		w.leader.reconciler.Board.Subscribe(func(policy string) { told = append(told, policy) })
		w.pass("api")
		for range 20 {
			w.clock.Step(time.Minute)
			w.pass("api")
		}
		Expect(told).To(Equal([]string{"weekly"}))
		w.theOperatorAnnotates("api", rotation.KeyLastRotationAt, rotation.FormatStamp(w.clock.Now()))
		w.pass("api")
		Expect(told).To(HaveLen(1), "the window comes first")
		w.aNode("older", "api", 11*day)
		w.pass("api")
		Expect(told).To(Equal([]string{"weekly", "weekly"}))
	})

	It("names the policy that the pool was taken from too", func() {
		w := aFleet()
		var told []string
		w.clock.SetTime(openSaturday.Add(-day))
		w.pass("api")
		w.leader.reconciler.Board.Subscribe(func(policy string) { told = append(told, policy) })
		Expect(w.server.hand.Delete(w.ctx, policyNamed("weekly"))).To(Succeed())
		w.aPolicy("nightly")
		w.pass("api")
		Expect(told).To(Equal([]string{"nightly", "weekly"}))

		By("telling everybody where none governs it any more")
		Expect(w.server.hand.Delete(w.ctx, policyNamed("nightly"))).To(Succeed())
		w.pass("api")
		Expect(told).To(HaveExactElements("nightly", "weekly", ""))
		Expect(w.posted("api")).To(SatisfyAll(HaveField("BlockedBy", "governed"), HaveField("NextWindow", BeNil())))
	})

	It("says what is wrong where nothing can be decided", func() {
		w := aFleet()
		w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "old")
		w.theClaimSays("old", rotation.KeyState, "paused")
		w.pass("api")
		Expect(w.posted("api")).To(SatisfyAll(HaveField("Phase", ""), HaveField("Message", ContainSubstring(`"paused"`))))
	})

	It("goes with the pool", func() {
		w := aFleet()
		w.pass("api")
		w.pass("api")
		Expect(w.server.hand.Delete(w.ctx, w.pool("api"))).To(Succeed())
		w.pass("api")
		_, known := w.leader.reconciler.Board.Entry("api")
		Expect(known).To(BeFalse())
	})
})
