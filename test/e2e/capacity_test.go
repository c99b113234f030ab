// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("Spare capacity", func() {
	It("of the pool takes the surge, and no NodeClaim is made for it (§3.3)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("spare", 1)
		s.stands(ctx, f)
		spare := s.emptyNode(ctx, f)
		before := s.fence(ctx)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("spare"))
		s.rotatesOnce(ctx, f)

		recording := s.recording(ctx)
		Expect(verdict.Hosts(recording, f.Originals[0])).To(Equal([]string{spare}))
		Expect(verdict.Made(s.since(ctx, before), f.Name)).To(BeEmpty(), "claims made by the rotation")
		ExpectOneByOne(recording, f)
		ExpectNeverMoreThan(recording, f, 2)
		s.ExpectTransitions(f, "start", "drain", "drained")
		s.ExpectWrites(1)
	}, SpecTimeout(patience))

	It("of another pool is not used (§3.3)", func(ctx SpecContext) {
		s, rich, poor := begin(ctx), fleetOf("rich", 1), fleetOf("poor", 1)
		s.stands(ctx, rich)
		s.emptyNode(ctx, rich)
		s.stands(ctx, poor)
		before := s.fence(ctx)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("poor"))
		s.rotatesOnce(ctx, poor)

		recording := s.recording(ctx)
		made := verdict.Made(s.since(ctx, before), poor.Name)
		Expect(made).To(HaveLen(1), "claims made by the rotation")
		Expect(verdict.Hosts(recording, poor.Originals[0])).To(Equal([]string{recording.End().Claims[made[0]].Status.NodeName}))
		ExpectOneByOne(recording, poor)
		ExpectNeverMoreThan(recording, poor, 2)
		Expect(verdict.Attempts(recording, rich.Name)).To(BeEmpty(), "rotations of the pool that nobody governs")
		ExpectNeverMoreThan(recording, rich, 2)
	}, SpecTimeout(patience))
})

// emptyNode gives the fleet one Node more, on which nothing runs, and returns its name.
func (s *scenario) emptyNode(ctx context.Context, f *fleet) string {
	GinkgoHelper()
	filler := cluster.Workload{Name: f.Name + "-filler", Pool: f.Name, Replicas: podsPerNode}
	Expect(shared.ApplyWorkload(ctx, filler)).To(Succeed())
	Expect(shared.WaitForWorkload(ctx, filler)).To(Succeed())
	Expect(shared.WaitForNodes(ctx, f.Name, f.nodes()+1)).To(Succeed())
	pods, err := shared.PodsOf(ctx, filler)
	Expect(err).NotTo(HaveOccurred())
	node := pods[0].Spec.NodeName
	Expect(shared.Client().AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, filler.Name, metav1.DeleteOptions{})).To(Succeed())
	s.await(ctx, "node "+node+" is empty", func(world record.World) bool {
		return record.NodeReady(world.Nodes[node]) && len(world.PodsOn(node)) == 0
	})
	return node
}
