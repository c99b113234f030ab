// SPDX-License-Identifier: Apache-2.0

// Package e2e proves the controller on a real control plane with a real Karpenter. Every verdict comes from a complete
// recording of what happened, or from the API server's audit log; none from looking now and then.
//
// truth_test.go holds the simulator against this cluster. The scenarios of sim/truth are carried out here as they are
// there, with kwok's instances, the scheduler and Karpenter in the models' place, and the order of the rows that the
// controller's log tells must be the one in the scenario's text, pool by pool. Nothing is smoothed out but the names of
// claims that Karpenter adds. A scenario begins as the simulator's would (plan_test.go), save that all nodes are new.
package e2e

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
)

const (
	// binaryVariable names a binary of the product to run the suite against; one is built if it is not set.
	binaryVariable = "NODEROTATION_BINARY"
	// buildTimeout bounds the compilation of the cluster's binary, on two cores and with cold caches.
	buildTimeout = 45 * time.Minute
	// patience bounds one scenario, on a machine that does something else at the same time.
	patience = 4 * time.Minute
)

var (
	// shared is the cluster that this process's scenarios run on, one after the other.
	shared *cluster.Cluster
	// binary is the product, as built for this run.
	binary string
	// ledger is where each process leaves what is judged over the whole suite.
	ledger suiteLedger
	// undisturbed are this process's rotations that nothing stood in the way of.
	undisturbed Undisturbed
)

// run is what the first process tells all.
type run struct {
	Binary string
	Ledger suiteLedger
}

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "noderotation on a real cluster")
}

// One process builds, and each then has a cluster of its own.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) []byte {
	folder, err := os.MkdirTemp("", "noderotation-e2e-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, folder)
	built := os.Getenv(binaryVariable)
	if built == "" {
		By("building the product")
		built, err = process.Build(ctx, folder)
		Expect(err).NotTo(HaveOccurred())
	}
	By("building the cluster's binary, if that has not been done before")
	_, err = cluster.Build(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	told, err := json.Marshal(run{Binary: built, Ledger: suiteLedger(folder)})
	Expect(err).NotTo(HaveOccurred())
	return told
}, func(ctx SpecContext, told []byte) {
	var this run
	Expect(json.Unmarshal(told, &this)).To(Succeed())
	binary, ledger = this.Binary, this.Ledger
	var err error
	shared, err = cluster.Start(ctx, cluster.Options{Name: "e2e", Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(shared.Stop)
	install(ctx)
}, NodeTimeout(buildTimeout))

// What the controller may do is what it did (§4.3), and hardly a write of it was rejected, over all scenarios of all
// processes.
var _ = SynchronizedAfterSuite(func() {
	if shared != nil {
		ledger.enter(shared.AuditLog(), GinkgoParallelProcess(), undisturbed)
	}
}, func() {
	if ledger != "" {
		ledger.judge(wholeSuite())
	}
})

func install(ctx context.Context) {
	GinkgoHelper()
	all, err := manifests.All()
	Expect(err).NotTo(HaveOccurred())
	Expect(shared.Apply(ctx, all)).To(Succeed())
	admissionIsInForce(ctx)
}
