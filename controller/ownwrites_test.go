// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("Reading its own writes (architecture.md)", func() {
	var (
		w   *world
		own *controller.OwnWrites
	)
	BeforeEach(func() {
		w = aFleet()
		own = controller.NewOwnWrites()
	})
	pending := func(pool string) string {
		GinkgoHelper()
		object, err := own.Pending(w.ctx, w.cache, pool, w.clock.Now())
		Expect(err).NotTo(HaveOccurred())
		return object
	}

	It("waits until the cache shows a patch, and forgets it then", func() {
		w.theWatchesFallSilent()
		change(w, &karpenterv1.NodePool{}, "api", func(np *karpenterv1.NodePool) { np.Annotations = map[string]string{"ours": "now"} })
		own.Wrote("api", w.pool("api"), false, w.clock.Now())

		Expect(pending("api")).To(Equal("NodePool api"))
		Expect(pending("another")).To(BeEmpty(), "what was written for one pool holds no other")
		w.theWatchesCatchUp()
		Expect(pending("api")).To(BeEmpty())
		w.theWatchesFallSilent()
		Expect(pending("api")).To(BeEmpty())
	})

	It("is content with a cache that is newer than the write", func() {
		own.Wrote("api", w.pool("api"), false, w.clock.Now())
		w.karpenterReports("api")
		Expect(pending("api")).To(BeEmpty())
	})

	It("waits until the cache shows that a deleted claim is going", func() {
		w.theWatchesFallSilent()
		own.Deleted("api", w.claim("old"), w.clock.Now())
		w.anotherHandDeletes("old")

		Expect(pending("api")).To(Equal("NodeClaim old"))
		w.theWatchesCatchUp()
		Expect(pending("api")).To(BeEmpty())
	})

	It("takes the absence of what it patched or deleted for news", func() {
		own.Wrote("api", w.claim("old"), false, w.clock.Now())
		own.Deleted("api", w.node("old"), w.clock.Now())
		w.anotherHandDeletes("old")
		w.theClaimFinalizes("old")
		Expect(pending("api")).To(BeEmpty())
	})

	It("does not take another object of the same name for its own", func() {
		own.Wrote("api", w.claim("old"), false, w.clock.Now())
		w.anotherHandDeletes("old")
		w.theClaimFinalizes("old")
		w.aNode("old", "api", 0)
		Expect(pending("api")).To(BeEmpty())
	})

	It("waits ten seconds for a Pod that it created, and not for ever", func() {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "surge-for-old", UID: "1", ResourceVersion: "5"}}
		own.Wrote("api", pod, true, w.clock.Now())

		Expect(pending("api")).To(Equal("Pod surge-for-old"))
		w.clock.Step(10 * time.Second)
		Expect(pending("api")).To(Equal("Pod surge-for-old"))
		w.clock.Step(time.Millisecond)
		Expect(pending("api")).To(BeEmpty())
	})

	It("decides nothing on a cache that is behind, and asks for another look in 50 ms", func() {
		w.theWatchesFallSilent()
		w.pass("api")
		Expect(w.server.wrote()).To(HaveLen(4))

		Expect(w.pass("api").RequeueAfter).To(Equal(catchUp))
		Expect(w.server.writes).To(BeEmpty(), "not even a refused one")
		w.theWatchesCatchUp()
		Expect(w.pass("api").RequeueAfter).To(BeNumerically(">", time.Second))
	})

	It("never takes a claim that the cache does not show for gone (§5.2)", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.theWatchesFallSilent("NodeClaim")
		w.pass("api")
		w.theClaimFinalizes("old")

		Expect(w.pass("api").RequeueAfter).To(Equal(catchUp))
		Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotation, "old"))
		w.theWatchesCatchUp()
		w.pass("api")
		Expect(w.pool("api").Annotations).NotTo(HaveKey(rotation.KeyActiveRotation))
	})
})
