// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/effects"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("placeholder (§3.3)", func() {
	workload := WithWorkloadOn("old-node", "web", "cpu=4")

	It("creates the Pod that the rotation's Pods need", func() {
		s, actions := after(APool(old(PendingFor(0)), Anchored("old"), workload), effects.Placeholder)
		Expect(told(actions)).To(HaveExactElements("create Pod noderotation/surge-for-old"))
		created := actions[0].(effects.CreatePod).Pod
		Expect(actions[0]).To(HaveField("Subject", theOldClaim), "it was decided for that version of it")
		Expect(created.Annotations).To(HaveKeyWithValue(rotation.KeySurgeFor, "old"))
		Expect(created.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("4"))
		Expect(s.Placeholder()).To(Equal(created))
	})
	It("creates none while there is one, whatever it waits for", func() {
		Expect(asks(In("the placeholder waits for a node"), effects.Placeholder)).To(BeEmpty())
		Expect(asks(In("the surge is ready"), effects.Placeholder)).To(BeEmpty())
	})
	It("waits until a preempted one is gone, and creates another then", func() {
		Expect(asks(In("the placeholder is preempted"), effects.Placeholder)).To(BeEmpty())
		Expect(asks(In("the placeholder is missing"), effects.Placeholder)).To(HaveExactElements("create Pod noderotation/surge-for-old"))
	})
	It("deletes one that has ended, by UID, and waits for it to be gone", func() {
		s, actions := after(In("the placeholder has ended"), effects.Placeholder)
		Expect(actions).To(HaveExactElements(effects.DeletePod{Namespace: "noderotation", Name: "surge-for-old", UID: "uid-of-surge-for-old", Subject: theOldClaim}))
		Expect(asks(s, effects.Placeholder)).To(BeEmpty())
	})
	It("creates none for a node that nobody knows: it could not be sized", func() {
		Expect(asks(APool(old(PendingFor(0)), Anchored("old"), WithoutNode("old-node")), effects.Placeholder)).To(BeEmpty())
	})
	It("says which object stands in the way when it cannot be built", func() {
		s := APool(old(PendingFor(0)), Anchored("old"), PoolThat(func(p *rotation.Pool) {
			p.Requirements = []rotation.Requirement{{Key: corev1.LabelTopologyZone, Operator: "Near", Values: []string{"a"}}}
		}))
		same, actions, err := apply(effect(effects.Placeholder), s)
		Expect(err).To(MatchError(And(ContainSubstring("NodeClaim old"), ContainSubstring("NodePool api"), ContainSubstring(`"Near"`))))
		Expect(actions).To(BeEmpty())
		Expect(same.Placeholders).To(BeEmpty())
	})
	It("tells on the claim what the clamp gave up", func() {
		clamped := APool(old(PendingFor(0), func(c *rotation.Claim, _ time.Time) { c.Allocatable = Amounts("cpu=3") }), Anchored("old"), workload)
		Expect(announced(clamped, effects.Placeholder)).To(HaveExactElements(
			And(HaveField("Reason", "SurgeClamped"), HaveField("Severity", effects.Normal), HaveField("Target.Kind", "NodeClaim")),
			And(HaveField("Reason", "SurgeClampBandExceeded"), HaveField("Severity", effects.Warning)),
		))
	})
	It("tells that a clamp to nothing is refused", func() {
		refused := APool(old(PendingFor(0), func(c *rotation.Claim, _ time.Time) { c.Allocatable = Amounts("memory=1Gi") }), Anchored("old"), workload)
		Expect(announced(refused, effects.Placeholder)).To(HaveExactElements(
			And(HaveField("Reason", "SurgeClampRefused"), HaveField("Severity", effects.Warning), HaveField("Message", ContainSubstring("cpu")))))
	})
})

var _ = Describe("delete_placeholder (§3.3)", func() {
	It("deletes it by UID, for the claim as it was decided on", func() {
		s, actions := after(In("the surge is ready"), effects.DeletePlaceholder)
		Expect(actions).To(HaveExactElements(effects.DeletePod{Namespace: "noderotation", Name: "surge-for-old", UID: "uid-of-surge-for-old", Subject: theOldClaim}))
		Expect(s.Placeholders).To(BeEmpty())
	})
	It("deletes it whatever the claim is like that is being deleted, also by the effect before, or gone", func() {
		for _, s := range []rotation.Snapshot{
			In("the pending claim is gone"), APool(old(DrainingFor(time.Minute), BeingDeleted(time.Minute)), Anchored("old"), WithPlaceholderOn("", corev1.PodPending)),
		} {
			_, actions := after(s, effects.DeletePlaceholder)
			Expect(actions).To(HaveExactElements(HaveField("Subject", rotation.Object{})))
		}
		_, actions := after(In("the surge is ready"), effects.Delete, effects.DeletePlaceholder)
		Expect(actions[1]).To(HaveField("Subject", rotation.Object{}))
	})
	It("asks for nothing of one that is going, or gone", func() {
		Expect(asks(In("the placeholder is preempted"), effects.DeletePlaceholder)).To(BeEmpty())
		Expect(asks(In("the placeholder is missing"), effects.DeletePlaceholder)).To(BeEmpty())
	})
	It("deletes every one of the rotation, also when the claim is gone", func() {
		Expect(asks(In("the pending claim is gone"), effects.DeletePlaceholder)).To(HaveExactElements("delete Pod noderotation/surge-for-old"))
	})
})
