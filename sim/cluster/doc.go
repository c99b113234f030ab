// SPDX-License-Identifier: Apache-2.0

// Package cluster is a Kubernetes API in memory: the objects that a rotation touches, and the answers that the API
// server gives to requests about them. Conflicts, preconditions, finalizers, deletion timestamps, graceful deletion of
// Pods, evictions, the status subresource and generations are as in the real one, held by a table of answers.
//
// Objects are never changed in place. A write puts a new object in the old one's place, so that reads are shared
// without copies, and a whole cluster is cloned at the price of what is changed afterwards. Whoever reads must not
// change what it got; the product's own reader holds to that, as controller-runtime's cache without deep copies asks.
//
// What must never enter: a will of its own. Schedulers, kubelets, Karpenter and operators act from outside (package
// sim). A cluster is used by one goroutine at a time; its clones are independent of each other.
package cluster
