// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

var _ = Describe("A rotation in the simulated cluster", func() {
	const pool = "api"
	var config sim.Config
	due, young := 10*day, day

	BeforeEach(func() { config = aConfig() })

	It("is undisturbed: surge, drain, done, and never more than one node too many (§5.3, §3.3)", func() {
		var w *sim.World
		most := mostClaims(&config, &w, pool)
		w = aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy(), aBudget(pool, 3))
		w.RunUntil(opening.Add(time.Hour))

		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(claimsOf(w, pool)).To(Equal(2))
		Expect(*most).To(Equal(3))
		Expect(leftovers(w)).To(BeEmpty())
		Expect(w.NodePool(pool).Annotations).To(HaveKey(rotation.KeyLastRotationAt))
	})

	It("makes the twelve writes of architecture.md and no other", func() {
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))

		surge := w.NodeClaims()[1].Name
		draining, done := "2026-01-09T17:01:02Z", "2026-01-09T17:01:13Z"
		Expect(writesOf(config.Trace)).To(Equal([]string{
			"patch NodePool api: active-rotation=api-0 anchored-on=3",
			"patch NodeClaim api-0: started-at=2026-01-09T17:00:00Z state=pending",
			"patch Node api-0: karpenter.sh/do-not-disrupt=true cordoned=true do-not-disrupt-owned=true surge-for=api-0 unschedulable=true",
			"create Pod noderotation/surge-for-api-0",
			"patch NodeClaim api-0: surge-claim=" + surge,
			"patch Node " + surge + ": karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=api-0",
			"patch NodePool api: active-rotation-state=draining draining-at=" + draining + " surge-wait=1m2s",
			"patch NodeClaim api-0: state=draining",
			"delete NodeClaim api-0",
			"delete Pod noderotation/surge-for-api-0",
			"patch Node " + surge + ": -karpenter.sh/do-not-disrupt -do-not-disrupt-owned -surge-for",
			"patch NodePool api: last-rotation-at=" + done + " -active-rotation -active-rotation-state -anchored-on -draining-at -surge-wait",
		}))
	})

	It("falls back to a drain without a surge when it is too late for one (§3.6)", func() {
		w := aWorld(config, []sim.Fleet{aFleet(pool, 14*day-18*time.Hour, young)}, aPolicy(func(p *v1alpha1.RotationPolicy) {
			p.Spec.Surge.ForcefulFallback.Enabled = true
		}))
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start-fallback", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("gives way when Karpenter expires the node first, and takes no cooldown (§5.2 force-expiry)", func() {
		w := aWorld(config, []sim.Fleet{aFleet(pool, 14*day-17*time.Hour-20*time.Second, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-force-expired"}))
		Expect(leftovers(w)).To(BeEmpty())
		Expect(w.NodePool(pool).Annotations).NotTo(HaveKey(rotation.KeyLastRotationAt))
	})

	It("rolls back when capacity is short, backs off, and succeeds once there is some (§3.8)", func() {
		config.Karpenter.Shortages = []sim.Shortage{{Zone: "a", From: opening, Until: opening.Add(40 * time.Minute)}}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(20 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-timed-out"}))
		Expect(leftovers(w)).To(BeEmpty())
		Expect(w.NodeClaim("api-0").Annotations).To(HaveKeyWithValue(rotation.KeyRetryCount, "1"))

		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)[2:]).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("reaps the claim that it induced when its node comes too late (§3.8)", func() {
		config.Karpenter.Slow = []sim.Slowness{{From: opening, Until: opening.Add(10 * time.Minute), Extra: 14*time.Minute + 30*time.Second}}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(20 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-timed-out"}))
		Expect(claimsOf(w, pool)).To(Equal(2))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("tells what holds a drain that lasts, and goes on once it ends (§5.2 stuck drain)", func() {
		fleet := aFleet(pool, due, young)
		fleet.TerminationGracePeriod = 0
		config.Script = []sim.Happening{at(2*time.Hour, "deletes the budget", func(w *sim.World) { _ = w.Delete(w.Budget(pool, "budget"), nil) })}
		w := aWorld(config, []sim.Fleet{fleet}, aPolicy(), aBudget(pool, 4))
		w.RunUntil(opening.Add(3 * time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"rest", "start", "pending-wait", "drain", "drain-stuck", "drained"}))
		Expect(config.Trace.String()).To(ContainSubstring("PodDisruptionBudget api/budget allows no disruption (4 of 4 healthy, 4 needed)"))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("is held by a freeze and fails in the ordinary way if that lasts (§3.1)", func() {
		config.Script = []sim.Happening{at(20*time.Second, "freezes the pool", func(w *sim.World) { w.Freeze(pool, opening.Add(30*time.Minute)) })}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal(
			[]string{"start", "pending-held", "pending-timed-out", "start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("is taken back when its policy goes, and the claim may be rotated later (§5.4)", func() {
		config.Script = []sim.Happening{
			at(20*time.Second, "deletes the policy", func(w *sim.World) { _ = w.Delete(w.Policy("weekly"), nil) }),
			at(time.Hour, "creates it again", func(w *sim.World) { _ = w.Create(aPolicy()) }),
		}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(30 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-governance-lost"}))
		Expect(leftovers(w)).To(BeEmpty())

		w.RunUntil(opening.Add(2 * time.Hour))
		Expect(rowsOf(config.Trace, pool)[2]).To(Equal("start"))
		Expect(w.NodeClaim("api-0")).To(BeNil())
	})

	It("leaves what an operator set (§3.4)", func() {
		config.Script = []sim.Happening{
			at(-time.Hour, "cordons api-0", func(w *sim.World) { w.Cordon("api-0", true) }),
			at(20*time.Second, "deletes the policy", func(w *sim.World) { _ = w.Delete(w.Policy("weekly"), nil) }),
		}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-governance-lost"}))
		Expect(leftovers(w)).To(Equal([]string{"cordon of api-0"}))
	})

	It("loses its reservation to a workload and reserves anew (§3.3)", func() {
		config.Script = []sim.Happening{at(61*time.Second, "starts an urgent Pod", func(w *sim.World) {
			pod := aFleetPod("urgent", pool, "3")
			priority := int32(1000)
			pod.Spec.Priority = &priority
			Expect(w.Create(pod)).To(Succeed())
		})}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(w.NodeClaim("api-0")).To(BeNil())
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("survives an outage: the next process goes on where the last one was (§5.2)", func() {
		config.Script = []sim.Happening{
			at(20*time.Second, "kills the controller", func(w *sim.World) { w.StopController() }),
			at(10*time.Minute, "starts it", func(w *sim.World) { w.StartController() }),
		}
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("runs beside that of another pool (§3.3)", func() {
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young), aFleet("web", due, young)}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		for _, each := range []string{pool, "web"} {
			Expect(rowsOf(config.Trace, each)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		}
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("does not start where the limits leave no room, until they do (§3.3 surge_headroom)", func() {
		fleet := aFleet(pool, due, young)
		fleet.Limits = corev1.ResourceList{corev1.ResourceCPU: *quantity("8")}
		config.Script = []sim.Happening{at(30*time.Minute, "raises the limit", func(w *sim.World) {
			np := w.NodePool(pool).DeepCopy()
			np.Spec.Limits[corev1.ResourceCPU] = *quantity("12")
			Expect(w.Update(np)).To(Succeed())
		})}
		w := aWorld(config, []sim.Fleet{fleet}, aPolicy())
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start-without-headroom", "start", "pending-wait", "drain", "drained"}))
	})

	It("comes to the same end when the cache lags (architecture.md, reading its own writes)", func() {
		config.Controller.Lag = 3 * time.Second
		w := aWorld(config, []sim.Fleet{aFleet(pool, due, young)}, aPolicy(), aBudget(pool, 3))
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})
})

var _ = Describe("A run of the simulated cluster", func() {
	run := func(edit func(*sim.Config)) string {
		config := aConfig()
		config.Karpenter.Shortages = []sim.Shortage{{From: start, Until: start.Add(15 * day), Chance: 0.3}}
		config.Karpenter.Zones = []string{"a", "b", "c"}
		edit(&config)
		var fleets []sim.Fleet
		for _, pool := range []string{"api", "web", "batch"} {
			fleet := aFleet(pool, sim.Ages(5, 4*day, 2*day)...)
			fleet.Zones = []string{"a", "b", "c"}
			fleets = append(fleets, fleet)
		}
		w := aWorld(config, fleets, aPolicy(), aBudget("api", 9))
		w.RunUntil(start.Add(15 * day))
		return config.Trace.String()
	}
	seeded := func(seed uint64) func(*sim.Config) { return func(c *sim.Config) { c.Seed = seed } }

	It("is the same from the same seed, and another from another", func() {
		first := run(seeded(1))
		Expect(run(seeded(1))).To(Equal(first))
		Expect(run(seeded(2))).NotTo(Equal(first))
	})

	It("is the same when passes are left out that cannot differ", func() {
		Expect(run(func(c *sim.Config) { c.Controller.Skip = true })).To(Equal(run(func(*sim.Config) {})))
	})
})
