// SPDX-License-Identifier: Apache-2.0

// Package window answers questions about maintenance windows on the real
// calendar: is one open, when does the next one open, and how far apart do they
// lie in the worst case (derivations §3.1).
//
// A window is a set of wall-clock times; an answer is a set of instants. The way
// from one to the other goes through stretches of constant UTC offset: within
// such a stretch the wall clock runs evenly and a week repeats itself, so the
// week's pattern shifted by the offset is exact. Clock changes are the borders
// between stretches and need no rule of their own: a missing hour has no
// instants, a repeated hour has them twice.
//
// What must never enter this room: a clock, Kubernetes, and anything of a
// rotation. Every function takes the instant it is asked about.
package window
