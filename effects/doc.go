// SPDX-License-Identifier: Apache-2.0

// Package effects holds the named, idempotent steps of a row of transitions.yaml: pure functions from a Snapshot to a
// new Snapshot and the ordered actions that make the cluster agree with it. An effect says what must be true; where
// that already is so, it asks for nothing.
//
// What must never enter: a client, a clock, a decision whether to act (that is the table's), or a change of anything
// that a Snapshot points to (that is the cache's). Actions are carried out by the one applier, in controller.
package effects
