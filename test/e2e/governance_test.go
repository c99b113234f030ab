// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("A pool that loses what governs it", func() {
	It("has a pending rotation taken back, an operator's marks left alone, and is rotated once a policy is back (§3.4, §3.8, §5.4)",
		func(ctx SpecContext) {
			s, f := begin(ctx), fleetOf("orphan", 1)
			s.stands(ctx, f)
			old := f.Originals[0]
			oldNode := s.nodeOf(ctx, old)
			patchNode(ctx, oldNode, `{"spec":{"unschedulable":true}}`)
			launchesTake(ctx, 5*time.Second)
			s.controllerRuns(ctx)
			s.governs(ctx, policyFor("orphan"))

			// An operator's freeze holds the rotation while it is pending, and the new node is given a protection.
			s.await(ctx, "the rotation is pending", f.hasPlaceholder)
			freeze(ctx, f.Name)
			var newNode string
			s.await(ctx, "the placeholder runs on the new node", func(world record.World) bool {
				placeholder := placeholderFor(world, old)
				if placeholder == nil || placeholder.Status.Phase != corev1.PodRunning {
					return false
				}
				newNode = placeholder.Spec.NodeName
				return true
			})
			patchNode(ctx, newNode, `{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"true"}}}`)
			deletePolicy(ctx, "orphan")
			s.await(ctx, "the rotation is taken back", f.atRest)
			told(ctx, "GovernanceLost", f.Name)

			taken := s.fence(ctx)
			recording := s.recording(ctx)
			Expect(verdict.Outcomes(verdict.Attempts(recording, f.Name))).To(Equal([]verdict.Outcome{verdict.TakenBack}))
			ExpectNothingOfOursLeft(recording)
			protected, cordoned := verdict.Protected(recording.End())
			Expect(protected).To(Equal([]string{newNode}), "Nodes protected by the operator")
			Expect(cordoned).To(Equal([]string{oldNode}), "Nodes cordoned by the operator")
			Expect(recording.End().Claims[old].DeletionTimestamp).To(BeNil())

			thaw(ctx, f.Name)
			s.governs(ctx, policyFor("orphan"))
			s.settles(ctx, f)

			recording = s.since(ctx, taken)
			ExpectSerial(recording, f)
			ExpectMakeBeforeBreak(recording, f, 1)
			ExpectAllRotated(recording, f)
			ExpectEndings(recording, f, verdict.Success)
			ExpectBudgetNeverViolated(s.recording(ctx), f)
			ExpectNeverMoreThan(s.recording(ctx), f, 2)
			ExpectNothingOfOursLeft(recording)
			protected, cordoned = verdict.Protected(recording.End())
			Expect(protected).To(Equal([]string{newNode}), "Nodes protected by the operator")
			Expect(cordoned).To(BeEmpty())
			s.ExpectTransitions(f, "start", "pending-governance-lost", "start", "drain", "drained")
		}, SpecTimeout(patience))

	It("is not rotated while two policies tie for it, and says so (§5.4)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("torn", 1)
		s.stands(ctx, f)
		rival := policyFor("torn")
		rival.Name = "torn-as-well"
		s.governs(ctx, policyFor("torn"))
		s.governs(ctx, rival)
		s.controllerRuns(ctx)
		Expect(told(ctx, "PolicyConflict", f.Name).Note).To(ContainSubstring("torn and torn-as-well"))
		s.isPassedOver(ctx, s.controller, f)

		Expect(verdict.Attempts(s.recording(ctx), f.Name)).To(BeEmpty(), "rotations under a tie")
		succeeded, rejected := s.writes()
		Expect(succeeded).To(BeEmpty())
		Expect(rejected).To(BeEmpty())

		deletePolicy(ctx, rival.Name)
		s.rotatesOnce(ctx, f)
		ExpectOneByOne(s.recording(ctx), f)
	}, SpecTimeout(patience))

	It("and goes away itself in mid-rotation, its nodes with it, leaves nothing of ours (§3.8)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("doomed", 1)
		old := s.goesWhilePending(ctx, f, metav1.DeletePropagationBackground)

		// The budget has the old node stand for as long as its Pods have nowhere to go.
		s.await(ctx, "the placeholder is gone and the old node, if it stays, is unmarked", func(world record.World) bool {
			node := world.Nodes[old]
			return !f.hasPlaceholder(world) && (isUnmarked(node) || node == nil || node.DeletionTimestamp != nil)
		})
		f.remove(ctx)
		s.await(ctx, "claims and nodes are gone", func(world record.World) bool {
			return len(world.ClaimsOf(f.Name)) == 0 && len(world.NodesOf(f.Name)) == 0
		})

		recording := s.recording(ctx)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		ExpectNeverMoreThan(recording, f, 2)
		succeeded, rejected := s.writes()
		Expect(asked(succeeded[:4])).To(Equal(theTwelve[:4]), "the start")
		Expect(asked(succeeded[4:])).To(Or(Equal([]string{"delete pods"}), Equal([]string{"delete pods", "patch nodes"})), "what takes it back")
		Expect(rejected).To(BeEmpty())
	}, SpecTimeout(patience))

	It("and goes away itself in mid-rotation, without its nodes, leaves them as they were (§3.8)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("forsaken", 1)
		old := s.goesWhilePending(ctx, f, metav1.DeletePropagationOrphan)
		s.await(ctx, "the pool is gone, the placeholder too, and the old node is unmarked", func(world record.World) bool {
			return world.Pools[f.Name] == nil && !f.hasPlaceholder(world) && isUnmarked(world.Nodes[old])
		})

		recording := s.recording(ctx)
		end, claim := recording.End(), f.Originals[0]
		Expect(end.Claims[claim].DeletionTimestamp).To(BeNil(), "the claim lives on")
		Expect(end.Nodes[old].DeletionTimestamp).To(BeNil(), "the node lives on")
		// What the claim says of the attempt is swept when it has a pool again.
		Expect(verdict.Leftovers(end)).To(HaveEach(HavePrefix("NodeClaim "+claim+" ")), "leftovers but for those on the claim")
		ExpectNobodyProtected(recording)
		ExpectNeverMoreThan(recording, f, 2)
		succeeded, rejected := s.writes()
		Expect(asked(succeeded[:4])).To(Equal(theTwelve[:4]), "the start")
		Expect(asked(succeeded[4:])).To(ConsistOf("delete pods", "patch nodes"), "what takes it back")
		Expect(rejected).To(BeEmpty())
	}, SpecTimeout(patience))
})

// goesWhilePending has the NodePool of a fleet of one deleted while a replacement is launched, and returns the old Node.
func (s *scenario) goesWhilePending(ctx context.Context, f *fleet, propagation metav1.DeletionPropagation) (old string) {
	GinkgoHelper()
	s.stands(ctx, f)
	old = s.nodeOf(ctx, f.Originals[0])
	launchesTake(ctx, 20*time.Second)
	s.controllerRuns(ctx)
	s.governs(ctx, policyFor(f.Name))
	s.await(ctx, "the rotation is pending", f.hasPlaceholder)
	Expect(shared.Dynamic().Resource(nodePools).Delete(ctx, f.Name, metav1.DeleteOptions{PropagationPolicy: &propagation})).To(Succeed())
	return old
}

// isUnmarked tells whether the Node exists and bears nothing that a rotation puts on one.
func isUnmarked(node *corev1.Node) bool {
	if node == nil || node.Spec.Unschedulable {
		return false
	}
	for _, key := range append(rotation.NodeMarkers(), rotation.KeyDoNotDisrupt) {
		if _, stands := node.Annotations[key]; stands {
			return false
		}
	}
	return true
}

// hasPlaceholder tells whether a placeholder stands for one of the originals.
func (f *fleet) hasPlaceholder(world record.World) bool {
	for _, name := range f.Originals {
		if placeholderFor(world, name) != nil {
			return true
		}
	}
	return false
}

func placeholderFor(world record.World, claim string) *corev1.Pod {
	for _, pod := range world.Pods {
		if pod.Annotations[rotation.KeySurgeFor] == claim {
			return pod
		}
	}
	return nil
}

// atRest tells whether the pool has no rotation.
func (f *fleet) atRest(world record.World) bool {
	pool := world.Pools[f.Name]
	return pool != nil && pool.Annotations[rotation.KeyActiveRotation] == ""
}

// nodeOf is the Node of a NodeClaim.
func (s *scenario) nodeOf(ctx context.Context, claim string) string {
	GinkgoHelper()
	var node string
	s.await(ctx, "NodeClaim "+claim+" has a Node", func(world record.World) bool {
		if found := world.Claims[claim]; found != nil {
			node = found.Status.NodeName
		}
		return node != ""
	})
	return node
}

// patchNode changes a Node as an operator would.
func patchNode(ctx context.Context, name, patch string) {
	GinkgoHelper()
	_, err := shared.Client().CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}
