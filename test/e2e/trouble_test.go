// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("A replacement that does not stand within readyTimeout", func() {
	// Two failures and a success of one node. After the first failure the failure pause is the longer one, after the second
	// the escalated backoff; and neither can be taken for the other, nor for a backoff doubled once more or once less.
	const (
		impatience   = 12 * time.Second
		failurePause = 20 * time.Second
		retryBackoff = 14 * time.Second
	)

	It("is rolled back to the status quo, and tried again after the pauses until there is capacity (§3.8, §3.2, §3.7)", func(ctx SpecContext) {
		// Only the candidate's own zone runs out; there is room in three others, where the placeholder must not go.
		s, f := begin(ctx), fleetOf("short", 1, func(f *fleet) { f.Zones = cluster.Zones() })
		s.stands(ctx, f)
		claim, zone := f.Originals[0], s.zoneOf(ctx, f)
		withPatience := func(readyTimeout time.Duration) *v1alpha1.RotationPolicy {
			return policyFor("short", func(spec *v1alpha1.RotationPolicySpec) {
				spec.Surge.ReadyTimeout = seconds(int(readyTimeout / time.Second))
				spec.Surge.FailurePause = seconds(int(failurePause / time.Second))
				spec.Surge.RetryBackoff = seconds(int(retryBackoff / time.Second))
			})
		}

		By("an instance that is launched and comes up too late")
		launchesTake(ctx, 2*time.Minute)
		s.controllerRuns(ctx)
		s.governs(ctx, withPatience(impatience))
		s.hasFailed(ctx, claim, 1)

		By("a zone that has run out of capacity")
		launchesTake(ctx, 0)
		runsOut(ctx, zone)
		s.hasFailed(ctx, claim, 2)
		Expect(s.reads(ctx, f, "noderotation_completed_total", `outcome="failure"`)).To(Equal(2.0))
		Expect(told(ctx, "RotationFailed", claim).Type).To(Equal(corev1.EventTypeWarning))
		Expect(told(ctx, "SurgeUnschedulable", claim).Note).To(ContainSubstring("found no node"))

		By("capacity again, and the time that a launch takes")
		Expect(shared.EndShortage(ctx)).To(Succeed())
		s.governs(ctx, withPatience(90*time.Second))
		s.rotatesOnce(ctx, f)

		recording := s.recording(ctx)
		ExpectEndings(recording, f, verdict.Failed, verdict.Failed, verdict.Success)
		attempts := verdict.Attempts(recording, f.Name)
		failed, breaches := verdict.TimedOut(attempts, impatience)
		Expect(breaches).To(BeEmpty(), "readyTimeout")
		Expect(failed).To(Equal(2), "failures judged")
		Expect(verdict.PausesKept(attempts, failurePause, retryBackoff)).To(BeEmpty(), "pauses")
		induced, breaches := verdict.Reaped(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "induced claims")
		Expect(induced).To(Equal(1), "claims launched for a failed attempt")
		Expect(zones(recording, f)).To(ConsistOf(zone), "the replacement stands where the candidate did")
		ExpectSerial(recording, f)
		ExpectMakeBeforeBreak(recording, f, 1)
		ExpectBudgetNeverViolated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "pending-timed-out", "start", "pending-timed-out", "start", "drain", "drained")
	}, SpecTimeout(patience))
})

// launchesTake has instances come up this long after their launch, until the scenario is over.
func launchesTake(ctx context.Context, delay time.Duration) {
	GinkgoHelper()
	Expect(shared.ProvisioningDelay(ctx, delay)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(shared.ProvisioningDelay(ctx, 0)).To(Succeed()) })
}

// runsOut takes the capacity out of a zone, until the scenario is over.
func runsOut(ctx context.Context, zone string) {
	GinkgoHelper()
	Expect(shared.CapacityShortage(ctx, zone)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(shared.EndShortage(ctx)).To(Succeed()) })
}

// zoneOf is the zone of the fleet's only Node.
func (s *scenario) zoneOf(ctx context.Context, f *fleet) string {
	GinkgoHelper()
	nodes, err := shared.NodesOf(ctx, f.Name)
	Expect(err).NotTo(HaveOccurred())
	Expect(nodes).To(HaveLen(1))
	return nodes[0].Labels[corev1.LabelTopologyZone]
}

// zones are those in which the pool's Nodes stand at the end.
func zones(recording record.Recording, f *fleet) []string {
	var found []string
	for _, node := range recording.End().NodesOf(f.Name) {
		found = append(found, node.Labels[corev1.LabelTopologyZone])
	}
	return found
}

// hasFailed waits until the claim has failed so many times and its anchor is cleared.
func (s *scenario) hasFailed(ctx context.Context, claim string, times int) {
	GinkgoHelper()
	s.await(ctx, fmt.Sprintf("NodeClaim %s has failed %d times", claim, times), func(world record.World) bool {
		found := world.Claims[claim]
		if found == nil || found.Annotations[rotation.KeyRetryCount] != fmt.Sprint(times) || !isIn(world, claim, rotation.StateFailed) {
			return false
		}
		pool := world.Pools[found.Labels[cluster.NodePoolLabel]]
		return pool != nil && pool.Annotations[rotation.KeyActiveRotation] == ""
	})
}
