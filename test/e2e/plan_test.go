// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/scripts"
	"noderotation.io/noderotation/test/cluster"
)

// plan is a fleet to be made as a simulated one stands at the start: as many nodes, and the same Pods on each.
type plan struct {
	*fleet
	// template is what the pool says of the nodes to come, where its first ones live otherwise.
	template *karpenterv1.NodeClaimTemplate
}

// plansOf reads a setting by the objects that it means in the simulator. How old its nodes are, and how long its Pods take
// to get ready, are not a real cluster's to choose.
func plansOf(setting scripts.Setting) []plan {
	GinkgoHelper()
	config := setting.Config(nil)
	objects, err := setting.Join(&config)
	Expect(err).NotTo(HaveOccurred())
	var plans []plan
	claims := map[string][]*karpenterv1.NodeClaim{}
	for _, o := range objects {
		switch o := o.(type) {
		case *karpenterv1.NodePool:
			plans = append(plans, planOf(o))
		case *karpenterv1.NodeClaim:
			pool := o.Labels[karpenterv1.NodePoolLabelKey]
			claims[pool] = append(claims[pool], o)
		}
	}
	for _, p := range plans {
		p.occupy(config.Workloads, len(claims[p.Name]))
		p.bound(setting.Budgets)
		first := claims[p.Name][0].Spec
		p.ExpireAfter, p.TerminationGracePeriod = spanOf(first.ExpireAfter.Duration), graceOf(first.TerminationGracePeriod)
	}
	return plans
}

// planOf is a fleet with what a NodePool says.
func planOf(pool *karpenterv1.NodePool) plan {
	f := &fleet{Pool: cluster.Pool{Name: pool.Name, Labels: pool.Labels}}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Key == corev1.LabelTopologyZone {
			f.Zones = r.Values
		}
	}
	return plan{f, &pool.Spec.Template}
}

// occupy has a workload fill so many nodes.
func (p plan) occupy(workloads []sim.Workload, nodes int) {
	for _, load := range workloads {
		if load.Name == p.Name {
			requests := load.Template.Spec.Containers[0].Resources.Requests
			p.Workload = cluster.Workload{
				Name: p.Name, Pool: p.Name, Replicas: int32(load.Replicas), CPU: requests.Cpu().String(), EndDelay: load.EndsAfter,
			}
			p.podsPerNode = int32(load.Replicas / nodes)
		}
	}
}

// bound puts the budgets over the fleet's Pods.
func (p plan) bound(budgets []*policyv1.PodDisruptionBudget) {
	GinkgoHelper()
	for _, budget := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		Expect(err).NotTo(HaveOccurred())
		if selector.Matches(labels.Set{"app": p.Name}) {
			p.Workload.MinAvailable, p.Workload.MaxUnavailable = budget.Spec.MinAvailable, budget.Spec.MaxUnavailable
		}
	}
}

// settleTemplate gives the nodes to come the life that the pool's template says. The present ones keep their own, and are
// not replaced for the difference.
func (p plan) settleTemplate(ctx context.Context) {
	GinkgoHelper()
	if expireAfter := spanOf(p.template.Spec.ExpireAfter.Duration); expireAfter != p.ExpireAfter {
		liveFor(ctx, p.Name, expireAfter)
	}
}

func spanOf(d *time.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return *d
}

func graceOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}
