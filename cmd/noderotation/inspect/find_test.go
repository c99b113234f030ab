// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

func unauthorized() error { return apierrors.NewUnauthorized("the token has expired") }

var _ = Describe("Asking why by a name", func() {
	// The claim of the oldest node is called otherwise than the node; those of the others are not.
	fleetOf := func() *server {
		objects := append(aFleet("api", 10*fleet.Day, 12*fleet.Day, time.Hour), aPolicy("api", "api"))
		with(objects, "api-1", func(c *karpenterv1.NodeClaim) { c.Name = "api-4xk2z" })
		for _, o := range objects {
			if pod, is := o.(*corev1.Pod); is && pod.Name == "api-0" {
				pod.Annotations = map[string]string{rotation.KeyDoNotDisrupt: "true"}
			}
		}
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "api", Name: "api"}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}
		budget.Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 5, DesiredHealthy: 6, ExpectedPods: 6}
		stray := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stray"}}
		lost := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "lost", Labels: map[string]string{rotation.LabelNodePool: "api"}}}
		orphan := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Labels: map[string]string{rotation.LabelNodePool: "gone"}}}
		namesake := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "api", Labels: map[string]string{rotation.LabelNodePool: "api"}}}
		return standing(append(objects, budget, stray, lost, orphan, namesake)...)
	}
	why := func(ctx SpecContext, name string) string {
		GinkgoHelper()
		return text(fleetOf().inspector().Why(ctx, name))
	}

	It("of a claim tells its turn, its deadline, and what would hold its drain", func(ctx SpecContext) {
		Expect(why(ctx, "nodeclaim/api-0")).To(HavePrefix(`
Claim       NodeClaim api-0 on Node api-0
Its turn    NodeClaim api-0 may be rotated, but 1 other comes before it: NodeClaim api-4xk2z is the next.
Age         10d, since Wed 2025-12-31 03:00:00 Asia/Tokyo
Deadline    Wed 2026-01-14 03:00:00 Asia/Tokyo, in 4d
Lead time   8d 1h 17m before its deadline: the chances asked for, and a rotation at its longest
Of age      Tue 2026-01-06 01:43:00 Asia/Tokyo, 4d 1h ago
Drain       a drain that began now would be held by
            - Pod api/api-0 has karpenter.sh/do-not-disrupt="true"
            - PodDisruptionBudget api/api allows no disruption (5 of 6 healthy, 6 needed) of api-1
            Karpenter waits for them no longer than the terminationGracePeriod of 1h.

NodePool    api
`[1:]))
	})

	It("of a claim that is not the one to go leaves the rows to its pool's page", func(ctx SpecContext) {
		Expect(why(ctx, "nodeclaim/api-0")).To(HaveSuffix("The pool's decision is not about this claim; for its rows ask why nodepool/api.\n"))
		Expect(why(ctx, "api-4xk2z")).To(ContainSubstring("What row start would do now"))
	})

	It("repeats what the controller itself last said of the pool, where no look at the cluster shows it", func(ctx SpecContext) {
		saying := func(message string) *server {
			objects := append(aFleet("api", 10*fleet.Day, time.Hour), aPolicy("api", "api"))
			with(objects, "api", func(p *v1alpha1.RotationPolicy) {
				p.Status.NodePools = []v1alpha1.NodePoolStatus{{Name: "web", Message: "another pool's"}, {Name: "api", Message: message}}
			})
			return standing(objects...)
		}
		refused := "create Pod noderotation/surge-for-api-0: exceeded quota"
		why, err := saying(refused).inspector().Why(ctx, "nodepool/api")
		Expect(err).NotTo(HaveOccurred())
		Expect(why.Reported).To(Equal(refused))
		Expect(text(why, nil)).To(ContainSubstring("Controller  last told: create Pod noderotation/surge-for-api-0: exceeded quota."))

		By("and nothing that the page says already")
		ordinary := "A node has come of age, the window is open and the pool has room for a surge; its rotation begins."
		why, err = saying(ordinary).inspector().Why(ctx, "nodepool/api")
		Expect(err).NotTo(HaveOccurred())
		Expect(why.Reported).To(BeEmpty())
		Expect(text(why, nil)).NotTo(ContainSubstring("last told"))
	})

	It("means by a Node the claim behind it, and by a name that a claim shares with its Node the claim", func(ctx SpecContext) {
		Expect(why(ctx, "node/api-1")).To(HavePrefix("Claim       NodeClaim api-4xk2z on Node api-1\n"))
		Expect(why(ctx, "api-1")).To(HavePrefix("Claim       NodeClaim api-4xk2z on Node api-1\n"))
		Expect(why(ctx, "api-2")).To(HavePrefix("Claim       NodeClaim api-2 on Node api-2\nIts turn    NodeClaim api-2 comes of age Fri 2026-01-16 00:43:00 Asia/Tokyo.\n"))
	})

	It("takes the words for a kind that kubectl takes and prints", func(ctx SpecContext) {
		for _, name := range []string{"nodepool/api", "nodepools/api", "nodepool.karpenter.sh/api", "NodePool/api"} {
			Expect(why(ctx, name)).To(HavePrefix("NodePool    api\n"))
		}
	})

	DescribeTable("says what is wrong with a name",
		func(ctx SpecContext, name, said string) {
			_, err := fleetOf().inspector().Why(ctx, name)
			Expect(err).To(MatchError(said))
		},
		Entry("that two things have", "api", "api is a NodePool and a Node: write nodepool/api or node/api"),
		Entry("that nothing has", "apo", "nothing is called apo: no NodePool, no NodeClaim, no Node; did you mean NodePool api, or Node api?"),
		Entry("that is like nothing", "zzz", "nothing is called zzz: no NodePool, no NodeClaim, no Node; `status` lists the NodePools"),
		Entry("that no object of the kind has", "nodeclaim/api-9", "there is no NodeClaim api-9; did you mean NodeClaim api-0, or NodeClaim api-2?"),
		Entry("of another kind", "deployment/api", `"deployment" is no kind: write nodepool/api, nodeclaim/api or node/api`),
		Entry("of a Node of nobody's", "stray", "Node stray belongs to no NodePool (it has no label karpenter.sh/nodepool): it is not rotated"),
		Entry("of a Node without a claim", "lost", "Node lost is labelled as one of NodePool api, but no NodeClaim of the pool names it as its own: it is not rotated"),
		Entry("of a claim whose pool is gone", "orphan", "NodeClaim orphan belongs to NodePool gone, which does not exist: it is not rotated"),
	)

	It("suggests names as they are typed, with their kinds", func(ctx SpecContext) {
		Expect(fleetOf().inspector().Names(ctx, true)).To(Equal([]string{"api\tNodePool"}))
		Expect(fleetOf().inspector().Names(ctx, false)).To(ContainElements("api\tNodePool", "api-4xk2z\tNodeClaim", "stray\tNode"))
		s := fleetOf()
		s.denied["list nodes"], s.denied["list nodeclaims.karpenter.sh"] = true, true
		Expect(s.inspector().Names(ctx, false)).To(Equal([]string{"api\tNodePool"}))
	})

	It("names the placeholder's namespace where there is one, and the controller's where there is none", func(ctx SpecContext) {
		starts := standing(append(aFleet("api", 10*fleet.Day), aPolicy("api", ""))...)
		Expect(text(starts.inspector().Why(ctx, "nodepool/api"))).To(ContainSubstring("create Pod noderotation/surge-for-api-0"))
		var waits []client.Object
		for _, o := range pending() {
			if pod, is := o.(*corev1.Pod); is && rotation.IsPlaceholder(pod) {
				pod.Status.Phase = corev1.PodFailed
			}
			waits = append(waits, o)
		}
		Expect(text(standing(waits...).inspector().Why(ctx, "nodepool/api"))).To(ContainSubstring("delete Pod rotations/surge-for-api-0"))
	})
})
