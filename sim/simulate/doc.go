// SPDX-License-Identifier: Apache-2.0

// Package simulate tries a fleet and its policies in the simulated cluster: it reads manifests and short fleet
// descriptions, lets the time pass, and tells what became of every node. It watches the world from outside, by the
// objects and their annotations, as a person with kubectl would.
//
// What must never enter: a rule of a rotation, and the machine's own time.
package simulate
