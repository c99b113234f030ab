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

var _ = Describe("A daemon set in the simulated cluster", func() {
	const pool = "api"
	agent := sim.Daemon{Namespace: "kube-system", Name: "agent", Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity("1")}}
	waits := func(after time.Duration, name string) sim.Happening {
		return at(after, "creates Pod "+name, func(w *sim.World) { Expect(w.Create(aFleetPod(name, pool, "2"))).To(Succeed()) })
	}

	It("has its Pod on the nodes that it is for, and on no other", func() {
		config := aConfig()
		config.Daemons = []sim.Daemon{agent}
		config.Daemons[0].NodeSelector = map[string]string{rotation.LabelNodePool: pool}
		w := aWorld(config, []sim.Fleet{aFleet(pool, day), aFleet("web", day)}, aPolicy())
		w.RunUntil(start.Add(time.Minute))
		Expect(w.Pod("kube-system", "agent-api-0")).NotTo(BeNil())
		Expect(w.Pod("kube-system", "agent-web-0")).To(BeNil())
	})

	It("is on a node that is cordoned, or about to go", func() {
		config := aConfig()
		config.Daemons = []sim.Daemon{agent}
		config.Script = []sim.Happening{
			{At: start, What: "cordons the node", Do: func(w *sim.World) { w.Cordon("api-0", true) }},
			{At: start.Add(time.Minute), What: "deletes the Pod", Do: func(w *sim.World) { _ = w.Delete(w.Pod("kube-system", "agent-api-0"), nil) }},
		}
		w := aWorld(config, []sim.Fleet{aFleet(pool, day)}, aPolicy())
		w.RunUntil(start.Add(2 * time.Minute))
		Expect(w.Pod("kube-system", "agent-api-0").DeletionTimestamp).To(BeNil())
	})

	It("has its room kept on a node that is still being launched", func() {
		config := aConfig()
		config.Daemons = []sim.Daemon{agent}
		config.Script = []sim.Happening{waits(-2*time.Hour, "first"), waits(-2*time.Hour+10*time.Second, "second")}
		w := aWorld(config, []sim.Fleet{aFleet(pool, day)}, aPolicy())
		w.RunUntil(opening.Add(-2*time.Hour + 12*time.Second))
		Expect(claimsOf(w, pool)).To(Equal(3), "one for each of the Pods: a node of 4 CPU has no room for both beside the daemon set")
	})
})
