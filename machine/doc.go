// SPDX-License-Identifier: Apache-2.0

// Package machine runs a state machine that people review as a table.
//
// A table is a YAML file: states, and rows that say from which state, on which
// event, to which state, under which named guards, with which named effects.
// The names are registered Go functions over a snapshot of type S; effects
// yield actions of type A. The package reads a table strictly (Parse, and Read
// for who knows the names), checks it against a registry and a list of laws
// (Compile), and then, for one pass:
//
//	decision := m.Decide(state, snapshot)   // pure: which row fires, and every row's reasons
//	plan     := m.Plan(decision, snapshot)  // pure: what that row wants done, in order
//	result   := m.Fire(ctx, decision, …)    // one event of a looplab/fsm machine; applies the plan
//
// Deciding, explaining and carrying out use one value, so an explanation can
// never differ from what was done.
//
// What must never enter this room: Kubernetes, clients, a clock, and any word
// of the domain that a table speaks about. The tests of this package speak of
// a door lock. Laws of a particular domain are handed to Compile as values.
package machine
