// SPDX-License-Identifier: Apache-2.0

// Package controller is the shell around the rotation's pure core, and the only room that talks to the API server. It
// reads a Snapshot from the cache, has the table decide, and carries the row's actions out; around that it resolves
// policies, keeps their status, sweeps at the start, and tells people what happened.
//
// What must never enter: a rule of a rotation. Whether something may happen is a guard's word, what then happens an
// effect's, and in which order the table's.
package controller
