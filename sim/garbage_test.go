// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

var _ = Describe("A NodePool that is deleted in the simulated cluster (§3.8)", func() {
	const pool = "api"
	due, young := 10*day, day
	var config sim.Config

	deletePool := func(w *sim.World) { Expect(w.Delete(w.NodePool(pool), nil)).To(Succeed()) }
	roaming := func() sim.Fleet {
		fleet := aFleet(pool, due, young)
		fleet.Roaming = true
		return fleet
	}

	BeforeEach(func() { config = aConfig() })

	It("goes at once, and its claims after it, that of a surge too", func() {
		config.Script = []sim.Happening{at(20*time.Second, "deletes the pool", deletePool)}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(30 * time.Second))
		Expect(w.NodePool(pool)).To(BeNil())

		w.RunUntil(opening.Add(30 * time.Minute))
		Expect(w.NodeClaims()).To(BeEmpty())
		Expect(w.Nodes()).To(BeEmpty())
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("leaves no claim even where its budgets allow no disruption: only those of Pods hold the drain, up to its bound", func() {
		config.Script = []sim.Happening{at(-time.Hour, "deletes the pool", deletePool)}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(-2 * time.Minute))
		Expect(claimsOf(w, pool)).To(Equal(2))

		w.RunUntil(opening.Add(time.Minute))
		Expect(claimsOf(w, pool)).To(BeZero())
	})

	It("has its Pods housed by the pools that are left", func() {
		config.Script = []sim.Happening{at(0, "deletes the pool", deletePool)}
		w := aWorld(config, []sim.Fleet{roaming(), aFleet("web", young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))

		Expect(claimsOf(w, pool)).To(BeZero())
		for _, pod := range w.Pods() {
			Expect(pod.Status.Phase).To(Equal(corev1.PodRunning), pod.Name)
			Expect(w.Node(pod.Spec.NodeName).Labels).To(HaveKeyWithValue(rotation.LabelNodePool, "web"))
		}
	})

	It("stays in the foreground until its claims are gone, and gets no new one", func() {
		config.Script = []sim.Happening{at(0, "deletes the pool", func(w *sim.World) { w.DeleteInForeground(pool) })}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(30 * time.Minute))
		Expect(w.NodePool(pool).DeletionTimestamp).NotTo(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))

		w.RunUntil(opening.Add(2 * time.Hour))
		Expect(w.NodePool(pool)).To(BeNil())
		Expect(w.NodeClaims()).To(BeEmpty())
	})

	It("that is created anew under its name keeps none of the old claims", func() {
		config.Script = []sim.Happening{at(0, "deletes the pool and creates it again", func(w *sim.World) {
			old := w.NodePool(pool).DeepCopy()
			deletePool(w)
			old.UID, old.ResourceVersion = "", ""
			Expect(w.Create(old)).To(Succeed())
		})}

		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(w.NodeClaim("api-1")).To(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))
	})
})
