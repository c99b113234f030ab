// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A pool that leaves governance in mid-rotation (§5.4)", func() {
	var w *world
	BeforeEach(func() {
		w = aFleet()
		change(w, &corev1.Node{}, "spare", func(n *corev1.Node) {
			n.Annotations = map[string]string{rotation.KeyDoNotDisrupt: "true"}
			n.Spec.Unschedulable = true
		})
		w.pass("api")
		Expect(w.leader.people.heard()).To(ContainElement("RotationStarted NodePool/api"))
	})

	policyGone := func() { Expect(w.server.hand.Delete(w.ctx, policyNamed("weekly"))).To(Succeed()) }
	DescribeTable("is rolled back: everything of ours goes, everything of an operator's stays, the node may be rotated later", func(lose func(), conflict bool) {
		lose()
		w.pass("api")
		shown := w.shown()
		Expect(shown).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", ""), HaveKeyWithValue("NodeClaim old", "released-at"), HaveKeyWithValue("Node old", ""),
			HaveKeyWithValue("Node spare", "do-not-disrupt cordoned-off"), Not(HaveKey("Pod surge-for-old"))))
		heard := w.leader.people.heard()
		Expect(heard).To(ContainElement("GovernanceLost NodePool/api"))
		Expect(slices.Contains(heard, "PolicyConflict NodePool/api")).To(Equal(conflict))

		By("starting no other rotation, and telling nothing twice")
		w.server.wrote()
		w.pass("api")
		Expect(w.server.writes).To(BeEmpty())
		Expect(w.leader.people.heard()).To(BeEmpty())
	},
		Entry("its policy is deleted", func() { policyGone() }, false),
		Entry("two policies tie", func() { w.aPolicy("another") }, true),
		Entry("its policy becomes Invalid", func() {
			policyGone()
			w.aPolicy("weekly", func(p *v1alpha1.RotationPolicy) { p.Spec.MaintenanceWindows[0].Timezone = "Mars/Olympus" })
		}, false))

	It("is rotated again when the policy returns", func() {
		policyGone()
		w.pass("api")
		w.aPolicy("weekly")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=old anchored-on"))
	})

	It("lets a drain that has begun go on, and starts no other beside it", func() {
		change(w, &corev1.Node{}, "spare", func(n *corev1.Node) { n.Spec.Unschedulable = false })
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		Expect(w.claim("old").DeletionTimestamp).NotTo(BeNil())
		w.aNode("older", "api", 11*day)
		policyGone()
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(BeEmpty())

		w.aPolicy("weekly")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(BeEmpty(), "the deleted claim still drains")
		w.theClaimFinalizes("old")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=older anchored-on"))
	})
})

var _ = Describe("A NodePool deleted while anchored (§3.8)", func() {
	It("leaves nothing of ours behind, and nothing of another pool's is touched", func() {
		w := aFleet()
		w.aPool("web")
		w.aNode("web-old", "web", 10*day)
		w.pass("web")
		w.pass("api")
		w.server.wrote()
		Expect(w.server.hand.Delete(w.ctx, w.pool("api"))).To(Succeed())

		Expect(w.pass("api").RequeueAfter).To(BeZero())
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("Node old", ""), Not(HaveKey("Pod surge-for-old")), HaveKey("Pod surge-for-web-old"),
			HaveKeyWithValue("NodePool web", "active-rotation=web-old anchored-on"),
			HaveKeyWithValue("Node web-old", "cordoned do-not-disrupt do-not-disrupt-owned surge-for cordoned-off")))
		Expect(w.leader.people.metrics()).NotTo(HaveKey("noderotation_in_progress{api}"))
	})

	It("is tried again while something refuses to go: no other pass will come by", func() {
		w := aFleet()
		w.pass("api")
		Expect(w.server.hand.Delete(w.ctx, w.pool("api"))).To(Succeed())
		refusal := apierrors.NewInternalError(errors.New("etcd is away"))
		w.server.judge = func(next write) verdict {
			if strings.HasPrefix(next.Meaning, "delete the placeholder") {
				return verdict{Lost: true, Answer: refusal}
			}
			return verdict{}
		}
		_, err := w.leader.pass("api")
		Expect(err).To(MatchError(refusal))
		Expect(w.shown()["Node old"]).To(BeEmpty(), "one refusal does not stop the others")

		w.server.judge = nil
		w.clock.Step(11 * time.Second) // whether it took effect all the same would show by then
		w.pass("api")
		Expect(w.placeholder("old")).To(BeNil())
	})
})

var _ = Describe("Values outside the contract (architecture.md, unreadable and absent values)", func() {
	var w *world
	BeforeEach(func() {
		w = aFleet()
		w.aPool("web")
		w.aNode("web-old", "web", 10*day)
	})

	DescribeTable("hold the pool still, are told once, and leave other pools alone", func(spoil, mend func()) {
		w.pass("api")
		w.server.wrote()
		w.leader.people.heard()
		spoil()
		for range 3 {
			Expect(w.pass("api").RequeueAfter).To(Equal(time.Minute))
		}
		Expect(w.server.writes).To(BeEmpty())
		Expect(w.leader.people.heard()).To(Equal([]string{"AnnotationUnreadable NodePool/api"}))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_stalled{api}", 1.0))

		w.pass("web")
		Expect(w.shown()["NodePool web"]).To(Equal("active-rotation=web-old anchored-on"))

		By("going on once a person has mended it")
		mend()
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		Expect(w.claim("old").DeletionTimestamp).NotTo(BeNil())
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_stalled{api}", 0.0))
	},
		Entry("a state of the claim",
			func() { w.theClaimSays("old", rotation.KeyState, "paused") },
			func() { w.theClaimSays("old", rotation.KeyState, rotation.StatePending) }),
		Entry("a rotation-mode of the pool",
			func() { w.theOperatorAnnotates("api", rotation.KeyRotationMode, "gentle") },
			func() { w.theOperatorAnnotates("api", rotation.KeyRotationMode, "") }))

	DescribeTable("of the pool are on the safe side: no rotation starts", func(key, reason string) {
		w.theOperatorAnnotates("api", key, "yesterday")
		w.pass("api")
		w.pass("api")
		Expect(w.server.writes).To(BeEmpty())
		Expect(w.leader.people.heard()).To(Equal([]string{reason + " NodePool/api"}))
	},
		Entry("freeze", rotation.KeyFreeze, "FreezeUnreadable"),
		Entry("last-rotation-at", rotation.KeyLastRotationAt, "AnnotationUnreadable"),
		Entry("last-failure-at", rotation.KeyLastFailureAt, "AnnotationUnreadable"))

	DescribeTable("of a claim keep that claim from being chosen, and no other", func(key, value string, others map[string]string) {
		w.aNode("next", "api", 9*day)
		for other, says := range others {
			w.theClaimSays("old", other, says)
		}
		w.theClaimSays("old", key, value)
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=next anchored-on"))
		Expect(w.leader.people.heard()).To(ContainElement("AnnotationUnreadable NodeClaim/old"))
	},
		Entry("state", rotation.KeyState, "paused", nil),
		Entry("failed-at", rotation.KeyFailedAt, "monday", map[string]string{rotation.KeyState: rotation.StateFailed}),
		Entry("retry-count", rotation.KeyRetryCount, "many", map[string]string{
			rotation.KeyState: rotation.StateFailed, rotation.KeyFailedAt: "2026-01-01T00:00:00Z"}))

	It("in started-at end the attempt: back to the status quo, and the next write repairs it", func() {
		w.pass("api")
		w.theClaimSays("old", rotation.KeyStartedAt, "noon")
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", "last-failure-at"), HaveKeyWithValue("Node old", ""), Not(HaveKey("Pod surge-for-old")),
			HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed")))
	})

	It("in draining-at cost a duration, and no rotation", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		w.theOperatorAnnotates("api", rotation.KeyDrainingAt, "noon")
		w.theClaimFinalizes("old")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("last-rotation-at"))
		Expect(w.leader.people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,drain}", 0.0)))
	})
})

var _ = Describe("A fleet with something missing", func() {
	It("passes over a claim that has no node, tells it once, and takes the next", func() {
		w := aFleet()
		w.aNode("lost", "api", 12*day, func(nc *karpenterv1.NodeClaim) { nc.Status.NodeName = "" })
		w.aPool("web")
		w.aNode("other", "web", 10*day)
		w.pass("api")
		w.pass("api")
		w.pass("web")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=old anchored-on"))
		Expect(w.shown()["NodePool web"]).To(Equal("active-rotation=other anchored-on"))
		Expect(w.leader.people.heard()).To(ConsistOf(
			"RotationStarted NodePool/api", "NodeUnknown NodeClaim/lost", "RotationStarted NodePool/web"))
	})

	It("tells nobody to delete a claim that is being rotated, though its node is gone", func() {
		w := aFleet()
		w.pass("api")
		Expect(w.server.hand.Delete(w.ctx, w.node("old"))).To(Succeed())
		w.pass("api")
		Expect(w.leader.people.heard()).To(Equal([]string{"RotationStarted NodePool/api"}))
	})

	It("tells of a policy that cannot be read on each of its pools, once, whether or not a rotation was under way", func() {
		w := aWorld()
		w.aPolicy("weekly", func(p *v1alpha1.RotationPolicy) {
			p.Spec.NodePoolSelector.MatchLabels = map[string]string{"workload": "api"}
			p.Spec.MaintenanceWindows[0].Timezone = "Mars/Olympus"
			p.Spec.AgeThreshold = "soon"
		})
		w.aPolicy("others", func(p *v1alpha1.RotationPolicy) {
			p.Spec.NodePoolSelector.MatchLabels = map[string]string{"workload": "web"}
		})
		w.aPool("api")
		w.aNode("old", "api", 10*day)
		w.aPool("web")
		w.aNode("other", "web", 10*day)
		for range 3 {
			w.pass("api")
		}
		w.pass("web")
		Expect(w.leader.people.events[0].note).To(And(ContainSubstring("Mars/Olympus"), ContainSubstring("soon")))
		Expect(w.leader.people.heard()).To(Equal([]string{"InvalidSpec NodePool/api", "RotationStarted NodePool/web"}))
		Expect(w.shown()["NodePool api"]).To(BeEmpty())
	})

	It("tells once that a node lacks the label of a zone that its replacement is to share", func() {
		w := aFleet()
		change(w, &corev1.Node{}, "old", func(n *corev1.Node) { delete(n.Labels, corev1.LabelTopologyZone) })
		w.pass("api")
		w.pass("api")
		Expect(w.leader.people.heard()).To(Equal([]string{"RotationStarted NodePool/api", "LabelUnknown NodeClaim/old"}))
		Expect(w.placeholder("old")).NotTo(BeNil())
	})

	It("holds a rotation whose node's labels are gone until it times out, and takes everything back", func() {
		w := aFleet()
		w.pass("api")
		change(w, &corev1.Node{}, "old", func(n *corev1.Node) { n.Labels = nil })
		w.pass("api")
		w.clock.Step(16 * time.Minute)
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed"),
			HaveKeyWithValue("Node old", ""), HaveKeyWithValue("NodePool api", "last-failure-at")))
	})

	It("does not take a node without labels for a surge host", func() {
		w := aFleet()
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		change(w, &corev1.Node{}, "spare", func(n *corev1.Node) { n.Labels = nil })
		w.pass("api")
		Expect(w.claim("old").DeletionTimestamp).To(BeNil())
	})

	It("records a claim that was finalized while nobody watched as expired, without a cooldown (§5.2 late path)", func() {
		w := aFleet()
		w.pass("api")
		w.anotherHandDeletes("old")
		w.theClaimFinalizes("old")
		w.aNewLeader()
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(BeEmpty())
		Expect(w.placeholder("old")).To(BeNil())
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,expired}", 1.0))
	})
})

var _ = Describe("A write that the API server refuses for good", func() {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "surge-for-old", errors.New("exceeded quota"))
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "surge-for-old", nil)
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec"}}
	deniedWith := func(code int32, reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: code, Reason: reason, Message: `admission webhook "pods" denied the request: no owner`}}
	}
	invalidByWebhook := deniedWith(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	nowhere := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "noderotation-system")

	DescribeTable("is told once, fails every pass for the queue to retry, and still times out (§3.8)", func(refusal error) {
		w := aFleet()
		w.server.judge = func(next write) verdict {
			if next.Meaning == "create the placeholder" {
				return verdict{Lost: true, Answer: refusal}
			}
			return verdict{}
		}
		for range 3 {
			_, err := w.leader.pass("api")
			Expect(err).To(MatchError(And(ContainSubstring("create Pod noderotation-system/surge-for-old"), ContainSubstring(refusal.Error()))))
		}
		Expect(w.leader.people.heard()).To(Equal([]string{"WriteRefused NodePool/api"}))

		w.clock.Step(16 * time.Minute)
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", "last-failure-at"), HaveKeyWithValue("Node old", ""),
			HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed")))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,failure}", 1.0))
	},
		Entry("Forbidden", forbidden), Entry("Invalid, with its causes", invalid), Entry("Invalid, by a webhook that gives no cause", invalidByWebhook),
		Entry("by a webhook that gives no reason", deniedWith(http.StatusBadRequest, "")),
		Entry("for want of the namespace", nowhere))

	It("is told where a webhook refuses a patch, whose answer has no cause either", func() {
		w := aFleet()
		w.server.judge = func(next write) verdict {
			if strings.HasPrefix(next.Meaning, "node old") {
				return verdict{Lost: true, Answer: invalidByWebhook}
			}
			return verdict{}
		}
		_, err := w.leader.pass("api")
		Expect(err).To(MatchError(ContainSubstring("denied the request")))
		Expect(w.leader.people.heard()).To(Equal([]string{"WriteRefused NodePool/api"}))
	})

	It("is told by a person's words when no placeholder can be built at all", func() {
		w := aFleet()
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) {
			np.Spec.Template.Spec.Requirements = []karpenterv1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelTopologyZone, Operator: "Near", Values: []string{"zone-a"}}}
		})
		Expect(w.pass("api").RequeueAfter).To(BeNumerically(">", time.Second))
		w.pass("api")
		Expect(w.leader.people.heard()).To(Equal([]string{"PlaceholderInvalid NodePool/api"}))
		Expect(w.server.writes).To(BeEmpty(), "a row is planned completely before its first write")
	})
})

func policyNamed(name string) *v1alpha1.RotationPolicy {
	return &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
