// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/record"
)

const (
	// podsPerNode is how many Pods of one CPU the default instance type holds.
	podsPerNode = 3
	// longLife is an expireAfter that no scenario lives to see and every policy can plan with.
	longLife = 240 * time.Hour
	// labelFleet on a NodePool is what a policy selects it by.
	labelFleet = "fleet"
)

var (
	nodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	policies   = schema.GroupVersionResource{Group: "noderotation.io", Version: "v1alpha1", Resource: "rotationpolicies"}
)

// fleet is a NodePool whose Nodes are filled by one workload.
type fleet struct {
	cluster.Pool
	Workload cluster.Workload
	// Originals are the NodeClaims that it stood on when the scenario began, by age.
	Originals []string
	// podsPerNode is how many Pods of the workload a Node holds.
	podsPerNode int32
}

// fleetOf describes a fleet of n full nodes in one zone, with a Deployment that may miss one Pod.
func fleetOf(name string, n int32, changes ...func(*fleet)) *fleet {
	one := intstr.FromInt32(1)
	f := &fleet{
		Pool: cluster.Pool{
			Name: name, Labels: map[string]string{labelFleet: name}, Zones: cluster.Zones()[:1], ExpireAfter: longLife,
		},
		Workload:    cluster.Workload{Name: name, Pool: name, Replicas: n * podsPerNode, MaxUnavailable: &one},
		podsPerNode: podsPerNode,
	}
	for _, change := range changes {
		change(f)
	}
	return f
}

// withLargePods has one Pod fill a Node of the fleet, so that a Node drains in one eviction.
func withLargePods(f *fleet) {
	f.Workload.Replicas /= f.podsPerNode
	f.Workload.CPU, f.podsPerNode = "3", 1
}

// nodes is how many Nodes the fleet needs.
func (f *fleet) nodes() int { return int((f.Workload.Replicas + f.podsPerNode - 1) / f.podsPerNode) }

// stands makes the fleet and returns when every Pod of it runs.
func (s *scenario) stands(ctx context.Context, f *fleet) {
	GinkgoHelper()
	s.fleets = append(s.fleets, f)
	Expect(shared.ApplyPool(ctx, f.Pool)).To(Succeed())
	Expect(shared.ApplyWorkload(ctx, f.Workload)).To(Succeed())
	Expect(shared.WaitForWorkload(ctx, f.Workload)).To(Succeed())
	nodes := f.nodes()
	Expect(shared.WaitForNodes(ctx, f.Name, nodes)).To(Succeed())
	s.await(ctx, fmt.Sprintf("fleet %s stands on %d ready claims", f.Name, nodes), func(world record.World) bool {
		return len(world.ClaimsOf(f.Name)) == nodes && len(readyNodes(world, f.Name)) == nodes
	})
	claims, err := shared.Dynamic().Resource(nodeClaims).List(ctx, metav1.ListOptions{LabelSelector: cluster.NodePoolLabel + "=" + f.Name})
	Expect(err).NotTo(HaveOccurred())
	f.Originals = nil
	for _, claim := range claims.Items {
		f.Originals = append(f.Originals, claim.GetName())
	}
	slices.Sort(f.Originals)
}

// budget is the name of the fleet's PodDisruptionBudget.
func (f *fleet) budget() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: f.Workload.Name}
}

// remove takes the fleet away, in whatever state it is.
func (f *fleet) remove(ctx context.Context) {
	GinkgoHelper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	pods := metav1.ListOptions{LabelSelector: "app=" + f.Workload.Name}
	for _, err := range []error{
		shared.Client().AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, f.Workload.Name, metav1.DeleteOptions{}),
		shared.Client().PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(ctx, f.Workload.Name, metav1.DeleteOptions{}),
		shared.Dynamic().Resource(nodePools).Delete(ctx, f.Name, metav1.DeleteOptions{}),
		shared.Client().CoreV1().Pods(metav1.NamespaceDefault).DeleteCollection(ctx, now, pods),
		// The garbage collector would come to it by and by.
		shared.Dynamic().Resource(nodeClaims).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
			LabelSelector: cluster.NodePoolLabel + "=" + f.Name,
		}),
	} {
		if !apierrors.IsNotFound(err) {
			Expect(err).NotTo(HaveOccurred())
		}
	}
}

// annotatePool sets annotations on a NodePool as an operator would.
func annotatePool(ctx context.Context, pool string, annotations map[string]string) {
	GinkgoHelper()
	patch := metav1.ObjectMeta{Annotations: annotations}
	_, err := shared.Dynamic().Resource(nodePools).Patch(ctx, pool, types.MergePatchType, inMetadata(patch), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// freeze has nothing start in the pool for an hour.
func freeze(ctx context.Context, pool string) {
	GinkgoHelper()
	annotatePool(ctx, pool, map[string]string{rotation.KeyFreeze: rotation.FormatStamp(time.Now().Add(time.Hour))})
}

// thaw takes a freeze away.
func thaw(ctx context.Context, pool string) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, rotation.KeyFreeze)
	_, err := shared.Dynamic().Resource(nodePools).Patch(ctx, pool, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// rotatesOnce waits until every original of the fleets has been rotated, and has each pool frozen while its last one
// drains, so that the new nodes, which are due as soon as they stand, are left alone.
func (s *scenario) rotatesOnce(ctx context.Context, fleets ...*fleet) {
	GinkgoHelper()
	for left := slices.Clone(fleets); len(left) > 0; {
		var ripe *fleet
		s.await(ctx, "the last original node of one of the fleets drains", func(world record.World) bool {
			for _, f := range left {
				if f.lastOneDrains(world) {
					ripe = f
				}
			}
			return ripe != nil
		})
		freeze(ctx, ripe.Name)
		left = slices.DeleteFunc(left, func(f *fleet) bool { return f == ripe })
	}
	for _, f := range fleets {
		s.settles(ctx, f)
	}
}

func (s *scenario) lastOneDrains(ctx context.Context, f *fleet) {
	GinkgoHelper()
	s.await(ctx, "the last original node of "+f.Name+" drains", f.lastOneDrains)
}

func (f *fleet) lastOneDrains(world record.World) bool {
	for _, name := range f.Originals {
		if claim := world.Claims[name]; claim != nil && claim.DeletionTimestamp == nil {
			return false
		}
	}
	return true
}

// settles waits until no original is left, no rotation is anchored, and every Pod runs.
func (s *scenario) settles(ctx context.Context, f *fleet) {
	GinkgoHelper()
	s.await(ctx, "fleet "+f.Name+" is new and at rest", func(world record.World) bool {
		pool := world.Pools[f.Name]
		if pool == nil || pool.Annotations[rotation.KeyActiveRotation] != "" {
			return false
		}
		for _, name := range f.Originals {
			if world.Claims[name] != nil {
				return false
			}
		}
		return true
	})
	Expect(shared.WaitForWorkload(ctx, f.Workload)).To(Succeed())
}

func readyNodes(world record.World, pool string) []string {
	var names []string
	for _, node := range world.NodesOf(pool) {
		if record.NodeReady(node) {
			names = append(names, node.Name)
		}
	}
	return names
}
