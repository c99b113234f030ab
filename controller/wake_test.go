// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("Waking up: the pass sleeps until a guard can next open, and not a poll longer", func() {
	// opening is when the window that openSaturday lies in opens.
	opening := openSaturday.Add(-time.Hour)
	// age is A of §3.2's first worked example.
	age := 5*day + 22*time.Hour + 43*time.Minute

	DescribeTable("an idle pool starts its rotation at the very moment that", func(arrange func(*world), after time.Duration) {
		w := aWorld()
		w.aPolicy("weekly")
		w.aPool("api")
		arrange(w)

		sleep := w.pass("api").RequeueAfter
		Expect(w.server.writes).To(BeEmpty())
		Expect(sleep).To(BeNumerically("~", after, time.Millisecond))
		w.clock.Step(sleep)
		w.pass("api")
		Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotation, "old"))
	},
		Entry("the window opens", func(w *world) {
			w.clock.SetTime(opening.Add(-47 * time.Second))
			w.aNode("old", "api", 10*day)
		}, 47*time.Second),
		Entry("a claim comes of age", func(w *world) { w.aNode("old", "api", age-31*time.Second) }, 31*time.Second),
		Entry("the cooldown ends", func(w *world) {
			w.aNode("old", "api", 10*day)
			w.theOperatorAnnotates("api", rotation.KeyLastRotationAt, rotation.FormatStamp(openSaturday.Add(-10*time.Minute+20*time.Second)))
		}, 20*time.Second),
		Entry("the pause after a failure ends", func(w *world) {
			w.aNode("old", "api", 10*day)
			w.theOperatorAnnotates("api", rotation.KeyLastFailureAt, rotation.FormatStamp(openSaturday.Add(-10*time.Minute+5*time.Second)))
		}, 5*time.Second),
		Entry("the backoff of the only candidate ends", func(w *world) {
			w.aNode("old", "api", 10*day)
			w.theClaimSays("old", rotation.KeyState, rotation.StateFailed)
			w.theClaimSays("old", rotation.KeyRetryCount, "2")
			w.theClaimSays("old", rotation.KeyFailedAt, rotation.FormatStamp(openSaturday.Add(-time.Hour+8*time.Second)))
		}, 8*time.Second),
		Entry("the freeze ends", func(w *world) {
			w.aNode("old", "api", 10*day)
			w.theOperatorAnnotates("api", rotation.KeyFreeze, rotation.FormatStamp(openSaturday.Add(12*time.Second)))
		}, 12*time.Second))

	It("starts a rotation at the very moment that a claim for which there is room overtakes one for which there is none (§3.3)", func() {
		w := aWorld()
		w.aPolicy("weekly")
		w.aPool("api")
		w.aNode("large", "api", 9*day)
		for _, name := range []string{"web-1", "web-2", "web-3", "web-4", "web-5"} {
			w.aWorkload(name, "large")
		}
		w.aNode("small", "api", 10*day)
		w.theClaimSays("small", rotation.KeyState, rotation.StateFailed)
		w.theClaimSays("small", rotation.KeyRetryCount, "1")
		w.theClaimSays("small", rotation.KeyFailedAt, rotation.FormatStamp(openSaturday.Add(-30*time.Minute+8*time.Second)))
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) {
			np.Spec.Limits = karpenterv1.Limits(quantities("cpu", "10"))
			np.Status.Resources = quantities("cpu", "8")
		})
		sleep := w.pass("api").RequeueAfter
		Expect(w.server.writes).To(BeEmpty())
		Expect(sleep).To(BeNumerically("~", 8*time.Second, time.Millisecond))
		w.clock.Step(sleep)
		w.pass("api")
		Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotation, "small"))
	})

	It("looks again within a minute where only the cluster can open a guard", func() {
		w := aWorld()
		w.aPool("api")
		Expect(w.pass("api").RequeueAfter).To(Equal(time.Minute))
	})

	It("rolls a rotation back right after its readyTimeout", func() {
		w := aFleet()
		w.pass("api")
		w.clock.Step(15*time.Minute - 3*time.Second)
		sleep := w.pass("api").RequeueAfter
		Expect(sleep).To(BeNumerically("~", 3*time.Second, time.Millisecond))
		w.clock.Step(sleep)
		w.pass("api")
		Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeyState, rotation.StateFailed))
	})

	It("tells of a stuck drain right after its bound, holds the gate, and completes when it ends (§5.2 stuck drain)", func() {
		w := aFleet()
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		w.leader.people.heard()
		w.clock.Step(time.Hour + 2*time.Minute - 7*time.Second)
		sleep := w.pass("api").RequeueAfter
		Expect(w.leader.people.heard()).To(BeEmpty())
		Expect(sleep).To(BeNumerically("~", 7*time.Second, time.Millisecond))

		w.clock.Step(sleep)
		w.pass("api")
		w.pass("api")
		Expect(w.leader.people.heard()).To(Equal([]string{"DrainStuck NodePool/api"}))
		Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotation, "old"))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_drain_stuck{api}", 1.0))

		w.theClaimFinalizes("old")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("last-rotation-at"))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_drain_stuck{api}", 0.0))
	})
})

var _ = Describe("The other ways that a rotation can go", func() {
	It("starts nothing without headroom, marks nothing, and tells it once (§3.3)", func() {
		w := aFleet()
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) {
			np.Spec.Limits = karpenterv1.Limits(quantities("nodes", "2"))
			np.Status.Resources = quantities("nodes", "2")
		})
		w.pass("api")
		w.pass("api")
		Expect(w.server.writes).To(BeEmpty())
		Expect(w.leader.people.heard()).To(Equal([]string{"InsufficientHeadroom NodePool/api"}))
	})

	It("holds a pending rotation while an operator's freeze lasts (§3.1)", func() {
		w := aFleet()
		w.pass("api")
		w.theOperatorAnnotates("api", rotation.KeyFreeze, rotation.FormatStamp(openSaturday.Add(5*time.Minute)))
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeySurgeClaim, "spare"))
		Expect(w.claim("old").DeletionTimestamp).To(BeNil())

		w.clock.Step(5 * time.Minute)
		w.pass("api")
		Expect(w.claim("old").DeletionTimestamp).NotTo(BeNil())
	})

	It("gives way to another hand that deletes the claim while it is pending (§5.2 force-expiry)", func() {
		w := aFleet()
		w.pass("api")
		w.anotherHandDeletes("old")
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", ""), HaveKeyWithValue("NodeClaim old", "state=expired going"),
			HaveKeyWithValue("Node old", ""), Not(HaveKey("Pod surge-for-old"))))
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(BeEmpty(), "expired is terminal")
	})

	It("deletes without a surge where the policy allows it and a surge no longer fits (§3.6)", func() {
		w := aWorld()
		w.aPolicy("weekly", func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ForcefulFallback.Enabled = true })
		w.aPool("api")
		w.aNode("old", "api", 14*day-time.Hour)
		w.pass("api")
		Expect(w.server.wrote()).To(Equal([]string{
			"pool: active-rotation-state=draining active-rotation=old anchored-on draining-at rotation-mode=forceful-fallback",
			"claim old: state=draining",
			"delete claim old",
		}))
		w.theClaimFinalizes("old")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("last-rotation-at"))
		Expect(w.leader.people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_forceful_fallback_total{api}", 1.0),
			HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0)))
	})

	It("reaps the node that it induced when the rotation times out, and nothing else (§3.8)", func() {
		w := aFleet()
		w.pass("api")
		w.aNode("induced", "api", 0)
		w.thePlaceholderRunsOn("induced", "old")
		change(w, w.node("induced"), "induced", nodeNotReady)
		w.pass("api")
		w.clock.Step(16 * time.Minute)
		w.server.wrote()
		w.pass("api")
		Expect(w.server.wrote()).To(Equal([]string{
			"confirm claim old", "delete claim induced",
			"delete the placeholder",
			"node old: -cordoned -do-not-disrupt -do-not-disrupt-owned -surge-for uncordon",
			"claim old: -started-at -surge-claim failed-at retry-count=1 state=failed",
			"pool: -active-rotation -anchored-on last-failure-at",
		}))
		Expect(w.claim("spare").DeletionTimestamp).To(BeNil())
	})
})
