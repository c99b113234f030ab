// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A DaemonSet of a dump that would leave no room for a waiting Pod on a new node", func() {
	// launched is how many nodes are launched for the Pod beside a DaemonSet whose Pod says this.
	launched := func(cluster, says string) int {
		result, err := run(time.Hour, policy+fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata: {name: other-1, labels: {workload: gpu}}
spec: {taints: [{key: other, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: driver-1
  namespace: kube-system
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: driver, uid: "3", controller: true}]
spec: {nodeName: other-1, containers: [{name: driver, resources: {requests: {cpu: "2"}}}], %s}
status: {phase: Running}
---
`, says)+cluster)
		Expect(err).NotTo(HaveOccurred())
		return len(result.Lives) - 1
	}
	pinned := func(expressions string) string {
		return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{" + expressions +
			"matchFields: [{key: metadata.name, operator: In, values: [other-1]}]}]}}}"
	}
	open := waiting + dump
	tainted := strings.NewReplacer(
		"{template: {spec: {", "{template: {spec: {taints: [{key: dedicated, value: api, effect: NoSchedule}], ",
		"{containers: [{name: app,", "{tolerations: [{key: dedicated, operator: Exists}], containers: [{name: app,").Replace(open)

	DescribeTable("is in nobody's way where it is for other nodes", func(cluster, says string) {
		Expect(launched(cluster, says)).To(Equal(1))
	},
		Entry("by a selector", open, "nodeSelector: {workload: gpu}"),
		Entry("by an affinity", open, pinned("matchExpressions: [{key: workload, operator: In, values: [gpu]}], ")),
		Entry("for what it does not tolerate", tainted, "tolerations: [{key: other, operator: Exists}]"),
	)

	DescribeTable("has none launched where it is for these nodes too, as in Karpenter", func(cluster, says string) {
		Expect(launched(cluster, says)).To(BeZero())
	},
		Entry("by saying nothing", open, ""),
		Entry("by what its controller adds to each Pod alone", open, pinned("")),
		Entry("by a selector", open, "nodeSelector: {kubernetes.io/os: linux}"),
		Entry("by a label's former name", open, "nodeSelector: {beta.kubernetes.io/os: linux}"),
		Entry("by an affinity with a label's former name", open, pinned("matchExpressions: [{key: beta.kubernetes.io/arch, operator: In, values: [amd64]}], ")),
		Entry("by what it tolerates", tainted, "tolerations: [{key: dedicated, operator: Exists}]"),
	)
})
