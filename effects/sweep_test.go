// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/effects"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// inventory is all that a cluster of this one pool holds.
func inventory(s rotation.Snapshot) effects.Inventory {
	i := effects.Inventory{Now: s.Now, Pools: []rotation.Pool{s.Pool}, Claims: s.Claims, Placeholders: s.Placeholders}
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		i.Nodes = append(i.Nodes, s.Nodes[name])
	}
	return i
}

// leftBehind takes the anchor away from under the rotation, as no crash does and a restored backup may.
func leftBehind(s *rotation.Snapshot) {
	s.Pool.Annotations = rotation.Annotate(s.Pool.Annotations, nil, rotation.KeyActiveRotation, rotation.KeyAnchoredOn)
}

// swept is what the sweep of the pool's cluster asks for.
func swept(s rotation.Snapshot) []string {
	var all []effects.Action
	for _, left := range inventory(s).Leftovers() {
		Expect(left.Pool).To(Equal("api"))
		all = append(all, writes(left.Actions)...)
	}
	return told(all)
}

var _ = DescribeTable("The startup sweep cleans what no anchor references (§5.3)",
	func(s rotation.Snapshot, expected ...string) {
		Expect(swept(s)).To(Equal(append([]string{}, expected...)))
	},

	Entry("a placeholder of no rotation", APool(Anchored("old"), WithPlaceholderOn("", corev1.PodPending), leftBehind),
		"delete Pod noderotation/surge-for-old"),
	Entry("a placeholder of a rotation that another has followed",
		APool(Anchored("old"), WithPlaceholderOn("", corev1.PodPending), AClaim("next", PendingFor(0)), Anchored("next")),
		"delete Pod noderotation/surge-for-old"),
	Entry("but not one that is going already", APool(Anchored("old"), WithPlaceholderOn("", corev1.PodPending, Preempted), leftBehind)),

	Entry("node markers of no rotation", APool(AClaim("old"), ANode("old-node", ProtectedFor("old"))),
		"patch Node old-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt"),
	Entry("a cordon of no rotation", APool(AClaim("old"), ANode("old-node", CordonedByUs)),
		"patch Node old-node: -cordoned unschedulable=false"),
	Entry("but not an operator's protection and cordon",
		APool(AClaim("old"), ANode("old-node", ProtectedByOperator, CordonedByOperator, NodeAnnotated(rotation.KeySurgeFor, "old"))),
		"patch Node old-node: -surge-for"),
	Entry("nor a protection that an operator has changed since",
		APool(AClaim("old"), ANode("old-node", ProtectedFor("old"), NodeAnnotated(rotation.KeyDoNotDisrupt, "1h"))),
		"patch Node old-node: -surge-for -do-not-disrupt-owned"),
	Entry("nor the protection of the replacement whose Pods are on their way to it",
		APool(AClaim("old", BeingDeleted(time.Minute)), AClaim("new"), ANode("new-node", ProtectedFor("old")))),
	Entry("nor anything of a node that is going away", APool(AClaim("old"), ANode("old-node", ProtectedFor("old"), GoingAway))),

	Entry("a pending claim of no rotation becomes failed, and the pool pauses",
		APool(AClaim("old", Failed(2, Day), PendingFor(time.Hour), SurgingOn("new"))),
		"patch NodeClaim old: failed-at="+now+" retry-count=3 state=failed -started-at -surge-claim",
		"patch NodePool api: last-failure-at="+now),
	Entry("a draining one too, and while it goes no rotation starts beside it", APool(AClaim("old", DrainingFor(time.Hour))),
		"patch NodeClaim old: failed-at="+now+" released-at="+now+" retry-count=1 state=failed -started-at",
		"patch NodePool api: last-failure-at="+now),
	Entry("one whose count cannot be read is repaired", APool(AClaim("old", PendingFor(time.Hour), Annotated(rotation.KeyRetryCount, "?"))),
		"patch NodeClaim old: failed-at="+now+" retry-count=1 state=failed -started-at",
		"patch NodePool api: last-failure-at="+now),
	Entry("but a failed or an expired claim keeps its annotations",
		APool(AClaim("old", Failed(3, time.Hour)), AClaim("other", InState(rotation.StateExpired), BeingDeleted(0)))),

	Entry("companions of no anchor", APool(Mirrored(time.Minute, time.Minute), Rotated(Day), FailedLast(Day), Frozen(time.Hour)),
		"patch NodePool api: -active-rotation-state -draining-at -surge-wait"),

	Entry("and nothing of a clean pool", APool(AClaim("old"), AClaim("new"), ANode("old-node", ProtectedByOperator), Rotated(Day))),
)

var _ = Describe("The startup sweep (§5.3)", func() {
	It("leaves every anchored rotation to its own passes, whatever it looks like", func() {
		for _, situation := range Situations() {
			if situation.Snapshot.Anchor() != "" {
				Expect(swept(situation.Snapshot)).To(BeEmpty(), situation.Name)
			}
		}
	})

	It("leaves the anchored claim's node alone although its marker is lost", func() {
		Expect(swept(APool(old(PendingFor(0)), Anchored("old"), ANode("old-node", CordonedByUs)))).To(BeEmpty())
	})

	It("tells a person of a claim that no crash can have left so", func() {
		left := inventory(APool(AClaim("old", PendingFor(time.Hour)))).Leftovers()
		Expect(left).To(HaveLen(1))
		Expect(left[0].Actions).To(HaveLen(3))
		Expect(left[0].Actions[2]).To(And(
			HaveField("Reason", "RotationFailed"), HaveField("Severity", effects.Warning), HaveField("Target.Kind", "NodeClaim"),
			HaveField("Message", "NodeClaim old was marked pending but no NodePool is anchored on it; it is now marked failed and retried after its backoff")))
	})

	It("does not speak of another attempt where the claim is being deleted", func() {
		left := inventory(APool(AClaim("old", DrainingFor(time.Hour)))).Leftovers()
		Expect(left[0].Actions).To(ContainElement(HaveField("Message",
			"NodeClaim old was marked draining but no NodePool is anchored on it; its drain goes on, and no other node of the pool is rotated before that is over")))
	})

	It("knows whose a leftover is when the pool itself is gone (§3.8)", func() {
		i := inventory(APool(old(PendingFor(0)), Anchored("old"), ANode("old-node", ProtectedFor("old"), CordonedByUs), WithPlaceholderOn("", corev1.PodPending)))
		i.Pools, i.Claims = nil, nil
		var all []effects.Action
		for _, left := range i.Leftovers() {
			Expect(left.Pool).To(Equal("api"))
			all = append(all, left.Actions...)
		}
		Expect(told(all)).To(HaveExactElements("delete Pod noderotation/surge-for-old",
			"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false"))
	})
})

// Once swept, there is nothing left to sweep, whatever was there.
func TestASweptClusterIsClean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Snapshots().Draw(t, "snapshot")
		before := Clone(s)
		var all []effects.Action
		for _, left := range inventory(s).Leftovers() {
			all = append(all, left.Actions...)
		}
		world := shown(before).carryOut(all)
		for _, pod := range s.Placeholders {
			if !world.Placeholders[pod.Name] {
				pod.DeletionTimestamp = &metav1.Time{Time: s.Now}
			}
		}
		s.Pool.Annotations = world.Pool
		for i := range s.Claims {
			s.Claims[i].Annotations = world.Claims[s.Claims[i].Name]
		}
		for name, node := range s.Nodes {
			node.Annotations, node.Spec.Unschedulable = world.Nodes[name], world.Cordoned[name]
		}
		if left := inventory(s).Leftovers(); len(left) > 0 {
			t.Errorf("after the sweep is left %v", told(left[0].Actions))
		}
	})
}
