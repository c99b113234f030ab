// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// statusCluster is a cluster that holds policies and NodePools, with the reconciler of the policies' status.
type statusCluster struct {
	client     client.Client
	clock      *clocktesting.FakePassiveClock
	board      *controller.Board
	reconciler *controller.RotationPolicyStatusReconciler
	// writes counts the status updates; refusal is the answer to them, nil for success.
	writes  int
	refusal error
}

func clusterWith(objects ...client.Object) *statusCluster {
	GinkgoHelper()
	scheme, err := controller.NewScheme()
	Expect(err).NotTo(HaveOccurred())
	c := &statusCluster{clock: clocktesting.NewFakePassiveClock(theDay), board: controller.NewBoard()}
	c.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.RotationPolicy{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, inner client.Client, subresource string, object client.Object, options ...client.SubResourceUpdateOption) error {
				c.writes++
				if c.refusal != nil {
					return c.refusal
				}
				return inner.SubResource(subresource).Update(ctx, object, options...)
			},
		}).Build()
	c.reconciler = &controller.RotationPolicyStatusReconciler{Client: c.client, Policies: controller.NewPolicies(c.client), Board: c.board, Clock: c.clock}
	return c
}

func (c *statusCluster) reconcile(policy string) ctrl.Result {
	GinkgoHelper()
	result, err := c.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: policy}})
	Expect(err).NotTo(HaveOccurred())
	return result
}

// status reconciles the policy and reads what was written.
func (c *statusCluster) status(policy string) v1alpha1.RotationPolicyStatus {
	GinkgoHelper()
	c.reconcile(policy)
	p := &v1alpha1.RotationPolicy{}
	Expect(c.client.Get(context.Background(), client.ObjectKey{Name: policy}, p)).To(Succeed())
	return p.Status
}

func (c *statusCluster) edit(policy string, edit func(*v1alpha1.RotationPolicy)) {
	GinkgoHelper()
	p := &v1alpha1.RotationPolicy{}
	Expect(c.client.Get(context.Background(), client.ObjectKey{Name: policy}, p)).To(Succeed())
	edit(p)
	p.Generation++
	Expect(c.client.Update(context.Background(), p)).To(Succeed())
}

func ready(s v1alpha1.RotationPolicyStatus) metav1.Condition {
	GinkgoHelper()
	condition := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	Expect(condition).NotTo(BeNil())
	return *condition
}

// storedPolicy is wedAndSat as the API server keeps it, selecting the workload; an empty one is the catch-all.
func storedPolicy(name, workload string, edits ...func(*v1alpha1.RotationPolicy)) *v1alpha1.RotationPolicy {
	p := wedAndSat(name, edits...)
	p.UID, p.Generation = types.UID("uid-"+name), 1
	if workload != "" {
		p.Spec.NodePoolSelector = metav1.LabelSelector{MatchLabels: map[string]string{"workload": workload}}
	}
	return p
}

func storedPool(name, workload string, anchored bool) *karpenterv1.NodePool {
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	pool.Labels = map[string]string{"workload": workload}
	if anchored {
		pool.Annotations = map[string]string{rotation.KeyActiveRotation: name + "-x7"}
	}
	return pool
}

func withoutChances(p *v1alpha1.RotationPolicy) { p.Spec.MinRotationChances = ptr.To[int32](0) }

var _ = Describe("The status of a RotationPolicy (§5.4)", func() {
	It("counts the pools that the policy wins, and those of them with a rotation in flight", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPolicy("rest", ""),
			storedPool("api-a", "api", true), storedPool("api-b", "api", false), storedPool("batch", "batch", true), storedPool("web", "web", true))

		api := c.status("api")
		Expect(api.MatchedNodePools).To(BeEquivalentTo(2))
		Expect(api.RotatingNodePools).To(BeEquivalentTo(1))
		Expect(api.ObservedGeneration).To(BeEquivalentTo(1))
		Expect(ready(api)).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "Accepted"), HaveField("ObservedGeneration", int64(1))))

		rest := c.status("rest")
		Expect(rest.MatchedNodePools).To(BeEquivalentTo(2))
		Expect(rest.RotatingNodePools).To(BeEquivalentTo(2))
	})

	It("is Conflict for each policy of a tie, and says which pools and with whom", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPolicy("night", "api"), storedPolicy("rest", ""),
			storedPool("api-a", "api", false), storedPool("api-b", "api", false), storedPool("web", "web", false))
		for _, name := range []string{"api", "night"} {
			status := c.status(name)
			Expect(status.MatchedNodePools).To(BeZero())
			Expect(ready(status)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Conflict"),
				HaveField("Message", ContainSubstring("RotationPolicies api and night select NodePools api-a and api-b"))))
		}
		Expect(ready(c.status("rest")).Reason).To(Equal("Accepted"))
	})

	It("is Invalid for a policy that also ties: Invalid takes precedence", func() {
		c := clusterWith(storedPolicy("api", "api", withoutChances), storedPolicy("night", "api"), storedPool("api-a", "api", false))
		Expect(ready(c.status("api"))).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Invalid"),
			HaveField("Message", ContainSubstring("minRotationChances is 0"))))
		Expect(ready(c.status("night")).Reason).To(Equal("Conflict"))
	})

	It("counts the pools of an Invalid policy, which still wins them (§3.8)", func() {
		c := clusterWith(storedPolicy("api", "api", withoutChances), storedPolicy("rest", ""), storedPool("api-a", "api", true))
		Expect(c.status("api")).To(And(HaveField("MatchedNodePools", int32(1)), HaveField("RotatingNodePools", int32(1))))
		Expect(c.status("rest").MatchedNodePools).To(BeZero())
	})

	It("carries the warnings of a policy that is accepted all the same", func() {
		c := clusterWith(storedPolicy("api", "api", func(p *v1alpha1.RotationPolicy) { p.Spec.MinRotationChances = ptr.To[int32](1) }))
		Expect(ready(c.status("api"))).To(And(HaveField("Reason", "Accepted"), HaveField("Message", ContainSubstring("Warning KBelowTwo: "))))
	})

	It("is written only when it differs", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPool("api-a", "api", false))
		first := c.status("api")
		c.clock.SetTime(theDay.Add(time.Hour))
		Expect(c.status("api")).To(Equal(first))
		Expect(c.writes).To(Equal(1))
	})

	It("keeps the time of the last transition while Ready stays, and moves it when Ready changes", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPool("api-a", "api", false))
		since := ready(c.status("api")).LastTransitionTime
		Expect(since.Time).To(BeTemporally("==", theDay))

		c.clock.SetTime(theDay.Add(time.Hour))
		c.edit("api", func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.RetryBackoff = &metav1.Duration{Duration: time.Minute} })
		warned := c.status("api")
		Expect(warned.ObservedGeneration).To(BeEquivalentTo(2))
		Expect(ready(warned).Message).To(ContainSubstring("RetryBackoffShort"))
		Expect(ready(warned).LastTransitionTime.Time).To(BeTemporally("==", theDay))

		c.edit("api", withoutChances)
		Expect(ready(c.status("api")).LastTransitionTime.Time).To(BeTemporally("==", theDay.Add(time.Hour)))
	})

	It("keeps a condition that another hand has set", func() {
		policy := storedPolicy("api", "api")
		policy.Status.Conditions = []metav1.Condition{{Type: "Reviewed", Status: metav1.ConditionTrue, Reason: "ByHand", LastTransitionTime: metav1.NewTime(theDay)}}
		Expect(clusterWith(policy).status("api").Conditions).To(HaveLen(2))
	})

	DescribeTable("is tried again in silence when the write was overtaken",
		func(refusal error) {
			c := clusterWith(storedPolicy("api", "api"))
			c.refusal = refusal
			Expect(c.reconcile("api").RequeueAfter).To(BeNumerically("<=", time.Second))
			c.refusal = nil
			Expect(ready(c.status("api")).Reason).To(Equal("Accepted"))
		},
		Entry("by a conflict", apierrors.NewConflict(schema.GroupResource{Resource: "rotationpolicies"}, "api", nil)),
		Entry("by the policy's end", apierrors.NewNotFound(schema.GroupResource{Resource: "rotationpolicies"}, "api")),
	)

	It("says what could not be written", func() {
		c := clusterWith(storedPolicy("api", "api"))
		c.refusal = apierrors.NewForbidden(schema.GroupResource{Resource: "rotationpolicies"}, "api", nil)
		_, err := c.reconciler.Reconcile(context.Background(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "api"}})
		Expect(err).To(MatchError(ContainSubstring("the status of RotationPolicy api cannot be written")))
		Expect(apierrors.IsForbidden(err)).To(BeTrue())
	})

	It("of a policy that is gone is nobody's business", func() {
		c := clusterWith()
		Expect(c.reconcile("api")).To(Equal(ctrl.Result{}))
		Expect(c.writes).To(BeZero())
	})
})

var _ = Describe("The pools in the status of a RotationPolicy (§5.4)", func() {
	entry := func(pool, phase string) v1alpha1.NodePoolStatus {
		return v1alpha1.NodePoolStatus{Name: pool, Phase: phase, Candidates: 3, BlockedBy: "in_window", Message: "the window opens on Saturday"}
	}

	It("are those that the policy governs, by name, as the passes found them", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPolicy("rest", ""),
			storedPool("api-b", "api", false), storedPool("api-a", "api", false), storedPool("web", "web", false))
		for _, pool := range []string{"api-b", "web", "api-a"} {
			c.board.Post("any", entry(pool, "idle"))
		}
		Expect(c.status("api")).To(SatisfyAll(
			HaveField("NodePools", Equal([]v1alpha1.NodePoolStatus{entry("api-a", "idle"), entry("api-b", "idle")})),
			HaveField("OmittedNodePools", BeZero()),
			HaveField("NextWindow.Time", BeTemporally("==", openSaturday.Add(-time.Hour)))))
		Expect(c.status("rest").NodePools).To(ConsistOf(entry("web", "idle")))
	})

	It("are at most a hundred, and the others are counted", func() {
		objects := []client.Object{storedPolicy("api", "api")}
		for i := range 120 {
			name := fmt.Sprintf("api-%03d", i)
			objects = append(objects, storedPool(name, "api", false))
		}
		c := clusterWith(objects...)
		for i := range 120 {
			c.board.Post("api", entry(fmt.Sprintf("api-%03d", i), "idle"))
		}
		status := c.status("api")
		Expect(status.NodePools).To(HaveLen(100))
		Expect(status.NodePools[99].Name).To(Equal("api-099"))
		Expect(status).To(SatisfyAll(HaveField("OmittedNodePools", int32(20)), HaveField("MatchedNodePools", int32(120))))
	})

	It("stay as a new leader finds them until its own passes know better", func() {
		policy := storedPolicy("api", "api")
		policy.Status.NodePools = []v1alpha1.NodePoolStatus{entry("api-a", "draining"), entry("api-gone", "idle")}
		c := clusterWith(policy, storedPool("api-a", "api", false))
		Expect(c.status("api").NodePools).To(ConsistOf(entry("api-a", "draining")))
		c.clock.SetTime(theDay.Add(time.Minute))
		c.board.Post("api", entry("api-a", "idle"))
		Expect(c.status("api").NodePools).To(ConsistOf(entry("api-a", "idle")))
	})

	It("do not have the status written more than once in five seconds, and nothing of them is lost", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPool("api-a", "api", false))
		c.status("api")
		c.board.Post("api", entry("api-a", "idle"))
		Expect(c.reconcile("api").RequeueAfter).To(Equal(5 * time.Second))
		c.clock.SetTime(theDay.Add(3 * time.Second))
		c.board.Post("api", entry("api-a", "pending"))
		Expect(c.reconcile("api").RequeueAfter).To(Equal(2 * time.Second))
		Expect(c.writes).To(Equal(1))

		c.clock.SetTime(theDay.Add(5 * time.Second))
		Expect(c.status("api").NodePools).To(ConsistOf(entry("api-a", "pending")))
		Expect(c.writes).To(Equal(2))
	})

	It("do not hold up what the policy itself is said to be", func() {
		c := clusterWith(storedPolicy("api", "api"), storedPool("api-a", "api", false))
		c.status("api")
		c.edit("api", withoutChances)
		Expect(ready(c.status("api")).Reason).To(Equal("Invalid"))
	})

	It("have the status looked at anew when the window opens that it calls the next", func() {
		c := clusterWith(storedPolicy("api", "api"))
		opening := openSaturday.Add(-time.Hour)
		c.clock.SetTime(opening.Add(-10 * time.Minute))
		Expect(c.reconcile("api").RequeueAfter).To(Equal(10 * time.Minute))
		c.clock.SetTime(opening)
		Expect(c.status("api").NextWindow.Time).To(BeTemporally("==", opening.Add(4*day)))
	})
})
