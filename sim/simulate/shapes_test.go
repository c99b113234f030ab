// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// mixed is a dump of a pool with two nodes, of which the large one is due and has a Pod of 14 CPU.
func mixed(small, large, limits string) string {
	claim := func(name, created, cpu string) string {
		return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: %s
  creationTimestamp: %q
  finalizers: [karpenter.sh/termination]
  labels: {karpenter.sh/nodepool: api, topology.kubernetes.io/zone: a, kubernetes.io/arch: amd64, karpenter.sh/capacity-type: spot}
spec: {expireAfter: 336h, terminationGracePeriod: 1h}
status:
  nodeName: node-of-%[1]s
  capacity: {cpu: "%[3]s", memory: 64Gi, pods: "110"}
  allocatable: {cpu: "%[3]s", memory: 60Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}, {type: Initialized, status: "True"}, {type: Registered, status: "True"}, {type: Launched, status: "True"}]
---
`, name, created, cpu)
	}
	return fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: api}
spec: {%s template: {spec: {expireAfter: 336h, terminationGracePeriod: 1h}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: app-7c9d-x2
  namespace: shop
  labels: {app: app}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: app-7c9d, uid: "1", controller: true}]
spec: {nodeName: node-of-%s, containers: [{name: app, resources: {requests: {cpu: "14"}}}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
`, limits, large) + claim(small, "2026-01-08T00:00:00Z", "2") + claim(large, "2025-12-30T00:00:00Z", "16")
}

var _ = Describe("A pool whose nodes are of several sizes", func() {
	DescribeTable("has a large one replaced by a large one, whichever is listed first", func(small, large, limits string) {
		result, err := run(5*day, policy+mixed(small, large, limits))
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Verdict.Expired).To(BeZero())
		Expect(result.Verdict.FailedAttempts).To(BeZero())
		Expect(result.Rotations).To(ConsistOf(HaveField("Claim", large)))
	},
		Entry("the small one", "api-aaaaa", "api-bbbbb", ""),
		Entry("the large one", "api-bbbbb", "api-aaaaa", ""),
		Entry("the small one, with limits that leave room", "api-aaaaa", "api-bbbbb", `limits: {cpu: "34"},`),
		Entry("the large one, with limits that leave room", "api-bbbbb", "api-aaaaa", `limits: {cpu: "34"},`),
	)
})
