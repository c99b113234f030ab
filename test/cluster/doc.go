// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real Kubernetes control plane with a real Karpenter on this machine, for tests and
// demonstrations, and makes trouble in it on request.
//
// Build compiles etcd, the API server, the scheduler, the controller manager, kwok and Karpenter into one executable
// from Go modules alone (module clusterbin beside this package). Start runs them on free ports of 127.0.0.1 in a folder
// of their own; several clusters stand side by side. Everything a cluster started ends with it, and with the process
// that started it, also when that one is killed. Nodes and Pods are kwok's: they exist in the API, and their kubelets do
// not.
//
// The package knows nothing of noderotation, and imports neither Kubernetes proper nor Karpenter: it talks to the
// executable by its flags and to the cluster by its API. Keep it so, or every user of it compiles the world.
package cluster
