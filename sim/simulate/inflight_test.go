// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/simulate"
)

// arriving is a NodeClaim on its way when the dump was made: so old, and with this status.
func arriving(age time.Duration, status string) string {
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: api-2
  creationTimestamp: %q
  finalizers: [karpenter.sh/termination]
  labels: {karpenter.sh/nodepool: api, topology.kubernetes.io/zone: a, kubernetes.io/arch: amd64, karpenter.sh/capacity-type: spot}
spec:
  expireAfter: 336h
  terminationGracePeriod: 1h
  startupTaints: [{key: agent, value: starting, effect: NoExecute}]
status: {%s}
---
`, start.Add(-age).Format(time.RFC3339), status)
}

const (
	launched   = `providerID: "aws:///a/i-2", allocatable: {cpu: "4", memory: 16Gi, pods: "110"}, conditions: [{type: Launched, status: "True"}`
	registered = `nodeName: node-2, ` + launched + `, {type: Registered, status: "True"}]`
	// its Node, as the kubelet brought it
	arrived = `
apiVersion: v1
kind: Node
metadata:
  name: node-2
  labels: {karpenter.sh/nodepool: api, topology.kubernetes.io/zone: a, kubernetes.io/arch: amd64, karpenter.sh/capacity-type: spot}
spec:
  providerID: aws:///a/i-2
  taints:
  - {key: agent, value: starting, effect: NoExecute}
  - {key: node.kubernetes.io/not-ready, effect: NoSchedule}
  - {key: node.cloudprovider.kubernetes.io/uninitialized, value: "true", effect: NoSchedule}
  - {key: karpenter.sh/unregistered, effect: NoExecute}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}, conditions: [{type: Ready, status: "False"}]}
---
`
	// waiting is a second Pod of the dump's workload, which has no room beside the first.
	waiting = `
apiVersion: v1
kind: Pod
metadata:
  name: app-7c9d-y3
  namespace: shop
  labels: {app: app}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: app-7c9d, uid: "1", controller: true}]
spec: {containers: [{name: app, resources: {requests: {cpu: "3"}}}]}
status: {phase: Pending}
---
`
)

var _ = Describe("A NodeClaim that is on its way when the run begins", func() {
	lifeOf := func(result *simulate.Result, claim string) *simulate.Life {
		for _, life := range result.Lives {
			if life.Claim == claim {
				return life
			}
		}
		return nil
	}

	DescribeTable("gets on from where it stands, and takes the surge's Pods as any node does", func(documents, node string) {
		result, err := run(3*day, policy+documents+dump)
		Expect(err).NotTo(HaveOccurred())
		life := lifeOf(result, "api-2")
		Expect(life.Node).To(Equal(node))
		Expect(life.Ready).To(HaveValue(BeTemporally("~", start, 2*time.Minute)))
		Expect(life.Fate).To(Equal(simulate.Alive))

		Expect(result.Rotations).To(HaveLen(1))
		Expect(result.Rotations[0].Outcome).To(Equal(simulate.Completed))
		Expect(result.Rotations[0].Replacement).To(Equal("api-2"))
	},
		Entry("created", arriving(time.Minute, ""), "api-2"),
		Entry("launched", arriving(time.Minute, launched+"]"), "api-2"),
		Entry("launched, its Node not registered", arriving(time.Minute, launched+"]")+arrived, "api-2"),
		Entry("registered", arriving(time.Minute, registered), "node-2"),
		Entry("registered, its Node not initialized", arriving(time.Hour, registered)+arrived, "node-2"),
	)

	It("is planned onto while its Node has a startup taint: nothing more is launched for a Pod that waits", func() {
		standing := strings.ReplaceAll(arrived, "  - {key: node.kubernetes.io/not-ready, effect: NoSchedule}\n", "")
		result, err := run(10*time.Minute, policy+arriving(time.Minute, registered)+standing+waiting+dump)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Lives).To(ConsistOf(HaveField("Claim", "api-1"), HaveField("Claim", "api-2")))
	})

	It("is given up once its Node should have registered, and the surge gets another", func() {
		result, err := run(3*day, policy+arriving(20*time.Minute, launched+"]")+dump)
		Expect(err).NotTo(HaveOccurred())
		Expect(lifeOf(result, "api-2").Gone).To(HaveValue(BeTemporally("~", start, time.Minute)))
		Expect(result.Rotations).To(HaveLen(1))
		Expect(result.Rotations[0].Outcome).To(Equal(simulate.Completed))
	})
})
