// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/sim"
)

var _ = Describe("A pool whose nodes are of several shapes", func() {
	const (
		pool = "api"
		gpu  = "example.com/gpu"
	)
	list := func(pairs ...string) corev1.ResourceList {
		out := corev1.ResourceList{corev1.ResourcePods: *quantity("110"), corev1.ResourceMemory: *quantity("16Gi")}
		for i := 0; i < len(pairs); i += 2 {
			out[corev1.ResourceName(pairs[i])] = *quantity(pairs[i+1])
		}
		return out
	}
	var config sim.Config
	// aMixed has one node of 4 CPU, which two Pods fill; its limits are these.
	aMixed := func(limits ...string) sim.Fleet {
		fleet := aFleet(pool, day)
		fleet.Limits = corev1.ResourceList{}
		for i := 0; i < len(limits); i += 2 {
			fleet.Limits[corev1.ResourceName(limits[i])] = *quantity(limits[i+1])
		}
		return fleet
	}
	waits := func(after time.Duration, name string, asks ...string) {
		pod := aFleetPod(name, pool, "0")
		requests := list(asks...)
		delete(requests, corev1.ResourcePods)
		delete(requests, corev1.ResourceMemory)
		pod.Spec.Containers[0].Resources.Requests = requests
		config.Script = append(config.Script, sim.Happening{
			At: start.Add(after), What: "creates Pod " + name, Do: func(w *sim.World) { Expect(w.Create(pod)).To(Succeed()) },
		})
	}
	// launched are the CPUs of the nodes that were launched, in the order of their names.
	launched := func(w *sim.World) []string {
		var cpus []string
		for _, claim := range w.NodeClaims() {
			if claim.Name != "api-0" {
				cpus = append(cpus, claim.Status.Capacity.Cpu().String())
			}
		}
		return cpus
	}

	BeforeEach(func() {
		config = aConfig()
		for _, offers := range []corev1.ResourceList{list("cpu", "16"), list("cpu", "2"), list("cpu", "8", gpu, "1"), list("cpu", "2")} {
			config.Karpenter.AddShape(pool, sim.Shape{Capacity: offers, Allocatable: offers})
		}
	})

	DescribeTable("has the smallest launched that will do", func(limits []string, cpus []string, asks ...string) {
		waits(0, "waiting", asks...)
		w := aWorld(config, []sim.Fleet{aMixed(limits...)}, aPolicy())
		w.RunUntil(start.Add(5 * time.Minute))
		Expect(launched(w)).To(Equal(cpus))
	},
		Entry("for a small Pod", nil, []string{"2"}, "cpu", "1500m"),
		Entry("for one of a fleet's Pods", nil, []string{"4"}, "cpu", "3"),
		Entry("for a large Pod, none with a device that it does not ask for", nil, []string{"16"}, "cpu", "6"),
		Entry("for a Pod that asks for the device", nil, []string{"8"}, "cpu", "1", gpu, "1"),
		Entry("for a Pod that is too large for any", nil, nil, "cpu", "17"),
		Entry("for what the limits leave room for, each node counted with its own size", []string{"cpu", "6"}, []string{"2"}, "cpu", "1500m"),
		Entry("for what the limits leave no room for", []string{"cpu", "5"}, nil, "cpu", "1500m"),
		Entry("within limits that refuse the shapes that would do", []string{"cpu", "19"}, nil, "cpu", "9"),
		Entry("within a limit on the number of nodes", []string{"nodes", "1"}, nil, "cpu", "1500m"),
	)

	It("has a launched node filled as what it is, before it is there and after", func() {
		waits(0, "first", "cpu", "6")
		waits(3*time.Second, "second", "cpu", "6")
		waits(4*time.Minute, "third", "cpu", "3")
		w := aWorld(config, []sim.Fleet{aMixed()}, aPolicy())
		w.RunUntil(start.Add(5 * time.Minute))
		Expect(launched(w)).To(Equal([]string{"16"}))
		Expect(w.Pod(pool, "third").Spec.NodeName).To(Equal(w.Pod(pool, "first").Spec.NodeName))
	})

	DescribeTable("has a drifted node replaced by several within its limits alone", func(limit string, nodes int) {
		config.Script = []sim.Happening{{At: start, What: "has the node drift", Do: func(w *sim.World) { w.Drift("api-0") }}}
		w := aWorld(config, []sim.Fleet{aMixed("nodes", limit)}, aPolicy())
		w.RunUntil(start.Add(10 * time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(nodes))
	}, Entry("room for two", "2", 2), Entry("room for one", "1", 1))

	DescribeTable("counts what nodes have, not what they offer", func(limit string, cpus ...string) {
		offers, has := list("cpu", "1900m"), list("cpu", "2")
		config.Karpenter.Shapes = nil
		config.Karpenter.AddShape(pool, sim.Shape{Capacity: has, Allocatable: offers})
		waits(0, "waiting", "cpu", "1900m")
		w := aWorld(config, []sim.Fleet{aMixed("cpu", limit)}, aPolicy())
		w.RunUntil(start.Add(5 * time.Minute))
		Expect(launched(w)).To(Equal(append([]string(nil), cpus...)))
		used := w.NodePool(pool).Status.Resources[corev1.ResourceCPU]
		Expect(used.Value()).To(Equal(int64(4 + 2*len(cpus))))
	}, Entry("room for it", "6", "2"), Entry("room for what it offers alone", "5950m"))
})
