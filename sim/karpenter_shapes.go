// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Karpenter launches the cheapest node that holds what it is launched for and that the pool's limits leave room for. The
// simulated cloud knows no prices: it takes the smallest.

// Shape is what a node has, by which limits are counted, and what it offers to Pods.
type Shape struct{ Capacity, Allocatable corev1.ResourceList }

// AddShape has the pool launch nodes of this shape too. Nodes that offer the same are of one shape.
func (k *Karpenter) AddShape(pool string, shape Shape) {
	if slices.ContainsFunc(k.Shapes[pool], func(s Shape) bool { return equality.Semantic.DeepEqual(s.Allocatable, shape.Allocatable) }) {
		return
	}
	shapes := append(slices.Clone(k.Shapes[pool]), shape)
	slices.SortStableFunc(shapes, func(a, b Shape) int { return bySize(amountsOf(a.Allocatable), amountsOf(b.Allocatable)) })
	k.Shapes = maps.Clone(k.Shapes)
	if k.Shapes == nil {
		k.Shapes = map[string][]Shape{}
	}
	k.Shapes[pool] = shapes
}

// bySize compares what nodes offer: their devices, then CPU, memory and the rest. What holds all that another offers is
// never the smaller one.
func bySize(a, b amounts) int {
	aDevices, aOthers := a.devices()
	bDevices, bOthers := b.devices()
	return cmp.Or(cmp.Compare(aDevices, bDevices), cmp.Compare(a.cpu, b.cpu), cmp.Compare(a.memory, b.memory),
		cmp.Compare(a.pods, b.pods), cmp.Compare(aOthers, bOthers))
}

// devices are so many of the rest, such as example.com/gpu; the others are Kubernetes' own resources.
func (a amounts) devices() (devices, others int64) {
	for name, n := range a.rest {
		if strings.Contains(string(name), "/") {
			devices += n
		} else {
			others += n
		}
	}
	return devices, others
}

// shapes are those of a pool's new nodes, the smallest first.
func (k *Karpenter) shapes(pool string) []Shape {
	if own := k.Shapes[pool]; len(own) > 0 {
		return own
	}
	return []Shape{{k.Shape, k.Shape}}
}

// shapeOf is what a claim's status says once it is launched. Before, it is the smallest that holds what the claim asks
// for, or the largest where none does.
func (k *Karpenter) shapeOf(claim *karpenterv1.NodeClaim) Shape {
	if launched := claim.Status; len(launched.Allocatable) > 0 {
		if len(launched.Capacity) == 0 {
			return Shape{launched.Allocatable, launched.Allocatable}
		}
		return Shape{launched.Capacity, launched.Allocatable}
	}
	shapes := k.shapes(claim.Labels[rotation.LabelNodePool])
	asked := amountsOf(claim.Spec.Resources.Requests)
	for _, shape := range shapes[:len(shapes)-1] {
		if amountsOf(shape.Allocatable).holds(asked) {
			return shape
		}
	}
	return shapes[len(shapes)-1]
}

// resourceNodes is the limit on a pool's number of nodes.
const resourceNodes = "nodes"

// usage is what counts against a limited pool's limits when this claim leaves and those drafts come.
func (w *World) usage(pool string, leaving *karpenterv1.NodeClaim, beside []*draft) corev1.ResourceList {
	used := corev1.ResourceList{}
	nodes := int64(0)
	add := func(claim *karpenterv1.NodeClaim) {
		nodes++
		for name, quantity := range w.config.Karpenter.shapeOf(claim).Capacity {
			sum := used[name]
			sum.Add(quantity)
			used[name] = sum
		}
	}
	for _, claim := range w.NodeClaimsBy(byPool, pool) {
		if w.counts(claim) && (leaving == nil || claim.UID != leaving.UID) {
			add(claim)
		}
	}
	for _, d := range beside {
		if d.claim.Labels[rotation.LabelNodePool] == pool {
			add(d.claim)
		}
	}
	used[resourceNodes] = *resource.NewQuantity(nodes, resource.DecimalSI)
	return used
}

// counts tells whether Karpenter counts a claim against its pool's limits: not once it is on its way out.
func (w *World) counts(claim *karpenterv1.NodeClaim) bool {
	return claim.DeletionTimestamp == nil && !w.commanded(claim.UID)
}

// affordable are the shapes that the pool's limits leave room for when this claim leaves and those drafts come.
func (w *World) affordable(pool *karpenterv1.NodePool, leaving *karpenterv1.NodeClaim, beside []*draft) []Shape {
	shapes := w.config.Karpenter.shapes(pool.Name)
	if len(pool.Spec.Limits) == 0 {
		return shapes
	}
	used := w.usage(pool.Name, leaving, beside)
	return slices.DeleteFunc(slices.Clone(shapes), func(shape Shape) bool {
		for name, limit := range pool.Spec.Limits {
			sum := used[name].DeepCopy()
			if name == resourceNodes {
				sum.Add(*resource.NewQuantity(1, resource.DecimalSI))
			} else {
				sum.Add(shape.Capacity[name])
			}
			if sum.Cmp(limit) > 0 {
				return true
			}
		}
		return false
	})
}
