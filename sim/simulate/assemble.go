// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// assemble makes a world's configuration and its objects of the input. It changes the input's objects.
func (in *Input) assemble(o Options) (sim.Config, []client.Object) {
	config := sim.Config{Start: o.Start, Seed: o.Seed, Machine: o.Machine}
	config.Controller.Skip = true
	config.Karpenter.Zones = in.zones()
	var objects []client.Object
	for _, p := range in.Policies {
		p.Default()
		objects = append(objects, p)
	}
	for _, p := range in.Pools {
		if len(p.Status.Conditions) == 0 {
			p.Status.Conditions = []status.Condition{{Type: status.ConditionReady, Status: metav1.ConditionTrue, Reason: status.ConditionReady}}
		}
	}
	for _, f := range in.Fleets {
		objects = in.joinFleet(f, &config, objects)
	}
	objects = append(objects, in.members(&config)...)
	objects = append(objects, in.guests(&config, o.Start)...)
	for _, b := range in.Budgets {
		objects = append(objects, b)
	}
	in.befall(&config, o)
	in.grantGrace(&config, objects)
	return config, objects
}

// joinFleet adds a described fleet. Its pool is the manifest's where there is one.
func (in *Input) joinFleet(f *Fleet, config *sim.Config, objects []client.Object) []client.Object {
	fleet := f.fleet()
	pool := in.pool(f.Pool)
	atOnce := f.TerminationGracePeriod != nil && *f.TerminationGracePeriod == 0
	if pool != nil {
		template := pool.Spec.Template.Spec
		fleet.ExpireAfter = ptr.Deref(template.ExpireAfter.Duration, 0)
		if grace := template.TerminationGracePeriod; grace != nil {
			fleet.TerminationGracePeriod, atOnce = grace.Duration, grace.Duration == 0
		}
		if fleet.Zones == nil {
			fleet.Zones = zonesOf(pool)
		}
	}
	if fleet.Zones == nil {
		fleet.Zones = config.Karpenter.Zones
	}
	joined := fleet.Join(config, nil)
	if atOnce {
		drainNothing(joined)
	}
	if pool != nil {
		joined = slices.DeleteFunc(joined, func(o client.Object) bool { _, is := o.(*karpenterv1.NodePool); return is })
	}
	objects = append(objects, joined...)
	if b := f.Workload; b.MinAvailable != nil || b.MaxUnavailable != nil {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: f.Pool, Name: f.Pool}}
		budget.Spec = policyv1.PodDisruptionBudgetSpec{
			MinAvailable: b.MinAvailable, MaxUnavailable: b.MaxUnavailable,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": f.Pool}},
		}
		objects = append(objects, budget)
	}
	return objects
}

// drainNothing gives a pool and its claims a terminationGracePeriod of zero, which a fleet takes for none.
func drainNothing(objects []client.Object) {
	for _, o := range objects {
		switch o := o.(type) {
		case *karpenterv1.NodePool:
			o.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{}
		case *karpenterv1.NodeClaim:
			o.Spec.TerminationGracePeriod = &metav1.Duration{}
		}
	}
}

// fleet is the description in the simulated cluster's own terms.
func (f *Fleet) fleet() sim.Fleet {
	b := f.Workload
	text := func(q *resource.Quantity) string {
		if q == nil {
			return ""
		}
		return q.String()
	}
	fleet := sim.Fleet{
		Pool: f.Pool, Labels: f.Labels, Limits: f.Limits, Zones: f.Zones,
		ExpireAfter: time.Duration(ptr.Deref(f.ExpireAfter, 0)), TerminationGracePeriod: time.Duration(ptr.Deref(f.TerminationGracePeriod, 0)),
		PodsPerNode: b.PodsPerNode, CPU: text(b.CPU), Memory: text(b.Memory),
		ReadyAfter: time.Duration(b.ReadyAfter), EndsAfter: time.Duration(b.EndsAfter), Grace: (*time.Duration)(b.Grace),
		Ages: sim.Ages(f.Nodes, time.Duration(f.Youngest), time.Duration(f.Apart)),
	}
	for _, batch := range f.Batches {
		fleet.Ages = append(fleet.Ages, sim.Ages(batch.Nodes, time.Duration(batch.Age), 0)...)
	}
	if f.Node.CPU != nil || f.Node.Memory != nil {
		fleet.Shape = corev1.ResourceList{
			corev1.ResourceCPU:    ptr.Deref(f.Node.CPU, resource.MustParse("4")),
			corev1.ResourceMemory: ptr.Deref(f.Node.Memory, resource.MustParse("16Gi")),
			corev1.ResourcePods:   resource.MustParse("110"),
		}
	}
	return fleet
}

// members are the pools, claims and Nodes that the input has as manifests. A claim whose Node is missing gets one.
func (in *Input) members(config *sim.Config) []client.Object {
	var objects []client.Object
	nodes := map[string]bool{}
	for _, p := range in.Pools {
		objects = append(objects, p)
	}
	for _, n := range in.Nodes {
		nodes[n.Name] = true
		objects = append(objects, n)
	}
	for _, c := range in.Claims {
		objects = append(objects, c)
		if offers := c.Status.Allocatable; len(offers) > 0 {
			has := c.Status.Capacity
			if len(has) == 0 {
				has = offers
			}
			config.Karpenter.AddShape(c.Labels[rotation.LabelNodePool], sim.Shape{Capacity: has, Allocatable: offers})
		}
		if name := c.Status.NodeName; name != "" && !nodes[name] {
			objects = append(objects, nodeOf(c))
		}
	}
	return objects
}

// nodeOf is the Node that a claim must have.
func nodeOf(c *karpenterv1.NodeClaim) *corev1.Node {
	labels := map[string]string{corev1.LabelHostname: c.Status.NodeName}
	for key, value := range c.Labels {
		labels[key] = value
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: c.Status.NodeName, Labels: labels, CreationTimestamp: c.CreationTimestamp, Finalizers: []string{karpenterv1.TerminationFinalizer},
	}}
	node.Spec.ProviderID, node.Spec.Taints = c.Status.ProviderID, c.Spec.Taints
	node.Status = corev1.NodeStatus{
		Capacity: c.Status.Capacity, Allocatable: c.Status.Allocatable,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}
	return node
}
