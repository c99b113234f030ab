// SPDX-License-Identifier: Apache-2.0

// Package rotation is the domain: what a rotation knows and concludes, without doing anything.
//
// It holds the registry of annotation keys, the Snapshot of one NodePool, the state that is derived from it,
// the choice of the candidate, the feasibility findings, the governing policy, and the placeholder's size and
// constraints. Everything here is a pure function of its arguments.
//
// What must never enter: a client, a clock, a log, an informer, Karpenter's Go types. The room that reads
// the cluster (controller) translates what it read into the values of this package; guards and effects read them.
package rotation
