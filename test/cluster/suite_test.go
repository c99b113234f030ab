// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"noderotation.io/noderotation/test/cluster"
)

// shared is the cluster of all scenarios that do not start or stop one themselves. Each scenario has pools and workloads
// of its own in it.
var shared *cluster.Cluster

// patience is how long a scenario may take, on a machine that builds something else at the same time.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	if os.Getenv(startAndHoldVariable) != "" {
		startAndHold()
	}
	os.Exit(m.Run())
}

func TestCluster(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "A cluster for tests")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	_, err = cluster.Build(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	shared, err = cluster.Start(ctx, cluster.Options{Name: "shared", Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shared.Stop)
})

var (
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	nodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
)

// claimsOf returns the NodeClaims of a pool.
func claimsOf(ctx context.Context, pool string) []unstructured.Unstructured {
	GinkgoHelper()
	claims, err := shared.Dynamic().Resource(nodeClaims).List(ctx, metav1.ListOptions{LabelSelector: cluster.NodePoolLabel + "=" + pool})
	Expect(err).NotTo(HaveOccurred())
	return claims.Items
}

// standingFleet applies a pool and a workload that runs in it only, and removes both when the scenario is over.
func standingFleet(ctx context.Context, pool cluster.Pool, workload cluster.Workload) {
	GinkgoHelper()
	plannedFleet(ctx, pool, workload)
	Expect(shared.WaitForWorkload(ctx, workload)).To(Succeed())
}

// plannedFleet is a standingFleet whose Pods need not run, now or ever.
func plannedFleet(ctx context.Context, pool cluster.Pool, workload cluster.Workload) {
	GinkgoHelper()
	DeferCleanup(func(ctx context.Context) {
		_ = shared.Client().AppsV1().Deployments("default").Delete(ctx, workload.Name, metav1.DeleteOptions{})
		_ = shared.Client().PolicyV1().PodDisruptionBudgets("default").Delete(ctx, workload.Name, metav1.DeleteOptions{})
		_ = shared.Dynamic().Resource(nodePools).Delete(ctx, pool.Name, metav1.DeleteOptions{})
	})
	Expect(shared.ApplyPool(ctx, pool)).To(Succeed())
	workload.Pool = pool.Name
	Expect(shared.ApplyWorkload(ctx, workload)).To(Succeed())
}

// capacityErrors counts the NodeClaims of a pool that Karpenter gave up for want of capacity, by their Events.
func capacityErrors(ctx context.Context, pool string) (int, error) {
	events, err := shared.Client().CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "reason=InsufficientCapacityError"})
	if err != nil {
		return 0, err
	}
	claims := map[string]bool{}
	for _, event := range events.Items {
		if about := event.InvolvedObject; about.Kind == "NodeClaim" && len(about.Name) > len(pool) && about.Name[:len(pool)+1] == pool+"-" {
			claims[about.Name] = true
		}
	}
	return len(claims), nil
}

// countsCapacityErrors is capacityErrors for Eventually.
func countsCapacityErrors(pool string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) { return capacityErrors(ctx, pool) }
}

// nodeCount is the number of a pool's Nodes, for Eventually and Consistently.
func nodeCount(pool string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		nodes, err := shared.NodesOf(ctx, pool)
		return len(nodes), err
	}
}

// claimCount is the number of a pool's NodeClaims, for Eventually.
func claimCount(pool string) func(context.Context) int {
	return func(ctx context.Context) int { return len(claimsOf(ctx, pool)) }
}

func timeOf(object unstructured.Unstructured, conditionType string) (time.Time, error) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if fields := entry.(map[string]any); fields["type"] == conditionType && fields["status"] == "True" {
			return time.Parse(time.RFC3339, fields["lastTransitionTime"].(string))
		}
	}
	return time.Time{}, fmt.Errorf("%s has no condition %s", object.GetName(), conditionType)
}
