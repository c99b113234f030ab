// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	"noderotation.io/noderotation/test/cluster"
)

var _ = Describe("A fleet", func() {
	It("gets its nodes from Karpenter, in the zone its pool names", func(ctx SpecContext) {
		pool := cluster.Pool{Name: "grown", Zones: []string{"test-zone-c"}, NodeLabels: map[string]string{"team": "blue"}}
		standingFleet(ctx, pool, cluster.Workload{Name: "grown", Replicas: 6})

		Expect(shared.WaitForNodes(ctx, pool.Name, 2)).To(Succeed(), "three pods of one CPU fit on a node")
		nodes, err := shared.NodesOf(ctx, pool.Name)
		Expect(err).NotTo(HaveOccurred())
		for _, node := range nodes {
			Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, "test-zone-c"))
			Expect(node.Labels).To(HaveKeyWithValue("team", "blue"))
		}
	}, SpecTimeout(patience))

	It("loses the node of a deleted NodeClaim only as fast as the PodDisruptionBudget allows", func(ctx SpecContext) {
		one := intstr.FromInt32(1)
		pool := cluster.Pool{Name: "drained"}
		workload := cluster.Workload{Name: "drained", Replicas: 3, MaxUnavailable: &one, EndDelay: time.Second}
		standingFleet(ctx, pool, workload)
		Expect(shared.WaitForNodes(ctx, pool.Name, 1)).To(Succeed())

		health := watchHealth(ctx, workload)
		old := claimsOf(ctx, pool.Name)[0]
		Expect(shared.DeleteNodeClaim(ctx, old.GetName())).To(Succeed())

		Eventually(func(ctx context.Context) []string {
			var names []string
			for _, claim := range claimsOf(ctx, pool.Name) {
				names = append(names, claim.GetName())
			}
			return names
		}).WithContext(ctx).ShouldNot(ContainElement(old.GetName()))
		Expect(shared.WaitForWorkload(ctx, workload)).To(Succeed())
		Expect(shared.WaitForNodes(ctx, pool.Name, 1)).To(Succeed())
		Expect(health()).To(BeNumerically(">=", 2), "the lowest number of healthy pods at any event")
	}, SpecTimeout(patience))
})

// watchHealth records every event of the workload's Pods from now on. The function it returns ends the recording and
// tells the lowest number of healthy Pods (ready and not on their way out) there ever was.
func watchHealth(ctx context.Context, workload cluster.Workload) (lowest func() int) {
	GinkgoHelper()
	pods, err := shared.Client().CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=" + workload.Name})
	Expect(err).NotTo(HaveOccurred())
	events, err := shared.Client().CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{
		LabelSelector: "app=" + workload.Name, ResourceVersion: pods.ResourceVersion,
	})
	Expect(err).NotTo(HaveOccurred())

	healthy := map[string]bool{}
	for _, pod := range pods.Items {
		healthy[pod.Name] = isHealthy(&pod)
	}
	least, done := count(healthy), make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			healthy[pod.Name] = event.Type != watch.Deleted && isHealthy(pod)
			least = min(least, count(healthy))
		}
	}()
	return func() int {
		events.Stop()
		<-done
		return least
	}
}

func isHealthy(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func count(set map[string]bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}
