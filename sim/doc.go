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
// The actors, each a model of one real thing and no more exact than a rotation can notice: Karpenter (karpenter_*.go),
// the scheduler, the kubelet, replicated workloads with their disruption budgets, daemon sets, and an operator, who
// follows a script. The controller is a process that can be stopped and started.
//
// The models are held against a real control plane and a real Karpenter: the scenarios of package truth happen in both, and
// must come to the same transitions in the same order. That holds what a rotation notices of the others, and not how long
// they take: the delays here are those of a cloud, and of the seed.
//
// What must never enter: a rule of a rotation, and the machine's own time.
package sim
