// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The startup sweep (§5.3)", func() {
	var w *world
	BeforeEach(func() { w = aFleet() })

	marked := func(node string, annotations map[string]string, cordoned bool) {
		change(w, &corev1.Node{}, node, func(n *corev1.Node) { n.Annotations, n.Spec.Unschedulable = annotations, cordoned })
	}
	placeholderFor := func(claim string) {
		w.exists(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rotation.PlaceholderName(claim), Labels: rotation.PlaceholderLabels(),
				Annotations: map[string]string{rotation.KeySurgeFor: claim}},
			Spec: corev1.PodSpec{NodeSelector: map[string]string{rotation.LabelNodePool: "api"}},
		})
	}

	It("finds nothing to do in a clean cluster", func() {
		w.aNewLeader()
		Expect(w.server.writes).To(BeEmpty())
	})

	It("leaves an anchored rotation to its pool's passes, at every point of it", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.server.wrote()
		w.aNewLeader()
		Expect(w.server.writes).To(BeEmpty())
		w.pass("api")
		w.server.wrote()
		w.aNewLeader()
		Expect(w.server.writes).To(BeEmpty())
	})

	It("deletes placeholders that no anchor references", func() {
		placeholderFor("gone")
		placeholderFor("old")
		w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "old")
		w.aNewLeader()
		Expect(w.placeholder("gone")).To(BeNil())
		Expect(w.placeholder("old")).NotTo(BeNil())
	})

	It("takes back what our markers own of a node, and only that", func() {
		ours := map[string]string{rotation.KeySurgeFor: "gone", rotation.KeyDoNotDisrupt: "true", rotation.KeyDoNotDisruptOwned: "true", rotation.KeyCordoned: "true"}
		marked("old", ours, true)
		marked("spare", map[string]string{rotation.KeySurgeFor: "gone", rotation.KeyDoNotDisrupt: "true", "theirs": "1"}, true)
		w.aNewLeader()
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("Node old", ""), HaveKeyWithValue("Node spare", "do-not-disrupt theirs cordoned-off")))
	})

	It("uncordons by a lone cordoned marker, unless the node's claim is anchored", func() {
		marked("old", map[string]string{rotation.KeyCordoned: "true"}, true)
		marked("spare", map[string]string{rotation.KeyCordoned: "true"}, true)
		w.theOperatorAnnotates("api", rotation.KeyActiveRotation, "spare")
		w.aNewLeader()
		Expect(w.shown()).To(SatisfyAll(
			HaveKeyWithValue("Node old", ""), HaveKeyWithValue("Node spare", "cordoned cordoned-off")))
	})

	DescribeTable("fails a claim that says it is in a rotation which no pool knows of, and tells a person", func(state string) {
		w.theClaimSays("old", rotation.KeyState, state)
		w.theClaimSays("old", rotation.KeyStartedAt, "2026-01-09T17:00:00Z")
		w.aNewLeader()
		Expect(w.claim("old").Annotations).To(Equal(map[string]string{
			rotation.KeyState: "failed", rotation.KeyRetryCount: "1", rotation.KeyFailedAt: rotation.FormatStamp(openSaturday)}))
		Expect(w.leader.people.heard()).To(Equal([]string{"RotationFailed NodeClaim/old"}))
	}, Entry(nil, rotation.StatePending), Entry(nil, rotation.StateDraining))

	It("keeps the annotations of failed and expired claims", func() {
		w.theClaimSays("old", rotation.KeyState, rotation.StateFailed)
		w.theClaimSays("spare", rotation.KeyState, rotation.StateExpired)
		w.aNewLeader()
		Expect(w.server.writes).To(BeEmpty())
	})

	It("removes companions of an anchor that is not there", func() {
		w.theOperatorAnnotates("api", rotation.KeyActiveRotationState, rotation.StateDraining)
		w.theOperatorAnnotates("api", rotation.KeyLastRotationAt, "2026-01-01T00:00:00Z")
		w.aNewLeader()
		Expect(w.shown()["NodePool api"]).To(Equal("last-rotation-at"))
	})

	It("is best effort: what is refused is left, the rest is done, and the passes begin", func() {
		placeholderFor("gone")
		marked("old", map[string]string{rotation.KeyCordoned: "true"}, true)
		w.theOperatorAnnotates("api", rotation.KeyDrainingAt, "2026-01-01T00:00:00Z")
		w.server.judge = func(next write) verdict {
			if strings.HasPrefix(next.Meaning, "node old") {
				return verdict{Lost: true, Answer: apierrors.NewInternalError(errors.New("etcd is away"))}
			}
			return verdict{}
		}
		w.aNewLeader()
		Expect(w.placeholder("gone")).To(BeNil())
		Expect(w.shown()).To(SatisfyAll(HaveKeyWithValue("Node old", "cordoned cordoned-off"), HaveKeyWithValue("NodePool api", "")))
	})

	It("ends with the cache's error when the cache cannot be read: no pass may begin then", func() {
		w.cache.held["Node"] = unreadable{errors.New("the cache is closed")}
		sweep := w.aProcess(w.cache).reconciler.Sweep
		Expect(sweep.Everything(w.ctx)).To(MatchError(And(ContainSubstring("NodeList"), ContainSubstring("the cache is closed"))))
	})

	It("comes before the first pass: the gate is closed until it is done", func() {
		w.leader.reconciler.Gate = controller.NewGate()
		done := make(chan ctrl.Result)
		go func() {
			defer GinkgoRecover()
			result, err := w.leader.pass("api")
			Expect(err).NotTo(HaveOccurred())
			done <- result
		}()
		Consistently(done, 50*time.Millisecond).ShouldNot(Receive())
		w.leader.reconciler.Gate.Open()
		Eventually(done, time.Minute).Should(Receive())
		Expect(w.shown()["NodePool api"]).To(Equal("active-rotation=old anchored-on"))
	})

	It("lets a pass go when the process ends before the sweep is done", func() {
		w.leader.reconciler.Gate = controller.NewGate()
		w.leader.kill()
		_, err := w.leader.pass("api")
		Expect(err).To(MatchError(context.Canceled))
		Expect(w.server.writes).To(BeEmpty())
	})
})

// unreadable is a cache that answers with an error.
type unreadable struct{ err error }

func (u unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return u.err
}
func (u unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return u.err
}

var _ = Describe("A cache that cannot be read", func() {
	DescribeTable("fails the pass with a sentence that says what, and nothing is concluded from it", func(kind, sentence string) {
		w := aFleet()
		w.pass("api")
		w.server.wrote()
		closed := errors.New("the cache is closed")
		w.cache.held[kind] = unreadable{closed}
		w.leader = w.aProcess(w.cache)
		_, err := w.leader.pass("api")
		Expect(err).To(MatchError(closed))
		Expect(err).To(MatchError(ContainSubstring(sentence)))
		Expect(w.server.writes).To(BeEmpty())
	},
		Entry(nil, "NodePool", "NodePool api cannot be read"),
		Entry(nil, "RotationPolicy", "the RotationPolicies cannot be listed"),
		Entry(nil, "NodeClaim", "the NodeClaims of NodePool api cannot be listed"),
		Entry(nil, "Node", "the Nodes of NodePool api cannot be listed"),
		Entry(nil, "Pod", "Pods cannot be listed"))
})
