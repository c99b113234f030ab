// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultName is the name of the node class that every cluster has.
	DefaultName = "default"
	// DefaultInstanceType holds three Pods of one CPU each.
	DefaultInstanceType = "c-4x-amd64-linux"
	// NodePoolLabel stands on every NodeClaim and Node of a pool.
	NodePoolLabel = "karpenter.sh/nodepool"

	never = "Never"
)

// Zones returns the zones in which the kwok provider has capacity.
func Zones() []string { return []string{"test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d"} }

// NodeClass says how instances come up.
type NodeClass struct {
	Name              string        // DefaultName if empty
	RegistrationDelay time.Duration // between launch and registration, in whole seconds
}

// ApplyNodeClass creates or changes a KWOKNodeClass. Changing it replaces no Node.
func (c *Cluster) ApplyNodeClass(ctx context.Context, class NodeClass) error {
	if class.RegistrationDelay%time.Second != 0 {
		return fmt.Errorf("a registration delay is in whole seconds, not %s", class.RegistrationDelay)
	}
	return c.applyObject(ctx, map[string]any{
		"apiVersion": nodeClasses.GroupVersion().String(),
		"kind":       "KWOKNodeClass",
		"metadata":   map[string]any{"name": orDefault(class.Name, DefaultName)},
		"spec":       map[string]any{"nodeRegistrationDelay": class.RegistrationDelay.String()},
	})
}

// Pool describes a NodePool. What is left out takes no part in it.
//
// Changing what its Nodes are made of makes the present ones drift: make a new pool instead.
type Pool struct {
	Name                   string
	Labels                 map[string]string // of the NodePool itself
	Annotations            map[string]string // of the NodePool itself
	NodeLabels             map[string]string // of its Nodes
	NodeAnnotations        map[string]string // of its Nodes
	NodeClass              string            // DefaultName if empty
	InstanceTypes          []string          // DefaultInstanceType if empty
	Zones                  []string          // all if empty
	Requirements           []corev1.NodeSelectorRequirement
	Taints                 []corev1.Taint
	ExpireAfter            time.Duration       // never if zero
	TerminationGracePeriod time.Duration       // none if zero: a drain may take for ever
	Limits                 corev1.ResourceList // for example "nodes" or "cpu"
	Weight                 int32               // Karpenter's preference among pools, 1 to 100
	ConsolidateAfter       string              // no consolidation if empty
}

// ApplyPool creates or changes a NodePool and returns once Karpenter, if it runs, has found it ready for use.
func (c *Cluster) ApplyPool(ctx context.Context, pool Pool) error {
	if err := c.applyObject(ctx, pool.object()); err != nil {
		return err
	}
	if !c.runs(partKarpenter) {
		return nil
	}
	return c.WaitFor(ctx, "NodePool "+pool.Name+" is ready", func(ctx context.Context) (bool, error) {
		now, err := c.dynamic.Resource(nodePools).Get(ctx, pool.Name, metav1.GetOptions{})
		return err == nil && condition(now, "Ready") == "True", err
	})
}

func (p Pool) object() map[string]any {
	spec := map[string]any{
		"nodeClassRef": map[string]any{
			"group": nodeClasses.Group, "kind": "KWOKNodeClass", "name": orDefault(p.NodeClass, DefaultName),
		},
		"requirements": p.requirements(),
		"expireAfter":  orNever(p.ExpireAfter),
	}
	if len(p.Taints) > 0 {
		spec["taints"] = p.Taints
	}
	if p.TerminationGracePeriod > 0 {
		spec["terminationGracePeriod"] = p.TerminationGracePeriod.String()
	}
	pool := map[string]any{
		"template": map[string]any{
			"metadata": metav1.ObjectMeta{Labels: p.NodeLabels, Annotations: p.NodeAnnotations},
			"spec":     spec,
		},
		"disruption": map[string]any{
			"consolidationPolicy": "WhenEmptyOrUnderutilized",
			"consolidateAfter":    orDefault(p.ConsolidateAfter, never),
		},
	}
	if len(p.Limits) > 0 {
		pool["limits"] = p.Limits
	}
	if p.Weight > 0 {
		pool["weight"] = p.Weight
	}
	return map[string]any{
		"apiVersion": nodePools.GroupVersion().String(),
		"kind":       "NodePool",
		"metadata":   metav1.ObjectMeta{Name: p.Name, Labels: p.Labels, Annotations: p.Annotations},
		"spec":       pool,
	}
}

func (p Pool) requirements() []corev1.NodeSelectorRequirement {
	in := func(key string, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
	}
	types := p.InstanceTypes
	if len(types) == 0 {
		types = []string{DefaultInstanceType}
	}
	requirements := []corev1.NodeSelectorRequirement{
		in("karpenter.sh/capacity-type", "on-demand"),
		in(corev1.LabelInstanceTypeStable, types...),
	}
	if len(p.Zones) > 0 {
		requirements = append(requirements, in(corev1.LabelTopologyZone, p.Zones...))
	}
	return append(requirements, p.Requirements...)
}

// NodesOf returns the pool's Nodes.
func (c *Cluster) NodesOf(ctx context.Context, pool string) ([]corev1.Node, error) {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: NodePoolLabel + "=" + pool})
	if err != nil {
		return nil, fmt.Errorf("the nodes of pool %s cannot be read: %w", pool, err)
	}
	return nodes.Items, nil
}

// WaitForNodes waits until the pool has exactly n Nodes and all of them are ready and initialized by Karpenter.
func (c *Cluster) WaitForNodes(ctx context.Context, pool string, n int) error {
	what := fmt.Sprintf("pool %s has %d ready nodes", pool, n)
	return c.WaitFor(ctx, what, func(ctx context.Context) (bool, error) {
		nodes, err := c.NodesOf(ctx, pool)
		if err != nil || len(nodes) != n {
			return false, err
		}
		for _, node := range nodes {
			if readyStatus(&node) != corev1.ConditionTrue || node.Labels["karpenter.sh/initialized"] != "true" {
				return false, nil
			}
		}
		return true, nil
	})
}

// DeleteNodeClaim deletes a NodeClaim, whereupon Karpenter drains and terminates its Node. It does not wait for that.
func (c *Cluster) DeleteNodeClaim(ctx context.Context, name string) error {
	return c.dynamic.Resource(nodeClaims).Delete(ctx, name, metav1.DeleteOptions{})
}

func (c *Cluster) runs(part string) bool {
	_, runs := c.Processes()[part]
	return runs
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func orNever(d time.Duration) string {
	if d == 0 {
		return never
	}
	return d.String()
}
