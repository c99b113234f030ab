// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

func setting(key, value string) effects.Change {
	return effects.Change{Set: map[string]string{key: value}}
}

func removing(keys ...string) effects.Change { return effects.Change{Remove: keys} }

func onPool(anchored string, c effects.Change) effects.Action {
	return effects.PatchPool{Pool: rotation.Object{Name: "api", UID: "api"}, Anchored: anchored, Change: c}
}

func onClaim(name string, c effects.Change) effects.Action {
	return effects.PatchClaim{Claim: rotation.Object{Name: name, UID: types.UID(name)}, Change: c}
}

func onNode(name string, unschedulable *bool, c effects.Change) effects.Action {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	return effects.PatchNode{Node: node, Change: c, Unschedulable: unschedulable}
}

var _ = DescribeTable("Merging joins adjacent patches of one object (architecture, One applier)",
	func(actions []effects.Action, expected []string) {
		Expect(told(effects.Merge(actions))).To(Equal(expected))
	},
	Entry("of the pool",
		[]effects.Action{onPool("old", setting("a", "1")), onPool("old", removing("b"))},
		[]string{"patch NodePool api: a=1 -b"}),
	Entry("of one claim",
		[]effects.Action{onClaim("old", setting("a", "1")), onClaim("old", setting("b", "2"))},
		[]string{"patch NodeClaim old: a=1 b=2"}),
	Entry("of one node, with the cordon of either",
		[]effects.Action{onNode("n", nil, setting("a", "1")), onNode("n", new(true), setting("b", "2"))},
		[]string{"patch Node n: a=1 b=2 unschedulable=true"}),
	Entry("of one node, with the later cordon of both",
		[]effects.Action{onNode("n", new(true), setting("a", "1")), onNode("n", new(false), removing("a"))},
		[]string{"patch Node n: -a unschedulable=false"}),
	Entry("the later value wins",
		[]effects.Action{onPool("old", setting("a", "1")), onPool("old", setting("a", "2"))},
		[]string{"patch NodePool api: a=2"}),
	Entry("set after remove stays set",
		[]effects.Action{onPool("old", removing("a")), onPool("old", setting("a", "2"))},
		[]string{"patch NodePool api: a=2"}),
	Entry("removed after set stays removed",
		[]effects.Action{onPool("old", setting("a", "1")), onPool("old", removing("a"))},
		[]string{"patch NodePool api: -a"}),
	Entry("but not of two claims",
		[]effects.Action{onClaim("old", setting("a", "1")), onClaim("new", setting("a", "1"))},
		[]string{"patch NodeClaim old: a=1", "patch NodeClaim new: a=1"}),
	Entry("nor of a claim and a pool",
		[]effects.Action{onClaim("old", setting("a", "1")), onPool("old", setting("a", "1"))},
		[]string{"patch NodeClaim old: a=1", "patch NodePool api: a=1"}),
	Entry("nor across a third, whose place in the order would be lost",
		[]effects.Action{onPool("old", setting("a", "1")), onClaim("old", setting("a", "1")), onPool("old", setting("b", "1"))},
		[]string{"patch NodePool api: a=1", "patch NodeClaim old: a=1", "patch NodePool api: b=1"}),
	Entry("nor across an announcement",
		[]effects.Action{onPool("old", setting("a", "1")), effects.Announce{Message: "between"}, onPool("old", setting("b", "1"))},
		[]string{"patch NodePool api: a=1", "log: between", "patch NodePool api: b=1"}),
	Entry("nor deletes",
		[]effects.Action{effects.DeleteClaim{Claim: rotation.Object{Name: "old"}}, effects.DeleteClaim{Claim: rotation.Object{Name: "old"}}},
		[]string{"delete NodeClaim old", "delete NodeClaim old"}),
	Entry("and nothing of nothing", nil, []string{}),
)

var _ = Describe("The anchor's own patch (architecture, Conditional writes)", func() {
	It("stays conditional on the anchor's absence when a companion joins it", func() {
		merged := effects.Merge([]effects.Action{
			onPool("", setting(rotation.KeyActiveRotation, "old")), onPool("old", setting(rotation.KeyRotationMode, rotation.ModeForcefulFallback)),
		})
		Expect(merged).To(HaveLen(1))
		Expect(merged[0]).To(HaveField("Anchored", BeEmpty()))
	})
})

var _ = Describe("A joined node patch (architecture, Conditional writes)", func() {
	It("is conditional on the Node as it was read, not as the first step would leave it", func() {
		read := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}}
		stepped := read.DeepCopy()
		stepped.Annotations = map[string]string{"a": "1"}
		merged := effects.Merge([]effects.Action{
			effects.PatchNode{Node: read, Change: setting("a", "1")}, effects.PatchNode{Node: stepped, Unschedulable: new(true)},
		})
		Expect(merged).To(HaveLen(1))
		Expect(merged[0]).To(HaveField("Node", BeIdenticalTo(read)))
	})
})
