// SPDX-License-Identifier: Apache-2.0

// Package inspect looks at a cluster for a person, and says what it sees: what becomes of a NodePool, why nothing happens,
// what happened before. It reads with the person's own rights, through the reconciler's own Reader, and has the same table
// decide; so what is told is what the controller would do at this moment.
//
// What must never enter: a rule of a rotation, and a write other than an operator's freeze. Whether something may happen
// is a guard's word; this package only passes it on.
package inspect
