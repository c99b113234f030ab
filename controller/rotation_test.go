// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/rotation"
)

var _ = Describe("One undisturbed rotation, pass by pass (§5.2)", func() {
	It("makes before it breaks, in at most twelve writes, and leaves nothing behind", func() {
		w := aFleet()
		total := 0
		passWrites := func(writes ...string) {
			GinkgoHelper()
			w.pass("api")
			Expect(w.server.wrote()).To(HaveExactElements(writes))
			total += len(writes)
		}

		By("starting in the window: the anchor first, then protection and the placeholder")
		passWrites(
			"pool: active-rotation=old anchored-on",
			"claim old: started-at state=pending",
			"node old: cordon cordoned do-not-disrupt do-not-disrupt-owned surge-for",
			"create the placeholder")
		Expect(w.leader.people.heard()).To(ConsistOf("RotationStarted NodePool/api"))
		Expect(w.node("old").Spec.Unschedulable).To(BeTrue())

		By("waiting while the replacement comes")
		w.clock.Step(30 * time.Second)
		passWrites()

		By("draining once the replacement stands: the mirror before the delete, the reservation handed over")
		w.thePlaceholderRunsOn("spare", "old")
		w.clock.Step(30 * time.Second)
		passWrites(
			"claim old: surge-claim=spare",
			"node spare: do-not-disrupt do-not-disrupt-owned surge-for",
			"pool: active-rotation-state=draining draining-at surge-wait",
			"claim old: state=draining",
			"delete claim old",
			"delete the placeholder")
		Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeySurgeWait, "1m0s"))

		By("waiting while the old node drains")
		w.clock.Step(30 * time.Second)
		passWrites()

		By("completing when the old claim is gone")
		w.theClaimFinalizes("old")
		w.clock.Step(30 * time.Second)
		passWrites(
			"node spare: -do-not-disrupt -do-not-disrupt-owned -surge-for",
			"pool: -active-rotation -active-rotation-state -anchored-on -draining-at -surge-wait last-rotation-at")
		Expect(w.leader.people.heard()).To(ConsistOf("RotationCompleted NodePool/api"))

		By("resting")
		passWrites()
		Expect(total).To(BeNumerically("<=", 12))
		Expect(w.shown()).To(Equal(map[string]string{
			"NodePool api": "last-rotation-at", "NodeClaim spare": "", "Node spare": "", "RotationPolicy weekly": "",
		}))
		Expect(w.leader.people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0),
			HaveKeyWithValue("noderotation_in_progress{api}", 0.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,surge_wait}", 1.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,drain}", 1.0)))
	})
})
