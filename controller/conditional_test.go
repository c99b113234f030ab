// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// afterConflict is what a pass asks for that was overtaken.
const afterConflict = 200 * time.Millisecond

var _ = Describe("Conditional writes (architecture.md)", func() {
	var w *world
	BeforeEach(func() { w = aFleet() })

	// justBefore has somebody else be faster than the write with this meaning.
	justBefore := func(meaning string, act func()) {
		done := false
		w.server.before = func(next write) {
			if next.Meaning == meaning && !done {
				done = true
				act()
			}
		}
		DeferCleanup(func() { Expect(done).To(BeTrue(), "the write %q was never asked for", meaning) })
	}

	Context("the anchor", func() {
		const anchoring = "pool: active-rotation=old anchored-on"

		It("is refused when another leader anchored first: the serial gate", func() {
			justBefore(anchoring, func() { w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "spare") })
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotation, "spare"))
			Expect(w.server.wrote()).To(BeEmpty())
			Expect(w.claim("old").Annotations).To(BeEmpty())
		})

		It("is refused when anything about the pool changed since it was decided on, and comes with the next pass", func() {
			justBefore(anchoring, func() { w.theOperatorAnnotates("api", rotation.KeyFreeze, "2026-02-01T00:00:00Z") })
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			Expect(w.pass("api").RequeueAfter).To(BeNumerically(">", time.Second))
			Expect(w.shown()["NodePool api"]).To(Equal("freeze"), "the operator's freeze counts")
		})
	})

	Context("later writes of the pool", func() {
		BeforeEach(func() {
			w.pass("api")
			w.thePlaceholderRunsOn("spare", "old")
			w.server.wrote()
		})
		const mirroring = "pool: active-rotation-state=draining draining-at surge-wait"

		It("go through while Karpenter updates the pool's status", func() {
			justBefore(mirroring, func() { w.karpenterReports("api") })
			w.pass("api")
			Expect(w.server.wrote()).To(ContainElements(mirroring, "delete claim old"))
			Expect(w.pool("api").Status.Resources).To(HaveKey(corev1.ResourceName("nodes")))
		})

		It("are refused once the anchor names another claim, and nothing is deleted", func() {
			justBefore(mirroring, func() { w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "spare") })
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			Expect(w.pool("api").Annotations).NotTo(HaveKey(rotation.KeyActiveRotationState))
			Expect(w.claim("old").DeletionTimestamp).To(BeNil())
		})

		It("are refused once the anchor is gone: a deposed leader can't finish what was rolled back", func() {
			justBefore(mirroring, func() { w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "") })
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			Expect(w.claim("old").DeletionTimestamp).To(BeNil())
		})

		It("are refused on another NodePool of the same name", func() {
			justBefore(mirroring, func() {
				stranger := w.pool("api").DeepCopy()
				Expect(w.server.hand.Delete(w.ctx, w.pool("api"))).To(Succeed())
				stranger.UID, stranger.ResourceVersion = "another", ""
				w.exists(stranger)
			})
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			Expect(w.pool("api").Annotations).NotTo(HaveKey(rotation.KeyActiveRotationState))
		})
	})

	It("has a claim's patch refused when the claim changed in between, and repairs it in the next pass", func() {
		justBefore("claim old: started-at state=pending", func() { w.theClaimSays("old", "karpenter.sh/nodeclaim-hash", "2") })
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(Equal([]string{"pool: active-rotation=old anchored-on"}))

		w.pass("api")
		Expect(w.server.wrote()).To(Equal([]string{
			"pool: anchored-on",
			"claim old: started-at state=pending",
			"node old: cordon cordoned do-not-disrupt do-not-disrupt-owned surge-for",
			"create the placeholder",
		}))
	})

	It("builds a claim's second patch of a pass on the answer to the first, and only on that", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		justBefore("claim old: state=draining", func() { w.theClaimSays("old", rotation.KeyState, rotation.StateFailed) })
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeyState, rotation.StateFailed))
		Expect(w.claim("old").DeletionTimestamp).To(BeNil())
	})

	Context("the old node's patch", func() {
		const holding = "node old: cordon cordoned do-not-disrupt do-not-disrupt-owned surge-for"

		It("is refused when an operator cordons in between; the cordon stays the operator's to the end (§3.4)", func() {
			justBefore(holding, func() {
				change(w, &corev1.Node{}, "old", func(n *corev1.Node) { n.Spec.Unschedulable = true })
			})
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			w.pass("api")
			Expect(w.node("old").Annotations).NotTo(HaveKey(rotation.KeyCordoned))

			w.clock.Step(16 * time.Minute)
			w.pass("api")
			Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeyState, rotation.StateFailed))
			Expect(w.node("old").Spec.Unschedulable).To(BeTrue())
			Expect(w.node("old").Annotations).To(BeEmpty())
		})

		DescribeTable("is refused when an operator protects in between; the protection stays the operator's to the end (§3.4)", func(before, after map[string]string) {
			annotate := func(annotations map[string]string) {
				change(w, &corev1.Node{}, "old", func(n *corev1.Node) { n.Annotations = annotations })
			}
			annotate(before)
			justBefore(holding, func() { annotate(after) })
			Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
			w.pass("api")
			w.clock.Step(16 * time.Minute)
			w.pass("api")
			Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeyState, rotation.StateFailed))
			Expect(w.node("old").Annotations).To(Equal(after))
		},
			Entry("on a node without annotations", nil, map[string]string{rotation.KeyDoNotDisrupt: "true"}),
			Entry("on a node that has some", map[string]string{"theirs": "1"}, map[string]string{"theirs": "1", rotation.KeyDoNotDisrupt: "true"}))

		It("goes through while the kubelet reports and others annotate", func() {
			change(w, &corev1.Node{}, "old", func(n *corev1.Node) { n.Annotations = map[string]string{"theirs": "1"} })
			justBefore(holding, func() {
				change(w, &corev1.Node{}, "old", func(n *corev1.Node) {
					n.Annotations["theirs"] = "2"
					n.Status.Conditions[0].Message = "kubelet is posting ready status"
				})
			})
			w.pass("api")
			Expect(w.server.wrote()).To(ContainElement(holding))
			Expect(w.node("old").Annotations).To(HaveKeyWithValue("theirs", "2"))
		})
	})

	It("does not delete a claim that another leader has taken back meanwhile", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		justBefore("delete claim old", func() { w.theClaimSays("old", rotation.KeyReleasedAt, "2026-01-09T18:00:00Z") })
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.claim("old").DeletionTimestamp).To(BeNil())
	})

	It("does not write to a later attempt at the same claim", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		justBefore("pool: active-rotation-state=draining draining-at surge-wait", func() {
			w.theOperatorAnnotates("api", rotation.KeyAnchoredOn, "the version of another attempt")
		})
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.pool("api").Annotations).NotTo(HaveKey(rotation.KeyActiveRotationState))
		Expect(w.claim("old").DeletionTimestamp).To(BeNil())
	})

	It("never deletes another claim of the same name", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		var successor *karpenterv1.NodeClaim
		justBefore("delete claim old", func() {
			w.anotherHandDeletes("old")
			w.theClaimFinalizes("old")
			w.aNode("old", "api", 0)
			successor = w.claim("old")
		})
		w.pass("api")
		Expect(w.claim("old")).To(Equal(successor))
	})

	It("never deletes another placeholder of the same name", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		justBefore("delete the placeholder", func() {
			pod := w.placeholder("old")
			Expect(w.server.hand.Delete(w.ctx, pod)).To(Succeed())
			pod.UID, pod.ResourceVersion = "another", ""
			w.exists(pod)
		})
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.placeholder("old")).NotTo(BeNil())
	})

	DescribeTable("tells of a Pod that has the placeholder's name and is none of ours, and leaves it alone", func(edit func(*corev1.Pod)) {
		w.pass("api")
		stranger := w.placeholder("old").DeepCopy()
		Expect(w.server.hand.Delete(w.ctx, w.placeholder("old"))).To(Succeed())
		stranger.UID, stranger.ResourceVersion = "theirs", ""
		edit(stranger)
		w.exists(stranger)
		w.leader.people.heard()
		w.clock.Step(11 * time.Second)
		for range 2 {
			_, err := w.leader.pass("api")
			Expect(err).To(MatchError(ContainSubstring("create Pod noderotation-system/surge-for-old: another Pod has this name")))
		}
		Expect(w.leader.people.heard()).To(Equal([]string{"WriteRefused NodePool/api"}))
		Expect(w.placeholder("old").UID).To(BeEquivalentTo("theirs"))
	},
		Entry("somebody's own", func(p *corev1.Pod) { p.Labels, p.Annotations = nil, nil }),
		Entry("one that has lost its labels", func(p *corev1.Pod) { p.Labels = nil }))

	It("takes a placeholder that exists already for its own, and one that is gone already for deleted", func() {
		w.theWatchesFallSilent("Pod")
		w.pass("api")
		w.clock.Step(11 * time.Second)
		w.pass("api")
		Expect(w.server.writes).To(HaveLen(6))
		Expect(w.server.wrote()).To(SatisfyAll(HaveLen(5), ContainElement("confirm claim old")), "to create the placeholder again is refused, and no error")

		w.theWatchesCatchUp()
		w.thePlaceholderRunsOn("spare", "old")
		justBefore("delete the placeholder", func() { Expect(w.server.hand.Delete(w.ctx, w.placeholder("old"))).To(Succeed()) })
		Expect(w.pass("api").RequeueAfter).NotTo(Equal(afterConflict))
	})

	It("stops at the first error, counts what was accepted, and says which action it was", func() {
		w.pass("api")
		applier := w.leader.reconciler.Applier
		stale := rotation.Object{Name: "old", UID: w.claim("old").UID, ResourceVersion: "1"}
		pool := rotation.Object{Name: "api", UID: w.pool("api").UID}
		on := w.pool("api").Annotations[rotation.KeyAnchoredOn]
		writes, err := applier.Apply(w.leader.ctx, "api", w.clock.Now(), []effects.Action{
			effects.PatchPool{Pool: pool, Anchored: "old", AnchoredOn: on, Change: effects.Change{Set: map[string]string{"a": "1"}}},
			effects.PatchPool{Pool: pool, Anchored: "old", AnchoredOn: on, Change: effects.Change{Set: map[string]string{"b": "2"}}},
			effects.PatchClaim{Claim: stale, Change: effects.Change{Set: map[string]string{"c": "3"}}},
			effects.PatchNode{Node: w.node("old"), Unschedulable: ptr.To(false)},
		})
		Expect(writes).To(Equal(1), "adjacent patches of one object are one request")
		Expect(apierrors.IsConflict(err)).To(BeTrue())
		Expect(err).To(MatchError(HavePrefix("patch NodeClaim old: c=3")))
		Expect(w.node("old").Spec.Unschedulable).To(BeTrue())
	})
})
