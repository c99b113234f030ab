// SPDX-License-Identifier: Apache-2.0

// Package explore is a model checker over the product's own loop: from small clusters it explores, breadth first,
// everything that the world can do next and everything that can go wrong in a pass, and judges every state and every
// write by the invariants that the architecture claims (architecture.md, the claims about crash safety).
//
// The API is package sim/cluster's; the passes are made by controller's Reconciler, Applier and Sweep, with the table,
// the guards and the effects as they are. What acts beside them is kept as coarse as can be: a move is one thing that
// Karpenter, the scheduler, a kubelet, an operator or the clock does at once, and every move that is possible is made.
// So whatever a finer model may do in some order is done here in every order.
//
// What must never enter: a rule of a rotation. The invariants are judged by what the objects show, never by asking the
// guards and effects that are being tested.
package explore
