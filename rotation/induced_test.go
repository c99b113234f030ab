// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

func recorded(claim string) change {
	return editClaim("old", func(c *rotation.Claim) { c.Annotations[rotation.KeySurgeClaim] = claim })
}

func startedAt(value string) change {
	return editClaim("old", func(c *rotation.Claim) { c.Annotations[rotation.KeyStartedAt] = value })
}

func deleting(claim string) change {
	return editClaim(claim, func(c *rotation.Claim) { c.Deleted = surgeStart.Add(time.Minute) })
}

var _ = Describe("The induced claim (§3.8)", func() {
	DescribeTable("is found",
		func(expected, reason string, changes ...change) {
			claim, found, why := rotation.Induced(surging(changes...))
			Expect(found).To(BeTrue(), why)
			Expect(claim.Name).To(Equal(expected))
			Expect(why).To(ContainSubstring(reason))
		},
		Entry("where surge-claim records it", "new", "records new as its surge claim",
			withClaim("new", time.Minute, nil), withClaim("other", time.Minute, nil), recorded("new"), withPlaceholder("other-node")),
		Entry("where the placeholder sits, when nothing is recorded", "new", "is bound to the Node of NodeClaim new",
			withClaim("new", time.Minute, nil), withPlaceholder("new-node")),
		Entry("where the placeholder sits, when the recorded one is gone", "second", "is bound to",
			withClaim("second", time.Minute, nil), recorded("first"), withPlaceholder("second-node")),
		Entry("where the placeholder sits, when Karpenter is giving the recorded one up", "second", "is bound to",
			withClaim("first", time.Minute, nil), withClaim("second", time.Minute, nil), recorded("first"), deleting("first"), withPlaceholder("second-node")),
		Entry("as the only launch of the attempt", "new", "is the only one launched",
			withLaunch("new", time.Minute), withPlaceholder("")),
		Entry("as the only launch, in the second of the start", "new", "is the only one launched",
			withLaunch("new", 0), withPlaceholder("")),
		Entry("beside launches from before the attempt", "new", "is the only one launched",
			withLaunch("new", time.Minute), withLaunch("earlier", -time.Second), withPlaceholder("")),
		Entry("beside a launch that was given up", "new", "is the only one launched",
			withLaunch("new", time.Minute), withLaunch("gone", 30*time.Second), deleting("gone"), withPlaceholder("")),
		Entry("beside the claim that is rotated, should that have lost its Node", "new", "is the only one launched",
			withLaunch("new", time.Minute), withPlaceholder(""),
			editClaim("old", func(c *rotation.Claim) { c.Created, c.NodeName = surgeStart, "" })),
		Entry("beside claims that have their Node", "new", "is the only one launched",
			withLaunch("new", time.Minute), withClaim("ready", time.Minute, nil), withPlaceholder("")),
	)

	DescribeTable("is not guessed at",
		func(reason string, changes ...change) {
			_, found, why := rotation.Induced(surging(changes...))
			Expect(found).To(BeFalse())
			Expect(why).To(ContainSubstring(reason))
		},
		Entry("nothing was launched", "0 NodeClaims without a Node", withPlaceholder("")),
		Entry("two were launched", "2 NodeClaims without a Node", withLaunch("new", time.Minute), withLaunch("too", time.Minute), withPlaceholder("")),
		Entry("the launch is older than the attempt", "0 NodeClaims", withLaunch("new", -time.Second), withPlaceholder("")),
		Entry("the attempt has no start", "0 NodeClaims", withLaunch("new", time.Minute), withPlaceholder(""),
			editClaim("old", func(c *rotation.Claim) { c.Annotations = nil })),
		Entry("the attempt's start cannot be read", "0 NodeClaims", withLaunch("new", time.Minute), withPlaceholder(""), startedAt("yesterday")),
		Entry("no placeholder waits", "no placeholder of NodeClaim old waits", withLaunch("new", time.Minute)),
		Entry("the placeholder sits on the candidate", "no placeholder of NodeClaim old waits", withLaunch("new", time.Minute), withPlaceholder(surgeOldNode)),
		Entry("another Pod may have asked for it", "may have been launched for Pod shop/web", withLaunch("new", time.Minute), withPlaceholder(""),
			withUnbound(edited(workload("web"), pending(0)))),
		Entry("the claim that is rotated is gone", "NodeClaim old does not exist", withLaunch("new", time.Minute),
			func(s *rotation.Snapshot) { *s = withoutClaim(*s, "old") }),
	)

	team := corev1.Taint{Key: "team", Value: "shop", Effect: corev1.TaintEffectNoSchedule}
	DescribeTable("may have been launched for another unbound Pod",
		func(could bool, edit func(*corev1.Pod)) {
			_, found, why := rotation.Induced(surging(withLaunch("new", time.Minute), withPlaceholder(""),
				editPool(func(p *rotation.Pool) {
					p.Taints = []corev1.Taint{team, {Key: "noisy", Effect: corev1.TaintEffectPreferNoSchedule}}
					p.TemplateLabels = map[string]string{"tier": "front"}
					p.Requirements = []rotation.Requirement{requirement(zoneLabel, "In", "a", "b")}
				}),
				withUnbound(edited(workload("web"), pending(0), func(p *corev1.Pod) {
					p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
				}, edit))))
			Expect(found).To(Equal(!could), why)
		},
		Entry("that could run there", true, func(*corev1.Pod) {}),
		Entry("that tolerates everything", true, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}),
		Entry("that selects this pool", true, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{rotation.LabelNodePool: "api"} }),
		Entry("that selects a label that the pool does not mention", true, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} }),
		Entry("with one alternative that fits", true, needing(term(expr(zoneLabel, "In", "c")), term(expr(zoneLabel, "In", "b")))),
		Entry("that was created in the launch's second", true, pending(time.Minute)),
		Entry("that is another rotation's placeholder for this pool", true, func(p *corev1.Pod) {
			spec := p.Spec
			*p = *aPlaceholder("another")
			p.Spec = spec
		}),

		Entry("but not for one that selects another pool", false, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{rotation.LabelNodePool: "batch"} }),
		Entry("but not for one that wants no pool", false, needing(term(expr(rotation.LabelNodePool, "DoesNotExist")))),
		Entry("but not for one that cannot stand the pool's taint", false, func(p *corev1.Pod) { p.Spec.Tolerations = nil }),
		Entry("but not for one that tolerates another effect", false, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
		}),
		Entry("but not for one that tolerates another key", false, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "other", Operator: corev1.TolerationOpExists}}
		}),
		Entry("but not for one that tolerates another value", false, func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "billing"}}
		}),
		Entry("but not for one in a zone that the pool lacks", false, needing(term(expr(zoneLabel, "In", "c")))),
		Entry("but not for one that avoids every zone of the pool", false, needing(term(expr(zoneLabel, "NotIn", "a", "b")))),
		Entry("but not for one that selects another template", false, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"tier": "back"} }),
		Entry("but not for a younger one", false, pending(time.Minute+time.Second)),
		Entry("but not for one that is held back", false, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "hold"}} }),
		Entry("but not for a DaemonSet's", false, func(p *corev1.Pod) { p.OwnerReferences = ownedBy("apps/v1", "DaemonSet") }),
		Entry("but not for a finished one", false, inPhase(corev1.PodFailed)),
	)
})

var _ = Describe("Reaping (§3.8)", func() {
	induced := []change{withClaim("new", time.Minute, nil), recorded("new"), withPlaceholder("new-node")}

	DescribeTable("takes the induced claim whose Node nobody would miss",
		func(changes ...change) {
			claim, ok, why := rotation.Reapable(surging(append(induced, changes...)...))
			Expect(ok).To(BeTrue(), why)
			Expect(claim.Name).To(Equal("new"))
		},
		Entry("the placeholder alone"),
		Entry("a node with nothing on it", func(s *rotation.Snapshot) { s.PodsByNode["new-node"] = nil }),
		Entry("DaemonSet, mirror and finished Pods", withPods("new-node",
			daemon("logs"), edited(workload("kube-proxy"), func(p *corev1.Pod) { p.OwnerReferences = ownedBy("v1", "Node") }),
			edited(workload("done"), inPhase(corev1.PodSucceeded)))),
		Entry("created in the very second of the start", startedAt(rotation.FormatStamp(surgeStart.Add(time.Minute)))),
		Entry("created in that second, by a finer clock", startedAt("2026-01-10T02:01:00.9Z")),
		Entry("the placeholder on its way back", withUnbound(edited(aPlaceholder("old"), func(p *corev1.Pod) { p.Status.NominatedNodeName = "new-node" }))),
		Entry("a Pod on its way elsewhere", withUnbound(edited(workload("web"), pending(0), func(p *corev1.Pod) { p.Status.NominatedNodeName = "other-node" }))),
	)

	It("takes the only launch that has no Node yet", func() {
		claim, ok, why := rotation.Reapable(surging(withLaunch("new", time.Minute), withPlaceholder("")))
		Expect(ok).To(BeTrue(), why)
		Expect(claim.Name).To(Equal("new"))
	})

	DescribeTable("leaves the claim alone, and says why",
		func(reason string, changes ...change) {
			_, ok, why := rotation.Reapable(surging(append(induced, changes...)...))
			Expect(ok).To(BeFalse())
			Expect(why).To(ContainSubstring(reason))
		},
		Entry("spare capacity from before", "it was there before", startedAt(rotation.FormatStamp(surgeStart.Add(time.Minute+time.Second)))),
		Entry("a workload has moved in", "Pod shop/web runs on Node new-node", withPods("new-node", workload("web"))),
		Entry("a workload on its way out", "Pod shop/web runs on Node new-node", withPods("new-node", edited(workload("web"), ending(surgeStart)))),
		Entry("a workload that only carries our annotation", "Pod shop/web runs on Node new-node", withPods("new-node",
			edited(workload("web"), func(p *corev1.Pod) { p.Annotations = map[string]string{rotation.KeySurgeFor: "old"} }))),
		Entry("another rotation's placeholder", "runs on Node new-node", withPods("new-node", aPlaceholder("another"))),
		Entry("a workload that preempted the placeholder", "Pod shop/web is about to be placed on Node new-node",
			withUnbound(edited(workload("web"), pending(0), func(p *corev1.Pod) { p.Status.NominatedNodeName = "new-node" }))),
		Entry("its Pods are not known", "the Pods of Node new-node are not known", func(s *rotation.Snapshot) { delete(s.PodsByNode, "new-node") }),
		Entry("already being deleted", "NodeClaim new is already being deleted", deleting("new")),
		Entry("no start", "does not tell when its attempt started", editClaim("old", func(c *rotation.Claim) { delete(c.Annotations, rotation.KeyStartedAt) })),
		Entry("an unreadable start", `noderotation.io/started-at="yesterday"`, startedAt("yesterday")),
		Entry("the claim that is rotated, recorded by mistake", "cannot be its own surge", recorded("old")),
		Entry("no claim at all", "does not exist", func(s *rotation.Snapshot) { s.Claims = nil }),
	)

	It("does not take the next launch to come along when a rollback is repeated after a crash", func() {
		_, ok, why := rotation.Reapable(surging(withLaunch("drift", 2*time.Minute), recorded("new")))
		Expect(ok).To(BeFalse())
		Expect(why).To(ContainSubstring("no placeholder of NodeClaim old waits"))
	})
})
