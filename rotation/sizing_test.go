// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The placeholder's requests (§3.3)", func() {
	size := func(changes ...change) rotation.Sizing { return rotation.Size(surging(changes...)) }

	It("are the sum of what the Pods with a new home to find ask for", func() {
		sizing := size(withPods(surgeOldNode,
			workload("web-1", "cpu=1", "memory=2Gi"),
			workload("web-2", "cpu=500m", "ephemeral-storage=1Gi"),
			daemon("logs", "cpu=250m"),
		))
		Expect(written(sizing.Wanted)).To(Equal([]string{"cpu=1500m", "ephemeral-storage=1Gi", "memory=2Gi"}))
		Expect(written(sizing.Requests)).To(Equal(written(sizing.Wanted)))
	})

	It("are nothing on an empty node, or while the claim has none", func() {
		Expect(size().Requests).To(BeEmpty())
		unregistered := editClaim(surgeForOld, func(c *rotation.Claim) { c.NodeName = "" })
		Expect(size(withPods(surgeOldNode, workload("web", "cpu=1")), unregistered).Requests).To(BeEmpty())
	})

	DescribeTable("count what the scheduler reserves for a Pod",
		func(edit func(*corev1.Pod), cpu string) {
			sizing := size(withPods(surgeOldNode, edited(workload("web", "cpu=1"), edit)))
			Expect(written(sizing.Wanted)).To(Equal([]string{"cpu=" + cpu}))
		},
		Entry("an init container that asks for more", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: amounts("cpu=3")}}}
		}, "3"),
		Entry("an init container that asks for less", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: corev1.ResourceRequirements{Requests: amounts("cpu=500m")}}}
		}, "1"),
		Entry("a sidecar", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{
				Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
				Resources: corev1.ResourceRequirements{Requests: amounts("cpu=500m")},
			}}
		}, "1500m"),
		Entry("overhead", func(p *corev1.Pod) { p.Spec.Overhead = amounts("cpu=250m") }, "1250m"),
		Entry("Pod-level resources", func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("cpu=2")}
		}, "2"),
	)

	DescribeTable("count a Pod only if it needs a new home",
		func(counts bool, edits ...func(*corev1.Pod)) {
			pod := edited(workload("web", "cpu=1"), edits...)
			Expect(rotation.NeedsNewHome(pod, aNode(surgeOldNode))).To(Equal(counts))
		},
		Entry("a workload", true),
		Entry("a bare Pod", true, func(p *corev1.Pod) { p.OwnerReferences = nil }),
		Entry("a Pod of a DaemonSet", false, func(p *corev1.Pod) { p.OwnerReferences = ownedBy("apps/v1", "DaemonSet") }),
		Entry("a Pod of another API's DaemonSet", true, func(p *corev1.Pod) { p.OwnerReferences = ownedBy("apps.kruise.io/v1", "DaemonSet") }),
		Entry("a mirror Pod by its annotation", false, func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		Entry("a static Pod by its owner", false, func(p *corev1.Pod) { p.OwnerReferences = ownedBy("v1", "Node") }),
		Entry("a Pod that succeeded", false, inPhase(corev1.PodSucceeded)),
		Entry("a Pod that failed", false, inPhase(corev1.PodFailed)),
		Entry("a placeholder", false, func(p *corev1.Pod) { *p = *aPlaceholder("other") }),
		Entry("a Pod on its way out", false, ending(surgeStart)),
		Entry("a StatefulSet's Pod on its way out", true, ending(surgeStart), func(p *corev1.Pod) { p.OwnerReferences = ownedBy("apps/v1", "StatefulSet") }),

		Entry("a Pod pinned to this host by its selector", false, func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: surgeOldNode + ".internal"}
		}),
		Entry("a Pod pinned to another host by its selector", true, func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "elsewhere"}
		}),
		Entry("a Pod pinned to this host by affinity", false,
			needing(term(expr(zoneLabel, "In", "a"), expr(corev1.LabelHostname, "In", surgeOldNode+".internal")))),
		Entry("a Pod pinned to this host by the Node's name", false,
			needing(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{expr("metadata.name", "In", surgeOldNode)}})),
		Entry("a Pod with another alternative", true,
			needing(term(expr(corev1.LabelHostname, "In", surgeOldNode+".internal")), term(expr(zoneLabel, "In", "a")))),
		Entry("a Pod that may run on this host or on another", true,
			needing(term(expr(corev1.LabelHostname, "In", surgeOldNode+".internal", "elsewhere")))),
		Entry("a Pod that avoids a host", true, needing(term(expr(corev1.LabelHostname, "NotIn", "elsewhere")))),
		Entry("a Pod that requires any host name", true, needing(term(expr(corev1.LabelHostname, "Exists")))),
	)

	It("take a Node without labels to have its name as host name", func() {
		node := &corev1.Node{}
		node.Name = "bare"
		pinned := edited(workload("web"), needing(term(expr(corev1.LabelHostname, "In", "bare"))))
		Expect(rotation.NeedsNewHome(pinned, node)).To(BeFalse())
		Expect(rotation.NeedsNewHome(pinned, nil)).To(BeTrue())
	})
})

var _ = Describe("The clamp (§3.3)", func() {
	size := func(changes ...change) rotation.Sizing { return rotation.Size(surging(changes...)) }
	nodeHolds := func(quantities ...string) change {
		return editNode(surgeOldNode, func(n *corev1.Node) { n.Status.Allocatable = amounts(quantities...) })
	}

	It("leaves requests alone that a new node can hold", func() {
		sizing := size(allocatable("cpu=4"), withPods(surgeOldNode, workload("web", "cpu=3900m"), daemon("logs", "cpu=100m")))
		Expect(written(sizing.Requests)).To(Equal([]string{"cpu=3900m"}))
		Expect(sizing.Clamped).To(BeEmpty())
	})

	It("lets a node filled past the plan ask for no more than a new one is planned with", func() {
		sizing := size(allocatable("cpu=4", "memory=8Gi"), nodeHolds("cpu=4", "memory=8500Mi"),
			withPods(surgeOldNode, workload("web", "cpu=1", "memory=8400Mi"), daemon("logs", "memory=100Mi")))
		Expect(written(sizing.Wanted)).To(Equal([]string{"cpu=1", "memory=8400Mi"}))
		Expect(written(sizing.Requests)).To(Equal([]string{"cpu=1", "memory=8092Mi"}))
		Expect(sizing.Clamped).To(ConsistOf(SatisfyAll(
			ContainSubstring("memory: 8400Mi is wanted"), ContainSubstring("8092Mi asked for"), ContainSubstring("NodeClaim old"))))
		Expect(sizing.Refused).To(BeEmpty())
		Expect(sizing.BandExceeded).To(BeEmpty(), "308Mi are given up, exactly what the Node has beyond the plan")
	})

	It("tells when it gives up more than the Node has beyond the plan", func() {
		sizing := size(allocatable("memory=8Gi"), nodeHolds("memory=8500Mi"),
			withPods(surgeOldNode, workload("web", "memory=8401Mi"), daemon("logs", "memory=100Mi")))
		Expect(written(sizing.Requests)).To(Equal([]string{"memory=8092Mi"}))
		Expect(sizing.BandExceeded).To(ConsistOf(SatisfyAll(
			ContainSubstring("gives up 309Mi"), ContainSubstring("308Mi"), ContainSubstring("Node old-node"))))
	})

	It("cannot tell while the Node is not known", func() {
		sizing := size(allocatable("cpu=1"), withPods(surgeOldNode, workload("web", "cpu=2")),
			func(s *rotation.Snapshot) { delete(s.Nodes, surgeOldNode) })
		Expect(sizing.Clamped).To(HaveLen(1))
		Expect(sizing.BandExceeded).To(BeEmpty())
	})

	It("does not apply while no allocatable is known", func() {
		sizing := size(withPods(surgeOldNode, workload("web", "cpu=64")))
		Expect(written(sizing.Requests)).To(Equal([]string{"cpu=64"}))
		Expect(sizing.Clamped).To(BeEmpty())
		Expect(sizing.Refused).To(BeEmpty())
	})

	DescribeTable("keeps the full sum of a resource of which a new node has none, and says so",
		func(planned string, taken string) {
			sizing := size(allocatable("cpu=4", planned), withPods(surgeOldNode,
				workload("model", "cpu=5", "nvidia.com/gpu=2"), daemon("plugin", taken)))
			Expect(written(sizing.Requests)).To(Equal([]string{"cpu=4", "nvidia.com/gpu=2"}))
			Expect(sizing.Refused).To(ConsistOf(SatisfyAll(
				HavePrefix("nvidia.com/gpu: 2 is wanted"), ContainSubstring("NodeClaim old"))))
			Expect(sizing.Clamped).To(ConsistOf(HavePrefix("cpu:")), "every other resource is clamped as ever")
			Expect(sizing.BandExceeded).To(ConsistOf(HavePrefix("cpu:")))
		},
		Entry("because the plan has none", "memory=8Gi", "nvidia.com/gpu=0"),
		Entry("because DaemonSets take all of it", "nvidia.com/gpu=1", "nvidia.com/gpu=1"),
		Entry("because DaemonSets take more than there is", "nvidia.com/gpu=1", "nvidia.com/gpu=3"),
	)

	It("refuses nothing of which none is wanted", func() {
		sizing := size(allocatable("cpu=4"), withPods(surgeOldNode, workload("web", "nvidia.com/gpu=0")))
		Expect(sizing.Refused).To(BeEmpty())
	})

	It("does not hold finished DaemonSet Pods against the limit", func() {
		sizing := size(allocatable("cpu=4"), withPods(surgeOldNode,
			workload("web", "cpu=4"), edited(daemon("done", "cpu=1"), inPhase(corev1.PodFailed))))
		Expect(written(sizing.Requests)).To(Equal([]string{"cpu=4"}))
	})

	It("lists its sentences in the order of the resources", func() {
		changes := []change{allocatable("a=1", "b=1", "c=1", "d=1"), withPods(surgeOldNode, workload("web", "d=2", "b=2", "c=2", "a=2"))}
		for range 20 {
			Expect(size(changes...).Clamped).To(HaveExactElements(HavePrefix("a:"), HavePrefix("b:"), HavePrefix("c:"), HavePrefix("d:")))
		}
	})
})

// §3.3: requests = min(sum, limit), and the full sum where the limit is 0.
func TestRequestsNeverExceedSumNorLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millis := rapid.Int64Range(0, 8000)
		planned := millis.Draw(t, "planned")
		var wanted, taken int64
		var pods []*corev1.Pod
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			cpu := millis.Draw(t, "cpu")
			if rapid.Bool().Draw(t, "daemon") {
				taken += cpu
				pods = append(pods, daemon(fmt.Sprint(i), fmt.Sprintf("cpu=%dm", cpu)))
			} else {
				wanted += cpu
				pods = append(pods, workload(fmt.Sprint(i), fmt.Sprintf("cpu=%dm", cpu)))
			}
		}
		sizing := rotation.Size(surging(allocatable(fmt.Sprintf("cpu=%dm", planned)), withPods(surgeOldNode, pods...)))

		limit := max(planned-taken, 0)
		expected := min(wanted, limit)
		if limit == 0 {
			expected = wanted
		}
		asked := sizing.Requests[corev1.ResourceCPU]
		if asked.MilliValue() != expected {
			t.Fatalf("%s asked for; want %dm of %dm with %dm left to workloads", asked.String(), expected, wanted, limit)
		}
		if refused := limit == 0 && wanted > 0; (len(sizing.Refused) > 0) != refused {
			t.Fatalf("refused %v with %dm wanted and a limit of %dm", sizing.Refused, wanted, limit)
		}
	})
}

// The Pods lead into the cache: summing them up must leave them as they are.
func TestSizingChangesNoPod(t *testing.T) {
	g := NewWithT(t)
	pod := workload("web", "cpu=1")
	s := surging(withPods(surgeOldNode, pod, workload("web-2", "cpu=2")), allocatable("cpu=2"))
	first := rotation.Size(s)
	first.Requests[corev1.ResourceCPU] = resource.MustParse("99")
	g.Expect(written(pod.Spec.Containers[0].Resources.Requests)).To(Equal([]string{"cpu=1"}))
	g.Expect(written(rotation.Size(s).Requests)).To(Equal([]string{"cpu=2"}))
	g.Expect(s.Now).To(Equal(surgeStart.Add(5 * time.Minute)))
}
