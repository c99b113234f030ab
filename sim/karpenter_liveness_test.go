// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

var _ = Describe("A launch that comes to nothing (§3.8)", func() {
	const pool = "api"
	var config sim.Config
	waiting := func(readyTimeout time.Duration) *v1alpha1.RotationPolicy {
		return aPolicy(func(p *v1alpha1.RotationPolicy) {
			p.Spec.Surge.ReadyTimeout = &metav1.Duration{Duration: readyTimeout}
			p.Spec.Surge.RetryBackoff = &metav1.Duration{Duration: max(readyTimeout, 30*time.Minute)}
		})
	}
	// theSurge is the claim that is neither of the fleet's.
	theSurge := func(w *sim.World) string {
		for _, claim := range w.NodeClaims() {
			if claim.Name != "api-0" && claim.Name != "api-1" {
				return claim.Name
			}
		}
		return ""
	}

	BeforeEach(func() { config = aConfig() })

	It("is given up after a quarter of an hour where no Node registers, and the surge goes on with another", func() {
		config.Script = []sim.Happening{at(-time.Minute, "strands a launch", func(w *sim.World) { w.KeepFromRegistering(1) })}
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, waiting(40*time.Minute))
		w.RunUntil(opening.Add(15 * time.Minute))
		first := theSurge(w)
		Expect(first).NotTo(BeEmpty())
		Expect(w.Node(first)).To(BeNil())

		w.RunUntil(opening.Add(15*time.Minute + 2*time.Second))
		Expect(w.NodeClaim(first)).To(BeNil())
		Expect(theSurge(w)).NotTo(BeEmpty())

		w.RunUntil(opening.Add(30 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})

	It("is reaped by the attempt that ends before, and fails only that", func() {
		config.Script = []sim.Happening{at(-time.Minute, "strands a launch", func(w *sim.World) { w.KeepFromRegistering(1) })}
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, waiting(10*time.Minute))
		w.RunUntil(opening.Add(14 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-timed-out"}))
		Expect(claimsOf(w, pool)).To(Equal(2))
		Expect(w.NodeClaim("api-0").Annotations).To(HaveKeyWithValue(rotation.KeyRetryCount, "1"))
	})

	It("leaves a registered Node all the time that it takes to be Ready", func() {
		config.Karpenter.Initialize = sim.Delay{Base: 20 * time.Minute}
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, waiting(40*time.Minute))
		w.RunUntil(opening.Add(time.Hour))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
	})

	It("is tried again for five minutes where the cloud answers with errors, then with another claim", func() {
		config.Script = []sim.Happening{
			at(-time.Minute, "breaks the cloud", func(w *sim.World) { w.FailLaunches(true) }),
			at(8*time.Minute, "mends it", func(w *sim.World) { w.FailLaunches(false) }),
		}
		w := aWorld(config, []sim.Fleet{aFleet(pool, 10*day, day)}, waiting(40*time.Minute))
		w.RunUntil(opening.Add(4 * time.Minute))
		first := theSurge(w)
		Expect(w.NodeClaim(first)).NotTo(BeNil())

		w.RunUntil(opening.Add(7 * time.Minute))
		Expect(w.NodeClaim(first)).To(BeNil())

		w.RunUntil(opening.Add(20 * time.Minute))
		Expect(rowsOf(config.Trace, pool)).To(Equal([]string{"start", "pending-wait", "drain", "drained"}))
		Expect(leftovers(w)).To(BeEmpty())
	})
})
