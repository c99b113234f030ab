// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// idle is an hour at which no rotation may begin.
const idle = -6 * time.Hour

var _ = Describe("Drift in the simulated cluster (§3.4)", func() {
	const pool = "api"
	var config sim.Config
	drifts := func(after time.Duration, node string) {
		config.Script = append(config.Script, at(after, "has "+node+" drift", func(w *sim.World) { w.Drift(node) }))
	}
	given := func(nodes string, reasons ...karpenterv1.DisruptionReason) {
		config.Script = append(config.Script, at(idle-time.Hour, "gives the pool a budget", func(w *sim.World) {
			np := w.NodePool(pool).DeepCopy()
			np.Spec.Disruption.Budgets = []karpenterv1.Budget{{Nodes: nodes, Reasons: reasons}}
			Expect(w.Update(np)).To(Succeed())
		}))
	}

	BeforeEach(func() { config = aConfig() })

	It("replaces a node: none less is there at any time, and no Pod comes onto the old one", func() {
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + 10*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(3))
		Expect(w.NodeClaim("api-0").DeletionTimestamp).To(BeNil())
		Expect(w.Node("api-0").Spec.Taints).To(ContainElement(karpenterv1.DisruptedNoScheduleTaint))

		w.RunUntil(opening.Add(idle + 10*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))
	})

	It("replaces a node of a pool that its limits fill: what is on its way out does not count", func() {
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFull(pool)}, aPolicy())
		w.RunUntil(opening.Add(idle + 10*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(3))
		Expect(nodesCounted(w, pool)).To(Equal(int64(2)))

		w.RunUntil(opening.Add(idle + 10*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))
	})

	It("counts a node again that is let be", func() {
		config.Karpenter.Shortages = []sim.Shortage{{From: start, Until: opening}}
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFull(pool)}, aPolicy())
		w.RunUntil(opening.Add(idle + 2*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(3))
		Expect(nodesCounted(w, pool)).To(Equal(int64(2)))

		w.RunUntil(opening.Add(idle + 9*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(2))
		Expect(nodesCounted(w, pool)).To(Equal(int64(2)))
	})

	It("needs no new node where the Pods fit on the others", func() {
		fleet := aFleet(pool, day, day)
		fleet.PodsPerNode = 1
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{fleet}, aPolicy())
		w.RunUntil(opening.Add(idle + 10*time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(1))
	})

	It("lets a node be whose replacement does not come, and tries again", func() {
		config.Karpenter.Shortages = []sim.Shortage{{From: start, Until: opening.Add(idle + 20*time.Minute)}}
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + 15*time.Second))
		Expect(w.Node("api-0").Spec.Taints).To(BeEmpty())
		Expect(claimsOf(w, pool)).To(Equal(2))

		w.RunUntil(opening.Add(idle + time.Hour))
		Expect(w.NodeClaim("api-0")).To(BeNil())
	})

	It("lets a node be after ten minutes, and leaves the replacement that comes too late", func() {
		config.Karpenter.Initialize = sim.Delay{Base: 12 * time.Minute}
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + 10*time.Minute + 5*time.Second))
		Expect(w.Node("api-0").Spec.Taints).To(BeEmpty())

		w.RunUntil(opening.Add(idle + 30*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil(), "the second attempt finds the node that is there by then")
		Expect(claimsOf(w, pool)).To(Equal(2))
	})

	It("takes one node of a small pool at a time, and none where a budget says so", func() {
		drifts(idle, "api-0")
		drifts(idle, "api-1")
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + 10*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(3))
		w.RunUntil(opening.Add(idle + 20*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(w.NodeClaim("api-1")).To(BeNil())

		config = aConfig()
		given("0", karpenterv1.DisruptionReasonDrifted)
		drifts(idle, "api-0")
		w = aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + time.Hour))
		Expect(w.NodeClaim("api-0")).NotTo(BeNil())
	})

	It("leaves a protected node alone for as long as it is", func() {
		config.Script = []sim.Happening{
			at(idle-time.Minute, "protects api-0", func(w *sim.World) { w.Protect("api-0", true) }),
			at(idle+time.Hour, "no longer", func(w *sim.World) { w.Protect("api-0", false) }),
		}
		drifts(idle, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy())
		w.RunUntil(opening.Add(idle + 59*time.Minute))
		Expect(w.Node("api-0").Spec.Taints).To(BeEmpty())
		w.RunUntil(opening.Add(idle + 70*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil())
	})

	It("leaves a node alone whose Pods cannot be evicted, unless the drain is bounded", func() {
		drifts(idle, "api-0")
		unbounded := aFleet(pool, day, day)
		unbounded.TerminationGracePeriod = 0
		w := aWorld(config, []sim.Fleet{unbounded}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(idle + time.Hour))
		Expect(w.NodeClaim("api-0").DeletionTimestamp).To(BeNil())

		config = aConfig()
		drifts(idle, "api-0")
		w = aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(idle + 5*time.Minute))
		Expect(w.NodeClaim("api-0").DeletionTimestamp).NotTo(BeNil())
	})

	It("leaves both nodes of a rotation alone, and replaces what has drifted afterwards", func() {
		drifts(20*time.Second, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("is left the node that it is replacing when the window opens, and which then needs no rotation", func() {
		drifts(-5*time.Second, "api-0")
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(BeEmpty())
		Expect(w.NodeClaim("api-0")).To(BeNil())
	})

	It("takes the node of a rotation that began before the cache showed so, and that counts as another hand's", func() {
		drifts(-time.Second, "api-0")
		config.Controller.Lag = 2 * time.Second
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(ContainElement("pending-force-expired"))
		Expect(leftovers(w)).To(BeEmpty())
	})
})

var _ = Describe("Consolidation in the simulated cluster (§3.4)", func() {
	const pool = "api"
	var config sim.Config
	// aHalfFull has nodes that hold one Pod each and could hold two.
	aHalfFull := func(ages ...time.Duration) sim.Fleet {
		fleet := aFleet(pool, ages...)
		fleet.PodsPerNode = 1
		return fleet
	}

	BeforeEach(func() {
		config = aConfig()
		config.Karpenter.ConsolidateAfter = 5 * time.Minute
	})

	It("ends an empty node once no Pod has come or gone for long enough", func() {
		empty := aFleet("spare", day)
		empty.PodsPerNode = 0
		w := aWorld(config, []sim.Fleet{aFleet(pool, day), empty}, aPolicy())
		w.RunUntil(opening.Add(-time.Hour))
		Expect(claimsOf(w, "spare")).To(BeZero())
		Expect(claimsOf(w, pool)).To(Equal(1))
	})

	It("leaves nodes alone that are not empty, unless it is asked to do without the underutilized", func() {
		w := aWorld(config, []sim.Fleet{aHalfFull(day, day, day, day)}, aPolicy())
		w.RunUntil(opening.Add(-time.Hour))
		Expect(claimsOf(w, pool)).To(Equal(4))

		config = aConfig()
		config.Karpenter.ConsolidateAfter, config.Karpenter.Underutilized = 5*time.Minute, true
		w = aWorld(config, []sim.Fleet{aHalfFull(day, day, day, day)}, aPolicy(), aBudget(pool, 3))
		w.RunUntil(opening.Add(-time.Hour))
		Expect(claimsOf(w, pool)).To(Equal(2))
		for _, pod := range w.Pods() {
			Expect(pod.Status.Phase).To(Equal(corev1.PodRunning), pod.Name)
		}
	})

	It("thinks better of it when the node is protected before it begins", func() {
		config.Karpenter.Underutilized = true
		config.Script = []sim.Happening{
			{At: start.Add(12 * time.Second), What: "protects the nodes", Do: func(w *sim.World) {
				for _, node := range w.Nodes() {
					w.Protect(node.Name, true)
				}
			}},
		}
		w := aWorld(config, []sim.Fleet{aHalfFull(day, day)}, aPolicy())
		w.RunUntil(opening.Add(-time.Hour))
		Expect(claimsOf(w, pool)).To(Equal(2))
	})

	It("keeps off the nodes of a rotation", func() {
		config.Start = opening
		config.Karpenter.Underutilized, config.Karpenter.ConsolidateAfter = true, 2*time.Second
		fleet := aFleet(pool, 10*day, day, day, day)
		fleet.PodsPerNode, fleet.EndsAfter, fleet.Grace = 1, time.Minute, new(2*time.Minute)
		w := aWorld(config, []sim.Fleet{fleet}, aPolicy())
		w.RunUntil(opening.Add(time.Minute)) // in the middle of the drain
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain"}))
		host := w.Node("api-1")
		Expect(host.Annotations).To(HaveKeyWithValue(rotation.KeySurgeFor, "api-0"))
		Expect(config.Trace.String()).To(ContainSubstring("karpenter leaves NodeClaim api-1 (underutilized): its Node is protected"))

		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})
})

var _ = Describe("A node that goes in the simulated cluster (§4.2)", func() {
	const pool = "api"
	gone := at(idle, "deletes the claim", func(w *sim.World) { _ = w.Delete(w.NodeClaim("api-0"), nil) })

	It("has room launched for its Pods before they can leave it", func() {
		config := aConfig()
		config.Script = []sim.Happening{gone}
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(idle + time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(3))
	})

	It("is no longer counted against its pool's limits (§3.3)", func() {
		config := aConfig()
		config.Script = []sim.Happening{gone}
		w := aWorld(config, []sim.Fleet{aFull(pool)}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(idle + time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(3))
		Expect(nodesCounted(w, pool)).To(Equal(int64(2)))
	})

	It("has none launched for Pods that no budget will ever let go, until its time is up", func() {
		config := aConfig()
		config.Script = []sim.Happening{gone}
		never := aBudget(pool, 0)
		never.Spec.MinAvailable, never.Spec.MaxUnavailable = nil, new(intstr.FromInt32(0))
		w := aWorld(config, []sim.Fleet{aFleet(pool, day, day)}, aPolicy(), never)
		w.RunUntil(opening.Add(idle + 59*time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(2))

		w.RunUntil(opening.Add(idle + 61*time.Minute))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))
	})
})

// aFull is a pool of two nodes whose limits leave room for no third, by number and by CPU.
func aFull(pool string) sim.Fleet {
	fleet := aFleet(pool, day, day)
	fleet.Limits = corev1.ResourceList{"nodes": *quantity("2"), corev1.ResourceCPU: *quantity("9")}
	return fleet
}

// nodesCounted is how many nodes Karpenter counts against the pool's limits.
func nodesCounted(w *sim.World, pool string) int64 {
	counted := w.NodePool(pool).Status.Resources["nodes"]
	return counted.Value()
}
