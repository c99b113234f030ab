// SPDX-License-Identifier: Apache-2.0

// Package diff tells what a change of a table means: not which lines differ, but
// in which cases another row fires, leads elsewhere or does something else.
//
// A case is a truth assignment of the guards that a state asks, as far as the
// guards' declarations allow it. Sets of cases are held as decision diagrams, so
// no case is ever looked at by itself: ten guards or twenty, the work follows
// the structure of the rows. What is found is exact, and told by the edit that
// brings it about, under conditions that are as short as they can be.
//
// What must never enter this room: Kubernetes, and any word of the domain that
// a table speaks about. The words for a guard are its declaration's.
package diff
