// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A NodePool that has lost its anchor to another hand (§5.3)", func() {
	var w *world
	BeforeEach(func() { w = aFleet() })

	// replaced is what `kubectl replace` makes of the NodePool: every annotation is gone.
	replaced := func() {
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) { np.Annotations = nil })
		w.server.wrote()
	}

	It("is cleaned up by its next pass, which fails the attempt and tells a person; the node is rotated after its backoff", func() {
		w.pass("api")
		replaced()
		w.pass("api")
		Expect(w.placeholder("old")).To(BeNil())
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", "last-failure-at"), HaveKeyWithValue("Node old", ""),
			HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed")))
		Expect(w.leader.people.heard()).To(ContainElement("RotationFailed NodeClaim/old"))

		w.server.wrote()
		w.pass("api")
		Expect(w.server.writes).To(BeEmpty(), "the backoff runs")
	})

	It("loses what marks the replacement of a drain that is over", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		replaced()
		w.theClaimFinalizes("old")
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(HaveKeyWithValue("NodePool api", ""), HaveKeyWithValue("Node spare", "")))
	})

	It("keeps the replacement of a drain that goes on protected until it is over, and starts nothing beside it", func() {
		w.aNode("next", "api", 9*day)
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		replaced()
		w.pass("api")
		w.pass("api")
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("NodePool api", "last-failure-at"),
			HaveKeyWithValue("Node spare", "do-not-disrupt do-not-disrupt-owned surge-for"),
			HaveKeyWithValue("NodeClaim old", "failed-at released-at retry-count=1 state=failed going")))
		told := func(e heardEvent) string { return e.note }
		Expect(w.leader.people.events).To(ContainElement(WithTransform(told, ContainSubstring("its drain goes on, and no other node of the pool is rotated"))))
	})

	It("pauses as after any failure: whoever takes the anchors away cannot have one node after the other begun", func() {
		w.aNode("next", "api", 9*day)
		w.pass("api")
		replaced()
		w.pass("api")
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("last-failure-at"))
		w.clock.Step(11 * time.Minute)
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=next anchored-on last-failure-at"))
	})

	It("loses the companions of the anchor too: the next rotation would drain without a surge", func() {
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) {
			np.Annotations = map[string]string{
				rotation.KeyRotationMode: rotation.ModeForcefulFallback, rotation.KeyActiveRotationState: rotation.StateDraining,
				rotation.KeyDrainingAt: "2026-01-09T17:00:00Z",
			}
		})
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(BeEmpty())
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=old anchored-on"))
		Expect(w.shown()["NodeClaim old"]).To(HavePrefix("started-at state=pending"))
	})

	It("loses a placeholder that an overtaken leader has created late", func() {
		w.exists(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rotation.PlaceholderName("gone"), Labels: rotation.PlaceholderLabels(),
				Annotations: map[string]string{rotation.KeySurgeFor: "gone"}},
			Spec: corev1.PodSpec{NodeSelector: map[string]string{rotation.LabelNodePool: "api"}},
		})
		w.pass("api")
		Expect(w.placeholder("gone")).To(BeNil())
	})

	It("is rotated although something that is left cannot be removed", func() {
		change(w, &corev1.Node{}, "spare", func(n *corev1.Node) {
			n.Annotations = map[string]string{rotation.KeySurgeFor: "gone", rotation.KeyDoNotDisrupt: "true", rotation.KeyDoNotDisruptOwned: "true"}
		})
		w.server.judge = func(next write) verdict {
			if strings.HasPrefix(next.Meaning, "node spare") {
				return verdict{Lost: true, Answer: apierrors.NewForbidden(corev1.Resource("nodes"), "spare", errors.New("not by you"))}
			}
			return verdict{}
		}
		w.pass("api")
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=old anchored-on"))
	})

	It("is left alone while another leader's anchor is not in the cache yet", func() {
		w.theWatchesFallSilent("NodePool")
		w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "old")
		w.theClaimSays("old", rotation.KeyState, rotation.StatePending)
		w.server.wrote()
		w.pass("api")
		Expect(w.server.writes).To(BeEmpty())
	})
})
