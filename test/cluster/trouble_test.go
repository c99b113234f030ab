// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"noderotation.io/noderotation/test/cluster"
)

var _ = Describe("Trouble with capacity", func() {
	AfterEach(func(ctx SpecContext) {
		Expect(shared.EndShortage(ctx)).To(Succeed())
		Expect(shared.FailLaunches(ctx, 0)).To(Succeed())
		Expect(shared.ProvisioningDelay(ctx, 0)).To(Succeed())
	})

	It("fails launches in a zone with a shortage with Karpenter's own error, until it ends", func(ctx SpecContext) {
		Expect(shared.CapacityShortage(ctx, "test-zone-b")).To(Succeed())
		pool := cluster.Pool{Name: "short", Zones: []string{"test-zone-b"}}
		workload := cluster.Workload{Name: "short", Replicas: 1}
		plannedFleet(ctx, pool, workload)

		Eventually(countsCapacityErrors(pool.Name)).WithContext(ctx).Should(BeNumerically(">=", 2), "given up, and tried again")
		Expect(nodeCount(pool.Name)(ctx)).To(BeZero())

		Expect(shared.EndShortage(ctx)).To(Succeed())
		Expect(shared.WaitForWorkload(ctx, workload)).To(Succeed())
	}, SpecTimeout(patience))

	It("sends a launch that may go elsewhere to a zone without a shortage", func(ctx SpecContext) {
		Expect(shared.CapacityShortage(ctx, "test-zone-a", "test-zone-b", "test-zone-c")).To(Succeed())
		pool := cluster.Pool{Name: "elsewhere"}
		standingFleet(ctx, pool, cluster.Workload{Name: "elsewhere", Replicas: 1})

		nodes, err := shared.NodesOf(ctx, pool.Name)
		Expect(err).NotTo(HaveOccurred())
		Expect(nodes).To(HaveLen(1))
		Expect(nodes[0].Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "test-zone-d"))
		Expect(capacityErrors(ctx, pool.Name)).To(BeZero())
	}, SpecTimeout(patience))

	It("fails as many launches as it was asked to, and no more", func(ctx SpecContext) {
		Expect(shared.FailLaunches(ctx, 1)).To(Succeed())
		pool := cluster.Pool{Name: "stumbling"}
		standingFleet(ctx, pool, cluster.Workload{Name: "stumbling", Replicas: 1})

		Expect(capacityErrors(ctx, pool.Name)).To(Equal(1))
		Expect(claimsOf(ctx, pool.Name)).To(HaveLen(1))
	}, SpecTimeout(patience))

	It("lets the asked delay pass before a launched instance registers", func(ctx SpecContext) {
		Expect(shared.ProvisioningDelay(ctx, 5*time.Second)).To(Succeed())
		pool := cluster.Pool{Name: "slow"}
		standingFleet(ctx, pool, cluster.Workload{Name: "slow", Replicas: 1})

		nodes, err := shared.NodesOf(ctx, pool.Name)
		Expect(err).NotTo(HaveOccurred())
		launched, err := timeOf(claimsOf(ctx, pool.Name)[0], "Launched")
		Expect(err).NotTo(HaveOccurred())
		Expect(nodes[0].CreationTimestamp.Sub(launched)).To(BeNumerically(">=", 4*time.Second), "of which the API writes whole seconds")
	}, SpecTimeout(patience))

	It("registers no instance whose NodeClaim was deleted while it was on its way", func(ctx SpecContext) {
		delay := 5 * time.Second
		Expect(shared.ProvisioningDelay(ctx, delay)).To(Succeed())
		pool := cluster.Pool{Name: "recalled"}
		workload := cluster.Workload{Name: "recalled", Replicas: 1}
		plannedFleet(ctx, pool, workload)
		Eventually(func(ctx context.Context) error {
			claims := claimsOf(ctx, pool.Name)
			if len(claims) == 0 {
				return context.DeadlineExceeded
			}
			_, err := timeOf(claims[0], "Launched")
			return err
		}).WithContext(ctx).Should(Succeed())

		workload.Replicas, workload.Pool = 0, pool.Name
		Expect(shared.ApplyWorkload(ctx, workload)).To(Succeed())
		Expect(shared.DeleteNodeClaim(ctx, claimsOf(ctx, pool.Name)[0].GetName())).To(Succeed())
		Eventually(claimCount(pool.Name)).WithContext(ctx).Should(BeZero())
		Consistently(nodeCount(pool.Name)).WithContext(ctx).WithTimeout(delay + 2*time.Second).Should(BeZero())
	}, SpecTimeout(patience))
})

var _ = Describe("Trouble with pods and nodes", Ordered, func() {
	pool := cluster.Pool{Name: "troubled"}
	workload := cluster.Workload{Name: "troubled", Replicas: 3, EndDelay: 4 * time.Second, Pool: pool.Name}

	BeforeAll(func(ctx SpecContext) {
		standingFleet(ctx, pool, workload)
	}, NodeTimeout(patience))

	It("lets a pod take its time to end", func(ctx SpecContext) {
		asked := time.Now()
		took := endOf(ctx, anyPod(ctx, workload), metav1.DeleteOptions{}).Sub(asked)
		// The API writes the instant in whole seconds, rounding down.
		Expect(took).To(And(BeNumerically(">", 3*time.Second), BeNumerically("<", 20*time.Second)))
	}, SpecTimeout(patience))

	It("ends a slow pod when its grace period is over", func(ctx SpecContext) {
		slow := cluster.Workload{Name: "stubborn", Replicas: 1, EndDelay: 10 * time.Minute, Pool: pool.Name}
		Expect(shared.ApplyWorkload(ctx, slow)).To(Succeed())
		Expect(shared.WaitForWorkload(ctx, slow)).To(Succeed())
		asked := time.Now()
		grace := int64(1)
		took := endOf(ctx, anyPod(ctx, slow), metav1.DeleteOptions{GracePeriodSeconds: &grace}).Sub(asked)
		Expect(took).To(BeNumerically("<", 30*time.Second))
	}, SpecTimeout(patience))

	It("keeps a node not ready until it is told otherwise", func(ctx SpecContext) {
		nodes, err := shared.NodesOf(ctx, pool.Name)
		Expect(err).NotTo(HaveOccurred())
		name := nodes[0].Name

		Expect(shared.NodeNotReady(ctx, name)).To(Succeed())
		Eventually(hasNotReadyTaint(name)).WithContext(ctx).Should(BeTrue())
		Consistently(hasNotReadyTaint(name)).WithContext(ctx).WithTimeout(3 * time.Second).Should(BeTrue())

		Expect(shared.NodeReady(ctx, name)).To(Succeed())
		Eventually(hasNotReadyTaint(name)).WithContext(ctx).Should(BeFalse())
	}, SpecTimeout(patience))
})

// anyPod returns a Pod of the workload that runs.
func anyPod(ctx context.Context, workload cluster.Workload) corev1.Pod {
	GinkgoHelper()
	Expect(shared.WaitForWorkload(ctx, workload)).To(Succeed())
	pods, err := shared.PodsOf(ctx, workload)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods {
		if isHealthy(&pod) {
			return pod
		}
	}
	Fail("a workload that runs has no healthy pod")
	return corev1.Pod{}
}

// endOf deletes the Pod and returns the instant at which it was gone.
func endOf(ctx context.Context, pod corev1.Pod, how metav1.DeleteOptions) time.Time {
	GinkgoHelper()
	pods := shared.Client().CoreV1().Pods(pod.Namespace)
	events, err := pods.Watch(ctx, metav1.SingleObject(pod.ObjectMeta))
	Expect(err).NotTo(HaveOccurred())
	defer events.Stop()
	Expect(pods.Delete(ctx, pod.Name, how)).To(Or(Succeed(), MatchError(apierrors.IsNotFound, "not found")))
	for event := range events.ResultChan() {
		if event.Type == watch.Deleted {
			return time.Now()
		}
	}
	Fail("the watch ended before the pod did")
	return time.Time{}
}

func hasNotReadyTaint(node string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		now, err := shared.Client().CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, taint := range now.Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				return true, nil
			}
		}
		return false, nil
	}
}
