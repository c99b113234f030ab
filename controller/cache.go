// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Names of the cache's indexes. A pass finds everything through one of them and never scans what other pools own.
const (
	indexPool     = "noderotation/pool"
	indexSurgeFor = "noderotation/surge-for"
	indexNode     = "noderotation/node"
)

// unbound is the value of indexNode for a Pod that has no node yet.
const unbound = "<unbound>"

// Index is one index of the cache: an in-memory cluster registers the same ones.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
}

// Indexes are those that the Reader asks for.
func Indexes() []Index {
	return []Index{
		{&karpenterv1.NodeClaim{}, indexPool, byPool},
		{&corev1.Node{}, indexPool, byPool},
		{&corev1.Node{}, indexSurgeFor, bySurgeFor},
		{&corev1.Node{}, indexMarked, nodeByMark},
		{&corev1.Pod{}, indexSurgeFor, bySurgeFor},
		{&corev1.Pod{}, indexMarked, podByMark},
		{&corev1.Pod{}, indexNode, byNode},
	}
}

func byPool(object client.Object) []string {
	if pool := object.GetLabels()[rotation.LabelNodePool]; pool != "" {
		return []string{pool}
	}
	return nil
}

func bySurgeFor(object client.Object) []string {
	if claim := object.GetAnnotations()[rotation.KeySurgeFor]; claim != "" {
		return []string{claim}
	}
	return nil
}

func byNode(object client.Object) []string {
	pod, ok := podOf(object)
	if !ok {
		return nil
	}
	if pod.Spec.NodeName == "" {
		return []string{unbound}
	}
	return []string{pod.Spec.NodeName}
}

// CacheOptions keeps of each object only the fields that a Snapshot is made of. Reads are not copied: nothing in this
// product changes what it read.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		DefaultTransform:             cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Transform: new(packing).transform},
			&corev1.Node{}:                  {Transform: trimNode},
			&policyv1.PodDisruptionBudget{}: {Transform: cache.TransformStripManagedFields()},
		},
	}
}
