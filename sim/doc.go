// SPDX-License-Identifier: Apache-2.0

// Package sim is a simulated cluster: the product's own reconciler, table, guards and effects on an API in memory
// (package cluster) with a virtual clock, among small models of those who act in a real cluster. The simulator, the
// scenario scripts and the explorer stand on it. Nothing of the rotation loop is written a second time here.
//
// A World runs by moves. A move is a plain value that says who does what to which object, and when it is due; what an
// actor knows it reads from the objects. So a world can be cloned, and any move that is due next can be made next. Moves
// of one instant are made in the order in which they were called for. Chance is drawn from the seed and the name of what
// it is drawn for, never from a stream: the same run gives the same trace, and what happens to one object does not shift
// the luck of another.
//
// The actors, each a model of one real thing and no more exact than a rotation can notice:
//
//   - Karpenter (karpenter_*.go) provisions for Pods that find no room and for those of nodes that go, loses patience with
//     a launch that comes to nothing, expires and drains nodes, and when it is asked to replaces drifted ones and does
//     without those that are empty or underutilized, as far as markers, budgets and Pods let it;
//   - the garbage collector deletes the NodeClaims of a NodePool that is gone;
//   - the scheduler, the kubelet, replicated workloads with their disruption budgets, and daemon sets;
//   - an operator, who follows a script.
//
// The controller is a process that can be stopped and started, or suspended in the middle of a pass while another one
// takes over.
//
// Left out are prices, so that Karpenter never replaces a node by a cheaper one and consolidates one node at a time; sizes
// of nodes that a pool is not given, and the one large node that several Pods would share where each is launched one; its
// nomination of a node for a Pod that has yet to come, which keeps the node from being disrupted for some seconds; static
// NodePools; node repair; interruptions; Pods whose do-not-disrupt is a duration; and budgets that let unhealthy Pods go.
//
// The models are held against a real control plane and a real Karpenter: the scenarios of package truth happen in both, and
// must come to the same transitions in the same order. That holds what a rotation notices of the others, and not how long
// they take: the delays here are those of a cloud, and of the seed.
//
// What must never enter: a rule of a rotation, and the machine's own time.
package sim
