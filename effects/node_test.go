// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"maps"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/effects"
	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// surging is a pool whose placeholder runs on new-node; the facts change it.
func surging(facts ...Fact) rotation.Snapshot {
	return APool(append([]Fact{
		old(PendingFor(time.Minute)), Anchored("old"), AClaim("new", Aged(time.Minute)), WithPlaceholderOn("new-node", corev1.PodRunning),
	}, facts...)...)
}

var _ = Describe("freeze (§3.4)", func() {
	It("protects the old node, as ours", func() {
		Expect(asks(surging(), effects.Freeze)).To(HaveExactElements(
			"patch Node old-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old"))
	})
	It("marks a node that an operator protects, and does not adopt the protection", func() {
		Expect(asks(surging(ANode("old-node", ProtectedByOperator)), effects.Freeze)).To(HaveExactElements("patch Node old-node: surge-for=old"))
	})
	It("overwrites a value that protects nothing, and owns it", func() {
		Expect(asks(surging(ANode("old-node", NodeAnnotated(rotation.KeyDoNotDisrupt, "false"))), effects.Freeze)).To(HaveExactElements(
			"patch Node old-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old"))
	})
	It("re-asserts a protection that was taken away", func() {
		s := surging(ANode("old-node", ProtectedFor("old"), NodeAnnotated(rotation.KeyDoNotDisrupt, "")))
		Expect(asks(s, effects.Freeze)).To(HaveExactElements("patch Node old-node: karpenter.sh/do-not-disrupt=true"))
	})
	It("asks for nothing of a node that is missing or going away", func() {
		Expect(asks(surging(WithoutNode("old-node")), effects.Freeze)).To(BeEmpty())
		Expect(asks(surging(ANode("old-node", GoingAway)), effects.Freeze)).To(BeEmpty())
	})
})

var _ = Describe("cordon (§3.4)", func() {
	It("cordons the old node, as ours, in one write with its protection", func() {
		Expect(asks(surging(), effects.Cordon)).To(HaveExactElements("patch Node old-node: cordoned=true unschedulable=true"))
		_, actions := after(surging(), effects.Freeze, effects.Cordon)
		Expect(effects.Merge(actions)).To(HaveLen(1))
	})
	It("never adopts an operator's cordon", func() {
		Expect(asks(surging(ANode("old-node", CordonedByOperator)), effects.Cordon)).To(BeEmpty())
	})
	It("re-asserts its own", func() {
		s := surging(ANode("old-node", NodeAnnotated(rotation.KeyCordoned, rotation.ValueTrue)))
		Expect(asks(s, effects.Cordon)).To(HaveExactElements("patch Node old-node: unschedulable=true"))
	})
})

var _ = Describe("freeze_host (§3.4)", func() {
	It("protects the placeholder's host and does not cordon it", func() {
		Expect(asks(surging(), effects.FreezeHost)).To(HaveExactElements(
			"patch Node new-node: karpenter.sh/do-not-disrupt=true do-not-disrupt-owned=true surge-for=old"))
	})
	It("asks for nothing while there is no host", func() {
		Expect(asks(In("the placeholder waits for a node"), effects.FreezeHost)).To(BeEmpty())
	})
})

var _ = Describe("unfreeze (§3.4)", func() {
	It("takes everything of ours back, on either node", func() {
		s := surging(ANode("old-node", ProtectedFor("old"), CordonedByUs), ANode("new-node", ProtectedFor("old")))
		Expect(asks(s, effects.Unfreeze)).To(HaveExactElements(
			"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt",
			"patch Node old-node: -surge-for -do-not-disrupt-owned -cordoned -karpenter.sh/do-not-disrupt unschedulable=false"))
	})
	It("takes back what is left of ours on the old node although it no longer says for whom", func() {
		s := surging(ANode("old-node", NodeAnnotated(rotation.KeyCordoned, rotation.ValueTrue), CordonedByOperator))
		Expect(asks(s, effects.Unfreeze)).To(HaveExactElements("patch Node old-node: -cordoned unschedulable=false"))
	})
	It("leaves an operator's protection and cordon", func() {
		s := surging(ANode("old-node", ProtectedByOperator, CordonedByOperator, NodeAnnotated(rotation.KeySurgeFor, "old")))
		Expect(asks(s, effects.Unfreeze)).To(HaveExactElements("patch Node old-node: -surge-for"))
	})
	It("leaves a protection that an operator has changed since", func() {
		s := surging(ANode("old-node", ProtectedFor("old"), NodeAnnotated(rotation.KeyDoNotDisrupt, "1h")))
		Expect(asks(s, effects.Unfreeze)).To(HaveExactElements("patch Node old-node: -surge-for -do-not-disrupt-owned"))
	})
	It("leaves another rotation's node", func() {
		Expect(asks(surging(ANode("new-node", ProtectedFor("other"), CordonedByUs)), effects.Unfreeze)).To(BeEmpty())
	})
	It("takes back the surge node's when the old claim is gone", func() {
		Expect(asks(In("the drained claim is gone"), effects.Unfreeze)).To(HaveExactElements(
			"patch Node new-node: -surge-for -do-not-disrupt-owned -karpenter.sh/do-not-disrupt"))
	})
	It("asks for nothing of a node that is going away", func() {
		Expect(asks(surging(ANode("old-node", ProtectedFor("old"), CordonedByUs, GoingAway)), effects.Unfreeze)).To(BeEmpty())
	})
})

// Nothing that an operator set is ever removed: what a rotation does to its nodes, it undoes to the letter (§3.4). A
// do-not-disrupt other than "true" is nobody's protection, and the one thing that is not given back.
func TestWhatAnOperatorSetIsNeverTouched(t *testing.T) {
	values := rapid.SampledFrom([]string{"", "true", "false", "True", "10m"})
	rapid.Check(t, func(t *rapid.T) {
		operators := func(label string) NodeFact {
			annotations := rapid.MapOf(rapid.SampledFrom([]string{rotation.KeyDoNotDisrupt, "example.com/owner", "noderotation.io/note"}), values).Draw(t, label)
			cordoned := rapid.Bool().Draw(t, label+" cordoned")
			return func(n *corev1.Node) {
				n.Annotations = maps.Clone(annotations)
				n.Spec.Unschedulable = cordoned
				n.Spec.Taints = []corev1.Taint{{Key: "example.com/dedicated", Effect: corev1.TaintEffectNoSchedule}}
			}
		}
		s := surging(ANode("old-node", operators("old-node")), ANode("new-node", operators("new-node")))
		before := Clone(s)
		var err error
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{effects.Freeze, effects.Cordon, effects.FreezeHost}), 0, 6).Draw(t, "passes") {
			if s, _, err = apply(effect(name), s); err != nil {
				t.Fatal(err)
			}
			for node := range before.Nodes {
				if before.Nodes[node].Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue && !rotation.ProtectedByOperator(s.Nodes[node]) {
					t.Errorf("%s adopted the operator's protection of %s", name, node)
				}
			}
		}
		s, _, err = apply(effect(effects.Unfreeze), s)
		if err != nil {
			t.Fatal(err)
		}
		for name, was := range before.Nodes {
			is, expected := s.Nodes[name], kept(was.Annotations)
			given := kept(is.Annotations)
			if expected[rotation.KeyDoNotDisrupt] != rotation.ValueTrue {
				delete(expected, rotation.KeyDoNotDisrupt)
				delete(given, rotation.KeyDoNotDisrupt)
			}
			if !maps.Equal(given, expected) {
				t.Errorf("node %s has %v and had %v", name, given, expected)
			}
			if !reflect.DeepEqual(is.Spec, was.Spec) || !maps.Equal(is.Labels, was.Labels) {
				t.Errorf("node %s is %+v and was %+v", name, is.Spec, was.Spec)
			}
			if is.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue && was.Annotations[rotation.KeyDoNotDisrupt] != rotation.ValueTrue {
				t.Errorf("node %s keeps our protection", name)
			}
		}
	})
}
