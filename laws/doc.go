// SPDX-License-Identifier: Apache-2.0

// Package laws holds what every table of rotations must obey, whoever wrote it: the laws that keep a rotation
// crash-safe, serial, and never without its surge. They are values; package machine checks them, next to its own
// generic ones, when a table is loaded. A table that breaks one is refused.
//
// A law looks at the table and at what guards and effects declare about themselves, never at a cluster. Where it says
// that something happens only when a guard holds, it is judged on every consistent answer that the guards of a state can
// give, and on the row that then fires: the order of the rows counts, not only a row's own conditions.
//
// What must never enter: the guards and effects themselves, a client, a clock, and a rule about how a table is written
// rather than what it does.
package laws
