// SPDX-License-Identifier: Apache-2.0

// Package truth holds the simulated cluster against a real one. Its scenarios exist once, as texts in testdata with the
// transitions that they must come to, and are carried out in both: `make test` plays them in the simulator, `make e2e`
// on the control plane and the Karpenter of test/cluster. Each side must reproduce the text.
//
// A scenario is written like one of package scripts, and its setting has the same words. Its steps are those of verbs.go:
// what a real operator and a real cloud can do as well. Nothing in it is said in hours and minutes of a clock that both
// would have to share: a step either does something, or waits for what comes of it. What stands below a step that waits
// are the transitions since the last one, pool by pool, up to the one that is waited for:
//
//	> await dry-0 pending-timed-out
//	dry-0    pending-timed-out (pending → failed)
//
// What is compared is the order of the rows that fired in each pool, with the claim that each was about. Only transitions
// count that the controller logs: those that changed something. Left open are the instants, the order between two pools,
// and the names of claims that Karpenter adds, all of which are called dry+, since how many it tries is its own affair.
//
// What must never enter: a way to do or to wait for something that one of the two worlds cannot, and an expectation of
// one of them alone.
package truth
