// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// limited gives the pool a limit, of which so much is used.
func limited(limits, used []string) change {
	return editPool(func(p *rotation.Pool) { p.Limits, p.Used = amounts(limits...), amounts(used...) })
}

var _ = Describe("surge_headroom (§3.3)", func() {
	web := withPods(surgeOldNode, workload("web", "cpu=3", "memory=4Gi"))

	DescribeTable("compares the clamped requests with what the pool's limits leave",
		func(enough bool, reason string, changes ...change) {
			holds, why := rotation.SurgeHeadroom(surging(changes...))
			Expect(holds).To(Equal(enough), why)
			Expect(why).To(ContainSubstring(reason))
		},
		Entry("no limits", true, "NodePool api has no limits", web),
		Entry("room left", true, "cpu: 3 needed, 4 left", web, limited([]string{"cpu=10"}, []string{"cpu=6"})),
		Entry("exactly enough", true, "cpu: 3 needed, 3 left", web, limited([]string{"cpu=10"}, []string{"cpu=7"})),
		Entry("a little too little", false, "cpu: the surge needs 3, 7001m of 10 are used", web, limited([]string{"cpu=10"}, []string{"cpu=7001m"})),
		Entry("one short resource of two", false, "(memory: the surge needs 4Gi, 60Gi of 62Gi are used)",
			web, limited([]string{"cpu=10", "memory=62Gi"}, []string{"cpu=1", "memory=60Gi"})),
		Entry("both short", false, "(cpu: the surge needs 3, 10 of 10 are used; memory: the surge needs 4Gi, 62Gi of 62Gi are used)",
			web, limited([]string{"memory=62Gi", "cpu=10"}, []string{"cpu=10", "memory=62Gi"})),
		Entry("a pool that uses nothing of the resource", true, "cpu: 3 needed, 10 left", web, limited([]string{"cpu=10"}, nil)),
		Entry("a limit of zero", false, "cpu", web, limited([]string{"cpu=0"}, nil)),
		Entry("a limit of zero on what nobody wants", true, "nvidia.com/gpu: 0 needed, 0 left", web, limited([]string{"nvidia.com/gpu=0"}, nil)),
		Entry("a limit already exceeded", false, "nvidia.com/gpu", web, limited([]string{"nvidia.com/gpu=1"}, []string{"nvidia.com/gpu=2"})),
		Entry("an empty candidate", true, "cpu: 0 needed", limited([]string{"cpu=10"}, []string{"cpu=10"})),
		Entry("what the clamp gives up is not needed", true, "cpu: 2 needed", web, allocatable("cpu=2", "memory=8Gi"), limited([]string{"cpu=10"}, []string{"cpu=8"})),
		Entry("what the clamp refuses is needed in full", false, "cpu: the surge needs 3",
			web, allocatable("memory=8Gi"), limited([]string{"cpu=10"}, []string{"cpu=8"})),
		Entry("one more node", true, "nodes: 1 needed, 1 left", web, limited([]string{"nodes=3"}, []string{"nodes=2"})),
		Entry("no more node", false, "nodes: the surge needs 1, 3 of 3 are used", web, limited([]string{"nodes=3"}, []string{"nodes=3"})),
		Entry("no node at all", false, "nodes", limited([]string{"nodes=0"}, nil)),
		Entry("nothing to make room for", false, "no NodeClaim", func(s *rotation.Snapshot) { s.Claims = nil }),
	)
})

var _ = Describe("surge_ready (§3.3)", func() {
	const host = "new-node"
	newHost := withClaim("new", 0, nil)

	It("holds once the placeholder runs on another Ready node of the pool", func() {
		node, reason := rotation.SurgeReady(surging(newHost, withPlaceholder(host)))
		Expect(node).To(HaveField("Name", host))
		Expect(reason).To(ContainSubstring("runs on Node new-node"))
	})

	It("holds on a host that the pool had before", func() {
		node, _ := rotation.SurgeReady(surging(withClaim("spare", -fleetAge, nil), withPlaceholder("spare-node")))
		Expect(node).To(HaveField("Name", "spare-node"))
	})

	DescribeTable("does not hold, and says why",
		func(reason string, changes ...change) {
			node, why := rotation.SurgeReady(surging(changes...))
			Expect(node).To(BeNil())
			Expect(why).To(ContainSubstring(reason))
		},
		Entry("no placeholder", "placeholder surge-for-old does not exist", newHost),
		Entry("another rotation's placeholder", "placeholder surge-for-old does not exist", newHost,
			withPlaceholder(host, func(p *corev1.Pod) { *p = *aPlaceholder("other") })),
		Entry("not looked at by the scheduler", "has no node yet: the scheduler has not judged it yet", withPlaceholder("")),
		Entry("unschedulable", "has no node yet: 0/3 nodes are available", withPlaceholder("", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available",
			}}
		})),
		Entry("bound but not running", `does not run on Node new-node yet (phase "Pending")`, newHost, withPlaceholder(host, inPhase(corev1.PodPending))),
		Entry("failed", `(phase "Failed")`, newHost, withPlaceholder(host, inPhase(corev1.PodFailed))),
		Entry("preempted: still Running, but terminating", "is being removed", newHost, withPlaceholder(host, ending(surgeStart))),
		Entry("on the candidate", "the very one that is to be replaced", withPlaceholder(surgeOldNode)),
		Entry("on a node that is not known", "not known as a Node of NodePool api", withPlaceholder("ghost")),
		Entry("on another pool's node", `labelled as NodePool "batch" and not "api"`, newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.Labels[rotation.LabelNodePool] = "batch" })),
		Entry("on a node without labels", `labelled as NodePool ""`, newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.Labels = nil })),
		Entry("on a node that is not Ready", "which is not Ready", newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown })),
		Entry("on a node that has no conditions yet", "which is not Ready", newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.Status.Conditions = nil })),
		Entry("on a node that is being removed", "is being removed", newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.DeletionTimestamp = new(metav1.NewTime(surgeStart)) })),
		Entry("on a node whose claim is being removed", "is being removed", newHost, withPlaceholder(host),
			editClaim("new", func(c *rotation.Claim) { c.Deleted = surgeStart })),
		Entry("on a node that was cordoned since", "is cordoned", newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) { n.Spec.Unschedulable = true })),
		Entry("on a node that Karpenter is about to disrupt", "has the taint karpenter.sh/disrupted:NoSchedule", newHost, withPlaceholder(host),
			editNode(host, func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
			})),
		Entry("the claim is gone", "does not exist", newHost, withPlaceholder(host),
			func(s *rotation.Snapshot) { *s = withoutClaim(*s, "old") }),
	)

	It("is not put off by the taints of the template, nor by a preference", func() {
		team := corev1.Taint{Key: "team", Value: "shop", Effect: corev1.TaintEffectNoSchedule}
		node, reason := rotation.SurgeReady(surging(newHost,
			withPlaceholder(host, func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: team.Key, Operator: corev1.TolerationOpEqual, Value: team.Value, Effect: team.Effect}}
			}),
			editNode(host, func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{team, {Key: "noisy", Effect: corev1.TaintEffectPreferNoSchedule}}
			})))
		Expect(node).NotTo(BeNil(), reason)
	})
})

var _ = Describe("surge-claim (§5.3)", func() {
	record := func(changes ...change) (string, bool) { return rotation.SurgeClaim(surging(changes...)) }

	It("names the claim that the placeholder is bound to, before it runs there", func() {
		s := surging(withClaim("new", 0, nil), withPlaceholder("new-node", inPhase(corev1.PodPending)))
		Expect(rotation.SurgeHost(s)).To(Equal("new-node"))
		name, ok := rotation.SurgeClaim(s)
		Expect(name).To(Equal("new"))
		Expect(ok).To(BeTrue())
	})

	It("follows the placeholder when Karpenter has launched another (§3.8)", func() {
		name, _ := record(withClaim("first", 0, nil), withClaim("second", 0, nil), withPlaceholder("second-node"),
			editClaim("old", func(c *rotation.Claim) { c.Annotations[rotation.KeySurgeClaim] = "first" }))
		Expect(name).To(Equal("second"))
	})

	It("names spare capacity all the same", func() {
		name, _ := record(withClaim("spare", -fleetAge, nil), withPlaceholder("spare-node"))
		Expect(name).To(Equal("spare"))
	})

	DescribeTable("names nothing",
		func(changes ...change) {
			_, ok := record(changes...)
			Expect(ok).To(BeFalse())
		},
		Entry("without a placeholder", withClaim("new", 0, nil)),
		Entry("while it has no node", withClaim("new", 0, nil), withPlaceholder("")),
		Entry("while no claim has a node either", withLaunch("new", 0), withPlaceholder("")),
		Entry("on a node of no claim", withPlaceholder("ghost")),
		Entry("on the candidate itself", withPlaceholder(surgeOldNode)),
	)
})

func withoutClaim(s rotation.Snapshot, name string) rotation.Snapshot {
	var left []*rotation.Claim
	for _, c := range s.Claims {
		if c.Name != name {
			left = append(left, c)
		}
	}
	s.Claims = left
	return s
}
