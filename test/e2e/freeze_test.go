// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("A freeze", func() {
	It("lets nothing start, and the rotation that waited for its end starts within two seconds of it (§3.1)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("frozen", 1)
		s.stands(ctx, f)
		freeze(ctx, f.Name)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("frozen"))
		Eventually(ctx, func() float64 { return s.reads(ctx, f, "noderotation_candidates") }).Should(Equal(1.0), "a pass has seen the candidate")
		frozen := s.fence(ctx)
		s.isPassedOver(ctx, s.controller, f)
		s.expectHeldSince(ctx, f, frozen)
		lifted := time.Now().Add(5 * time.Second).Truncate(time.Second)
		freezeUntil(ctx, f.Name, lifted)
		s.rotatesOnce(ctx, f)

		recording := s.recording(ctx)
		_, breaches := verdict.FreezeHeld(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "freeze")
		s.ExpectStartedPromptly(f, lifted)
		ExpectEndings(recording, f, verdict.Success)
		ExpectSerial(recording, f)
		ExpectMakeBeforeBreak(recording, f, 1)
		ExpectAllRotated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "drain", "drained")
	}, SpecTimeout(patience))

	It("holds a pending rotation, ready or not, and guards its node; when it is lifted the rotation goes on (§3.1)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("held", 1)
		s.stands(ctx, f)
		claim := f.Originals[0]
		launchesTake(ctx, 5*time.Second)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("held"))
		s.await(ctx, "a placeholder waits for its node", func(world record.World) bool { return len(placeholdersFor(world, claim)) == 1 })

		By("freezing the pool before the replacement stands")
		freeze(ctx, f.Name)
		frozen := s.fence(ctx)
		s.await(ctx, "the surge is ready, and noted on the claim", func(world record.World) bool {
			surge := world.Claims[world.Claims[claim].Annotations[rotation.KeySurgeClaim]]
			return surge != nil && surge.StatusConditions().Root().IsTrue() && record.NodeReady(world.Nodes[surge.Status.NodeName])
		})
		s.expectGuardReasserted(ctx, claim)

		By("deleting the placeholder as another hand might")
		s.deletePlaceholders(ctx, claim)
		s.expectGuardReasserted(ctx, claim)
		s.expectGuardReasserted(ctx, claim)
		s.expectHeldSince(ctx, f, frozen)

		By("lifting the freeze")
		thaw(ctx, f.Name)
		s.rotatesOnce(ctx, f)

		recording := s.recording(ctx)
		_, breaches := verdict.FreezeHeld(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "freeze")
		reasserted, breaches := verdict.Guarded(recording, f.Name)
		Expect(breaches).To(BeEmpty(), "guard")
		Expect(reasserted).To(Equal(3), "guards put back")
		ExpectEndings(recording, f, verdict.Success)
		ExpectSerial(recording, f)
		ExpectMakeBeforeBreak(recording, f, 1)
		ExpectBudgetNeverViolated(recording, f)
		ExpectNeverMoreThan(recording, f, 2)
		ExpectAllRotated(recording, f)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(f, "start", "drain", "drained")
	}, SpecTimeout(patience))
})

// expectHeldSince holds that the pool has been frozen since a fence, that something has happened to it, and that no rotation was
// begun or carried on.
func (s *scenario) expectHeldSince(ctx context.Context, f *fleet, frozen record.Revision) {
	GinkgoHelper()
	held, breaches := verdict.FreezeHeld(s.since(ctx, frozen), f.Name)
	Expect(breaches).To(BeEmpty(), "freeze")
	Expect(held).NotTo(BeZero(), "what has happened since the freeze")
}

// freezeUntil has nothing start in the pool before an instant, given in whole seconds.
func freezeUntil(ctx context.Context, pool string, until time.Time) {
	GinkgoHelper()
	annotatePool(ctx, pool, map[string]string{rotation.KeyFreeze: rotation.FormatStamp(until)})
}

// expectGuardReasserted takes the cordon and the protection off the claim's Node and waits until they are back. A pass that
// does so has looked at the whole rotation, and what it left undone was held.
func (s *scenario) expectGuardReasserted(ctx context.Context, claim string) {
	GinkgoHelper()
	node := s.nodeOf(ctx, claim)
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":false},"metadata":{"annotations":{%q:null}}}`, rotation.KeyDoNotDisrupt)
	bare, err := shared.Client().CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
	s.await(ctx, "Node "+node+" is protected and cordoned again", func(world record.World) bool {
		found := world.Nodes[node]
		return record.RevisionOf(found) > record.RevisionOf(bare) &&
			found.Spec.Unschedulable && found.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue
	})
}

// deletePlaceholders deletes every placeholder of the claim and waits until they are gone.
func (s *scenario) deletePlaceholders(ctx context.Context, claim string) {
	GinkgoHelper()
	var names []string
	s.await(ctx, "the placeholder is known", func(world record.World) bool {
		names = placeholdersFor(world, claim)
		return len(names) > 0
	})
	for _, name := range names {
		Expect(shared.Client().CoreV1().Pods(manifests.Namespace).Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed())
	}
	s.await(ctx, "the placeholder is gone", func(world record.World) bool { return len(placeholdersFor(world, claim)) == 0 })
}
