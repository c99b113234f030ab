// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Fleet describes a NodePool with its nodes and what runs on them.
type Fleet struct {
	Pool   string
	Labels map[string]string
	// ExpireAfter of the pool and its claims; zero for Never. TerminationGracePeriod likewise; zero for unset.
	ExpireAfter, TerminationGracePeriod time.Duration
	Limits                              corev1.ResourceList
	// Ages of the nodes at the start: one node each.
	Ages []time.Duration
	// Zones in which the nodes lie, in turn; also those that the pool allows.
	Zones []string
	// PodsPerNode of CPU and Memory each; they are one workload named after the pool, in a namespace named after it.
	PodsPerNode int
	CPU, Memory string
	// Roaming Pods may be placed in any pool.
	Roaming bool
	// ReadyAfter and EndsAfter of the Pods; Grace is their terminationGracePeriodSeconds, 30 s if nil.
	ReadyAfter, EndsAfter time.Duration
	Grace                 *time.Duration
	// Shape of a node; nil for the world's.
	Shape corev1.ResourceList
}

// Ages are so many nodes, born this far apart, the youngest of the given age.
func Ages(nodes int, youngest, apart time.Duration) []time.Duration {
	ages := make([]time.Duration, nodes)
	for i := range ages {
		ages[i] = youngest + time.Duration(i)*apart
	}
	return ages
}

// Join adds the fleet to what a world is made of, as it stands at the world's start.
func (f Fleet) Join(config *Config, objects []client.Object) []client.Object {
	if f.Shape == nil {
		f.Shape = config.Karpenter.withDefaults().Shape
	}
	config.Karpenter.AddShape(f.Pool, Shape{f.Shape, f.Shape})
	pool := f.nodePool()
	objects = append(objects, pool)
	var load *Workload
	if f.PodsPerNode > 0 {
		config.Workloads = append(config.Workloads, f.workload())
		load = &config.Workloads[len(config.Workloads)-1]
	}
	for i, age := range f.Ages {
		claim, node := f.member(pool, i, config.Start.Add(-age))
		objects = append(objects, claim, node)
		for n := range f.PodsPerNode {
			objects = append(objects, load.runningPod(i*f.PodsPerNode+n, node.Name, config.Start))
		}
	}
	return objects
}

func (f Fleet) nodePool() *karpenterv1.NodePool {
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: f.Pool, Labels: f.Labels}}
	pool.Spec.Limits = karpenterv1.Limits(f.Limits)
	spec := &pool.Spec.Template.Spec
	spec.NodeClassRef = &karpenterv1.NodeClassReference{Group: "sim.noderotation.io", Kind: "SimNodeClass", Name: "default"}
	if f.ExpireAfter > 0 {
		spec.ExpireAfter = karpenterv1.NillableDuration{Duration: &f.ExpireAfter}
	}
	if f.TerminationGracePeriod > 0 {
		spec.TerminationGracePeriod = &metav1.Duration{Duration: f.TerminationGracePeriod}
	}
	if len(f.Zones) > 0 {
		spec.Requirements = []karpenterv1.NodeSelectorRequirementWithMinValues{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: slices.Clone(f.Zones),
		}}
	}
	pool.Status.Conditions = ready(pool.Status.Conditions)
	return pool
}

func ready(conditions []status.Condition) []status.Condition {
	return append(conditions, status.Condition{Type: status.ConditionReady, Status: metav1.ConditionTrue, Reason: status.ConditionReady})
}

// member is the claim and the Node of one of the fleet's nodes, born then.
func (f Fleet) member(pool *karpenterv1.NodePool, i int, born time.Time) (*karpenterv1.NodeClaim, *corev1.Node) {
	name := fmt.Sprintf("%s-%d", f.Pool, i)
	zone := "a"
	if len(f.Zones) > 0 {
		zone = f.Zones[i%len(f.Zones)]
	}
	labels := map[string]string{
		rotation.LabelNodePool: f.Pool, corev1.LabelTopologyZone: zone, corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
		karpenterv1.CapacityTypeLabelKey: karpenterv1.CapacityTypeOnDemand,
	}
	created := metav1.NewTime(born.UTC().Truncate(time.Second))
	template := &pool.Spec.Template.Spec
	claim := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: labels, CreationTimestamp: created, Finalizers: []string{karpenterv1.TerminationFinalizer},
	}}
	claim.Spec = karpenterv1.NodeClaimSpec{
		NodeClassRef: template.NodeClassRef, TerminationGracePeriod: template.TerminationGracePeriod, ExpireAfter: template.ExpireAfter,
		Requirements: []karpenterv1.NodeSelectorRequirementWithMinValues{in(rotation.LabelNodePool, f.Pool), in(corev1.LabelTopologyZone, zone)},
	}
	claim.Status = karpenterv1.NodeClaimStatus{NodeName: name, ProviderID: "sim:///" + name, Capacity: f.Shape, Allocatable: f.Shape}
	for _, t := range []string{karpenterv1.ConditionTypeLaunched, karpenterv1.ConditionTypeRegistered, karpenterv1.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, status.Condition{Type: t, Status: metav1.ConditionTrue, Reason: t})
	}
	claim.Status.Conditions = ready(claim.Status.Conditions)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: created, Finalizers: []string{karpenterv1.TerminationFinalizer}, Labels: map[string]string{corev1.LabelHostname: name},
	}}
	for key, value := range labels {
		node.Labels[key] = value
	}
	node.Spec.ProviderID = claim.Status.ProviderID
	node.Status = corev1.NodeStatus{
		Capacity: f.Shape, Allocatable: f.Shape,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}
	return claim, node
}

func (f Fleet) workload() Workload {
	requests := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{corev1.ResourceCPU: f.CPU, corev1.ResourceMemory: f.Memory} {
		if quantity != "" {
			requests[name] = resource.MustParse(quantity)
		}
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if f.Grace != nil {
		grace = int64(*f.Grace / time.Second)
	}
	selector := map[string]string{rotation.LabelNodePool: f.Pool}
	if f.Roaming {
		selector = nil
	}
	return Workload{
		Namespace: f.Pool, Name: f.Pool, Replicas: f.PodsPerNode * len(f.Ages), ReadyAfter: f.ReadyAfter, EndsAfter: f.EndsAfter,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": f.Pool}},
			Spec: corev1.PodSpec{
				NodeSelector: selector, TerminationGracePeriodSeconds: &grace,
				Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: requests}}},
			},
		},
	}
}

// runningPod is the workload's nth Pod, running on the node.
func (l *Workload) runningPod(n int, node string, since time.Time) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: l.Template.ObjectMeta, Spec: l.Template.Spec} // shared, as the cluster shares what it holds
	pod.Namespace, pod.Name = l.Namespace, fmt.Sprintf("%s-%d", l.Name, n)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kindReplicaSet, Name: l.Name, Controller: new(true)}}
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: since.Truncate(time.Second)},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
		},
	}
	return pod
}
