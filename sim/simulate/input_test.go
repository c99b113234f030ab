// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"noderotation.io/noderotation/sim/simulate"
)

var _ = DescribeTable("Bad input is told in one sentence, with its line", func(documents string, says types.GomegaMatcher) {
	_, err := run(day, documents)
	Expect(err).To(MatchError(says))
},
	Entry("no policy", fleet,
		Equal("the input has no RotationPolicy, so that nothing would ever be rotated; add one")),
	Entry("no pool", policy,
		Equal("the input has no NodePool and no Fleet; add what is to be rotated")),
	Entry("no policy matches", `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata: {name: weekly}
spec:
  nodePoolSelector: {matchLabels: {workload: web}}
  maintenanceWindows: [{timezone: UTC, days: [Mon], start: "02:00", end: "06:00"}]
---`+fleet,
		Equal("fleet.yaml:2: no RotationPolicy selects any of the pools api by its labels; correct nodePoolSelector, or label a pool")),
	Entry("an unknown zone", policy+fleet+`
kind: Trouble
shortages: [{zone: c}]
`,
		Equal("fleet.yaml:20: a shortage names zone c, which is unknown: the zones are a, b")),
	Entry("a zone that the NodePool does not allow", policy+`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: api}
spec: {template: {spec: {requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [a, b]}]}}}
---
kind: Fleet
pool: api
zones: [a, c]
nodes: 2
`,
		Equal("fleet.yaml:16: zone c of Fleet api is unknown: its NodePool allows a, b")),
	Entry("a claim without a pool", policy+fleet+`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: stray}
`,
		Equal("fleet.yaml:20: NodeClaim stray has no pool; give it the label karpenter.sh/nodepool")),
	Entry("a claim of a pool that is not there", policy+fleet+`
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: stray, labels: {karpenter.sh/nodepool: web}}
`,
		Equal("fleet.yaml:20: NodeClaim stray belongs to NodePool web, which the input does not have; add that NodePool")),
	Entry("an unknown key of a fleet", policy+`
kind: Fleet
pool: api
expiresAfter: 14d
nodes: 2
`,
		Equal("fleet.yaml:13: expiresAfter is an unknown key; did you mean expireAfter?")),
	Entry("an unknown key of a policy", `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata: {name: weekly}
spec:
  nodePoolSelector: {}
  surge:
    readyTimeOut: 10m
  maintenanceWindows: [{timezone: UTC, days: [Mon], start: "02:00", end: "06:00"}]
`,
		Equal("fleet.yaml:8: spec.surge.readyTimeOut is an unknown key; did you mean readyTimeout?")),
	Entry("a duration that is none", policy+`
kind: Fleet
pool: api
expireAfter: soon
nodes: 2
`,
		Equal(`fleet.yaml:13: expireAfter: "soon" is no duration: write one such as "60d", "1d12h" or "90m"`)),
	Entry("a number that is none", policy+`
kind: Fleet
pool: api
nodes: many
`,
		Equal("fleet.yaml:13: nodes is many, which must be a number")),
	Entry("a list that is none", policy+`
kind: Fleet
pool: api
nodes: 1
zones: a
`,
		Equal("fleet.yaml:14: zones must be a list")),
	Entry("a fleet without nodes", policy+"kind: Fleet\npool: api\n",
		Equal("fleet.yaml:10: Fleet api has no nodes; set nodes, or add batches")),
	Entry("an unknown time zone", `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata: {name: weekly}
spec:
  nodePoolSelector: {}
  maintenanceWindows: [{timezone: Asia/Tokio, days: [Mon], start: "02:00", end: "06:00"}]
---`+fleet,
		HavePrefix("fleet.yaml:2: RotationPolicy weekly: spec.maintenanceWindows[0]")),
	Entry("a chance beyond certainty", policy+fleet+`
kind: Trouble
shortages: [{chance: 20}]
`,
		Equal("fleet.yaml:20: a shortage has chance 20; set it above 0 and to at most 1")),
	Entry("a chance of nothing", policy+fleet+"kind: Trouble\nshortages: [{chance: 0}]\n",
		Equal("fleet.yaml:19: a shortage has chance 0; set it above 0 and to at most 1")),
	Entry("an outage of no length", policy+fleet+"kind: Trouble\noutages: [{from: 3d, for: 0s}]\n",
		Equal("fleet.yaml:19: an outage lasts 0s; set for to how long it lasts, or leave it out: it then lasts to the end of the run")),
	Entry("lengths of nothing everywhere", policy+fleet+`
kind: Trouble
shortages: [{for: 0h}]
slowProvisioning: [{for: 0h}]
slowDrains: [{for: 0h, endsAfter: 0s}]
blockingBudgets: [{for: 0h}]
freezes: [{pool: api, for: 0h}]
`,
		SatisfyAll(ContainSubstring("a shortage lasts 0s; "), ContainSubstring("slow provisioning lasts 0s; "), ContainSubstring("a slow drain lasts 0s; "),
			ContainSubstring("a blocking budget lasts 0s; "), ContainSubstring("a freeze lasts 0s; "),
			ContainSubstring("slow provisioning has no extra; "), ContainSubstring("a slow drain has no endsAfter; "))),
	Entry("a run of no length", policy+fleet+"kind: Simulation\nfor: 0s\n",
		Equal("fleet.yaml:19: the Simulation lasts 0s; set for to how long it lasts, or leave it out")),
	Entry("nodes that expire at once", policy+"kind: Fleet\npool: api\nnodes: 1\nexpireAfter: 0s\n",
		Equal("fleet.yaml:10: Fleet api has expireAfter 0s, with which no node could live; leave it out for nodes that never expire")),
	Entry("nodes of more than a century", policy+"kind: Fleet\npool: api\nnodes: 4\napart: 36500d\n",
		Equal("fleet.yaml:10: Fleet api has nodes of more than 36500 days; set apart or nodes lower")),
	Entry("a kind that is misspelt", policy+"kind: Fleets\n",
		HavePrefix(`fleet.yaml:10: kind Fleets of apiVersion "" is not known here; the kinds are `)),
	Entry("no YAML", "kind: [",
		HavePrefix("fleet.yaml:1: this is no YAML: ")),
	Entry("two wrongs at once", policy+"kind: Fleet\npool: api\nnode: 1\nzone: a\n",
		SatisfyAll(ContainSubstring("fleet.yaml:12: node must be a mapping"), ContainSubstring("fleet.yaml:13: zone is"))),
)

var _ = Describe("Input as kubectl prints it", func() {
	It("may be a List with NodeClaims, Nodes, Pods and budgets; other kinds are passed over", func() {
		result, err := run(3*day, policy+dump)
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Verdict.Rotated).To(Equal(1))
		Expect(result.Rotations[0].Claim).To(Equal("api-1"))
		Expect(result.Rotations[0].Replacement).NotTo(BeEmpty())
		Expect(result.Lives).To(ContainElement(SatisfyAll(HaveField("Claim", "api-1"), HaveField("Node", "node-1"))))
	})

	It("takes Karpenter's default of 720h where a NodePool says nothing of expireAfter", func() {
		result, err := run(30*day, policy+`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: api}
spec: {template: {spec: {terminationGracePeriod: 1h}}}
---
kind: Fleet
pool: api
batches: [{nodes: 1, age: 2d}]
`)
		Expect(err).NotTo(HaveOccurred())
		life := result.Lives[0]
		Expect(life.Deadline.Sub(life.Born)).To(Equal(30 * day))
		Expect(result.Verdict.Rotated).To(Equal(1))
	})
})

var _ = DescribeTable("A result as JSON has lists where there is nothing to list", func(span time.Duration, documents string) {
	result, err := run(span, policy+documents)
	Expect(err).NotTo(HaveOccurred())
	out, err := json.Marshal(result)
	Expect(err).NotTo(HaveOccurred())
	Expect(string(out)).To(SatisfyAll(ContainSubstring(`"rotations":[]`), Not(ContainSubstring("null"))))
},
	Entry("of a run in which no rotation begins", time.Hour, fleet),
	Entry("of a run in which no node ever is", time.Hour, `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: api}
spec: {template: {spec: {expireAfter: 336h}}}
`),
	Entry("of a run without a controller", 5*day, fleet+"kind: Trouble\noutages: [{}]\n"),
)

var _ = Describe("A length of zero", func() {
	first := func(documents string) *simulate.Rotation {
		result, err := run(2*day, policy+documents+"---\nkind: Trouble\nblockingBudgets: [{namespace: api}]\n")
		Expect(err).NotTo(HaveOccurred())
		Expect(result.Rotations).NotTo(BeEmpty())
		return result.Rotations[0]
	}

	It("as gracePeriod ends Pods at once", func() {
		result, err := run(2*day, policy+strings.Replace(fleet, "endsAfter: 5s", "endsAfter: 20s, gracePeriod: 0s", 1))
		Expect(err).NotTo(HaveOccurred())
		r := result.Rotations[0]
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("<=", 20*time.Second))
	})

	It("as terminationGracePeriod of a Fleet ends a drain at once, whatever blocks it", func() {
		r := first(strings.Replace(fleet, "terminationGracePeriod: 1h", "terminationGracePeriod: 0s", 1))
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("<", time.Minute))
	})

	It("as terminationGracePeriod of a Fleet's NodePool does the same", func() {
		r := first(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: api}
spec: {template: {spec: {expireAfter: 336h, terminationGracePeriod: 0s}}}
---
kind: Fleet
pool: api
batches: [{nodes: 1, age: 10d}]
workload: {podsPerNode: 1}
`)
		Expect(r.End.Sub(*r.Draining)).To(BeNumerically("<", time.Minute))
	})
})

// dump is a cluster of two nodes, one of which is due, cut down to what a reader can take in.
const dump = `
apiVersion: v1
kind: List
items:
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: api, uid: one}
  spec: {template: {spec: {expireAfter: 336h, terminationGracePeriod: 1h}}}
  status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2025-12-29T00:00:00Z"}]}
- apiVersion: karpenter.sh/v1
  kind: NodeClaim
  metadata:
    name: api-1
    creationTimestamp: "2025-12-29T00:00:00Z"
    finalizers: [karpenter.sh/termination]
    labels: {karpenter.sh/nodepool: api, topology.kubernetes.io/zone: a, kubernetes.io/arch: amd64, karpenter.sh/capacity-type: spot}
    aFieldOfTomorrow: true
  spec: {expireAfter: 336h, terminationGracePeriod: 1h}
  status:
    nodeName: node-1
    allocatable: {cpu: "4", memory: 16Gi, pods: "110"}
    conditions: [{type: Ready, status: "True"}, {type: Initialized, status: "True"}, {type: Launched, status: "True"}]
- apiVersion: v1
  kind: Node
  metadata:
    name: node-1
    creationTimestamp: "2025-12-29T00:00:00Z"
    finalizers: [karpenter.sh/termination]
    labels: {karpenter.sh/nodepool: api, topology.kubernetes.io/zone: a, kubernetes.io/arch: amd64, karpenter.sh/capacity-type: spot}
  status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata:
    name: app-7c9d-x2
    namespace: shop
    labels: {app: app}
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: app-7c9d, uid: "1", controller: true}]
  spec: {nodeName: node-1, containers: [{name: app, resources: {requests: {cpu: "3"}}}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata:
    name: agent-1
    namespace: kube-system
    ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: "2", controller: true}]
  spec: {nodeName: node-1, containers: [{name: agent, resources: {requests: {cpu: 100m}}}]}
  status: {phase: Running}
- apiVersion: policy/v1
  kind: PodDisruptionBudget
  metadata: {name: app, namespace: shop}
  spec: {maxUnavailable: 1, selector: {matchLabels: {app: app}}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: app, namespace: shop}
`
