// SPDX-License-Identifier: Apache-2.0

// Package guards holds the named questions that a row of transitions.yaml may ask: pure functions from a Snapshot to a
// Verdict, each with a sentence that carries the facts and, where time alone can change the answer, the instant at
// which it does.
//
// What must never enter: a clock, a client, a write, or a guard that another guard calls by name. What two guards
// share is a conclusion of package rotation.
package guards
