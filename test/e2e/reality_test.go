// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/scripts"
	"noderotation.io/noderotation/sim/truth"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

// reality is the cluster as a world of the scenarios that also happen in the simulator.
type reality struct {
	*scenario
	client client.Client
	claims map[string]string
	pools  map[string]*fleet
	// registering is how long an instance takes to register, where nothing holds it up.
	registering time.Duration
	// victim is the controller that a write may be the end of.
	victim atomic.Pointer[process.Controller]
}

var _ truth.World = (*reality)(nil)

const (
	// stepPatience bounds what a step waits for, glance is how often it looks.
	stepPatience = 100 * time.Second
	glance       = 100 * time.Millisecond
)

// realizes makes the pools of a setting, and returns when they stand.
func (s *scenario) realizes(ctx context.Context, setting scripts.Setting) *reality {
	GinkgoHelper()
	scheme, err := controller.NewScheme()
	Expect(err).NotTo(HaveOccurred())
	r := &reality{scenario: s, claims: map[string]string{}, pools: map[string]*fleet{}, registering: setting.Karpenter.Register.Base}
	r.client, err = client.New(shared.RESTConfig(), client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, policy := range setting.Policies {
		s.policies = append(s.policies, policy.Name)
	}
	for _, plan := range plansOf(setting) {
		r.pools[plan.Name] = plan.fleet
		s.stands(ctx, plan.fleet)
		plan.settleTemplate(ctx)
		r.name(ctx, plan.Name)
	}
	launchesTake(ctx, r.registering)
	return r
}

// name finds the pool's claims by the names that the scenario has for them.
func (r *reality) name(ctx context.Context, pool string) {
	GinkgoHelper()
	var list karpenterv1.NodeClaimList
	Expect(r.client.List(ctx, &list, client.MatchingLabels{karpenterv1.NodePoolLabelKey: pool})).To(Succeed())
	slices.SortFunc(list.Items, func(a, b karpenterv1.NodeClaim) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i, claim := range list.Items {
		r.claims[fmt.Sprintf("%s-%d", pool, i)] = claim.Name
	}
}

// Client may do everything.
func (r *reality) Client() client.Client { return r.client }

// Now is the machine's time.
func (r *reality) Now() time.Time { return time.Now() }

// Claims has the names of the fleets' first claims.
func (r *reality) Claims() map[string]string { return r.claims }

// ControllerRuns looks at the process.
func (r *reality) ControllerRuns() bool { return r.controller.Running() }

// Fired reads the log, to which each controller of the scenario adds.
func (r *reality) Fired() ([]truth.Transition, error) {
	if r.controller == nil {
		return nil, nil
	}
	lines, err := process.Transitions(r.log())
	var fired []truth.Transition
	for _, line := range lines {
		fired = append(fired, truth.Transition{Pool: line.NodePool, Claim: line.NodeClaim, Row: line.Row, From: line.From, To: line.To})
	}
	return fired, err
}

// Await looks again and again, as long as the controller does not end by itself.
func (r *reality) Await(ctx context.Context, what string, holds func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, glance, stepPatience, true, func(context.Context) (bool, error) {
		if r.controller != nil {
			if died := r.controller.Died(); died != nil {
				return false, died
			}
		}
		return holds()
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, err)
	}
	return nil
}

// StartController starts a process that needs no lease.
func (r *reality) StartController(ctx context.Context) error {
	r.controllerRuns(ctx, alone)
	r.victim.Store(r.controller)
	return nil
}

// KillController is kill -9.
func (r *reality) KillController() error { return r.controller.Kill() }

// KillControllerAtWrite aims at a write that comes seconds after its controller was ready: only then is it known whom to kill.
func (r *reality) KillControllerAtWrite(n int) error {
	r.proxy.KillAtWrite(n, func([]process.Write) {
		defer GinkgoRecover()
		Expect(r.victim.Load().Kill()).To(Succeed())
	})
	return nil
}

// HoldUp has instances register later.
func (r *reality) HoldUp(ctx context.Context, extra time.Duration) error {
	return shared.ProvisioningDelay(ctx, r.registering+extra)
}

// RunOut is undone with the scenario, at the latest.
func (r *reality) RunOut(ctx context.Context, zone string) error {
	if zone == "" {
		return shared.EndShortage(ctx)
	}
	runsOut(ctx, zone)
	return nil
}

// Drift has the claim say that it was made of another NodePool's template.
func (r *reality) Drift(ctx context.Context, claim string) error {
	c := &karpenterv1.NodeClaim{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: r.claims[claim]}, c); err != nil {
		return err
	}
	before := c.DeepCopy()
	c.Annotations = rotation.Annotate(c.Annotations, map[string]string{karpenterv1.NodePoolHashAnnotationKey: "another"})
	return r.client.Patch(ctx, c, client.MergeFrom(before))
}

// Vacate makes the Pods of the Node the cheapest to delete before it shrinks their Deployment.
func (r *reality) Vacate(ctx context.Context, claim string) error {
	GinkgoHelper()
	node, f := r.nodeOf(ctx, r.claims[claim]), r.pools[poolOf(claim)]
	pods, err := shared.PodsOf(ctx, f.Workload)
	if err != nil {
		return err
	}
	patch := inMetadata(metav1.ObjectMeta{Annotations: map[string]string{corev1.PodDeletionCost: "-1"}})
	for _, pod := range pods {
		if pod.Spec.NodeName != node {
			continue
		}
		f.Workload.Replicas--
		if _, err := shared.Client().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if err := shared.ApplyWorkload(ctx, f.Workload); err != nil {
		return err
	}
	r.await(ctx, "node "+node+" is empty", func(world record.World) bool { return len(world.PodsOn(node)) == 0 })
	return nil
}

// poolOf is the pool of a claim by the scenario's name for it.
func poolOf(claim string) string { return claim[:len(claim)-len("-0")] }
