// SPDX-License-Identifier: Apache-2.0

// Package fleet is the vocabulary of the tests: it builds Snapshots in the words of the domain, so that a test reads as
// the scenario that it is. It is test support only; nothing that ships imports it.
//
// A pool is told as a list of facts, in order: APool(AClaim("old", Aged(10*Day), PendingFor(5*time.Minute)),
// Anchored("old"), WithPlaceholderOn("", corev1.PodPending)). Whatever is said to be ago counts from the snapshot's own
// Now, which is an hour into the Saturday window unless At says otherwise. Situations lists a pool for each thing that
// can befall a rotation, and Snapshots draws pools that nobody would think of.
//
// What must never enter: a conclusion that the product draws itself. A builder sets what a cluster shows.
package fleet
