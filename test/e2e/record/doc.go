// SPDX-License-Identifier: Apache-2.0

// Package record keeps a complete recording of what happens to the NodePools, NodeClaims, Nodes, Pods and
// PodDisruptionBudgets of a cluster: every event, in the order in which it was written.
//
// Verdicts replay a recording, so that what lasted a millisecond is judged like what lasted a minute. Nothing in here
// samples, and nothing judges.
package record
