// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestSerial(t *testing.T) {
	anchored := pool("active-rotation=" + oldClaim)
	for name, story := range map[string]struct {
		events []record.Event
		breach string
	}{
		"one node goes": {events: []record.Event{turns(1, anchored), turns(2, claim(oldClaim, "state=pending")), turns(3, deleted(claim(oldClaim, "state=draining")))}},
		"a claim is pending without an anchor": {
			events: []record.Event{turns(1, claim(oldClaim, "state=pending"))}, breach: `web-old is pending and the anchor names ""`,
		},
		"a claim drains and the anchor names another": {
			events: []record.Event{turns(1, pool("active-rotation=other")), turns(2, claim(oldClaim, "state=draining"))}, breach: `the anchor names "other"`,
		},
		"two nodes go": {
			events: []record.Event{turns(1, anchored), turns(2, claim(oldClaim, "state=pending")), comes(3, deleted(claim(newClaim)))},
			breach: "web-new and web-old are all on their way out",
		},
		"the other never had a node": {
			events: []record.Event{turns(1, anchored), turns(2, claim(oldClaim, "state=pending")), comes(3, deleted(wanted(newClaim)))},
		},
		"the other is expired by another hand": {
			events: []record.Event{turns(1, anchored), turns(2, claim(oldClaim, "state=pending")), comes(3, deleted(claim(newClaim, "state=expired")))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, verdict.Serial(record.NewRecording(fleet(), story.events...), thePool), story.breach)
		})
	}
}

func TestNeverMoreThan(t *testing.T) {
	surge := record.NewRecording(fleet(), comes(1, claim(newClaim)), comes(2, nodeOf(newClaim)))
	judged(t, verdict.NeverMoreThan(surge, thePool, 2), "")
	third := record.NewRecording(fleet(), comes(1, claim(newClaim)), comes(2, wanted("third")), goes(3, wanted("third")))
	judged(t, verdict.NeverMoreThan(third, thePool, 2), "3 NodeClaims: third, web-new, web-old")
	orphan := record.NewRecording(fleet(), comes(1, nodeOf("x")), comes(2, nodeOf("y")), goes(3, nodeOf("x")))
	judged(t, verdict.NeverMoreThan(orphan, thePool, 2), "3 Nodes: node-web-old, node-x, node-y")
	judged(t, verdict.NeverMoreThan(third, "other", 0), "")
}

func TestMakeBeforeBreak(t *testing.T) {
	drains := turns(9, deleted(claim(oldClaim, "state=draining")))
	host := comes(1, nodeOf(newClaim))
	unbound, ending, foreign := placeholder(newClaim, "1"), deleted(placeholder(newClaim, "1")), nodeOf(newClaim)
	unbound.Spec.NodeName, unbound.Status.Phase = "", corev1.PodPending
	foreign.Labels = map[string]string{"karpenter.sh/nodepool": "other"}
	daemon := workload("agent", oldClaim)
	daemon.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet"}}

	for name, story := range map[string]struct {
		events []record.Event
		breach string
	}{
		"the surge holds the room":       {events: []record.Event{host, comes(2, placeholder(newClaim, "1")), drains}},
		"the room of a DaemonSet too":    {events: []record.Event{comes(0, daemon), host, comes(2, placeholder(newClaim, "1")), drains}},
		"no placeholder":                 {events: []record.Event{host, drains}, breach: "no placeholder stands for it"},
		"the placeholder was deleted":    {events: []record.Event{host, comes(2, placeholder(newClaim, "1")), goes(3, placeholder(newClaim, "1")), drains}, breach: "no placeholder stands for it"},
		"the placeholder is on its way":  {events: []record.Event{host, comes(2, ending), drains}, breach: "its placeholder does not run"},
		"the placeholder has no node":    {events: []record.Event{host, comes(2, unbound), drains}, breach: "its placeholder does not run"},
		"the placeholder on the old one": {events: []record.Event{host, comes(2, placeholder(oldClaim, "1")), drains}, breach: "is on no other Node"},
		"the host is not Ready":          {events: []record.Event{comes(1, notReady(nodeOf(newClaim))), comes(2, placeholder(newClaim, "1")), drains}, breach: "is not a Ready Node of the pool"},
		"the host is on its way out":     {events: []record.Event{comes(1, deleted(nodeOf(newClaim))), comes(2, placeholder(newClaim, "1")), drains}, breach: "is not a Ready Node of the pool"},
		"the host is another pool's":     {events: []record.Event{comes(1, foreign), comes(2, placeholder(newClaim, "1")), drains}, breach: "is not a Ready Node of the pool"},
		"too little room":                {events: []record.Event{comes(0, workload("web-1", oldClaim)), host, comes(2, placeholder(newClaim, "1500m")), drains}, breach: "holds 500m less of cpu"},
	} {
		t.Run(name, func(t *testing.T) {
			replaced, breaches := verdict.MakeBeforeBreak(record.NewRecording(fleet(), story.events...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(replaced).To(Equal(1))
		})
	}

	t.Run("a claim that another hand deletes is no drain of ours", func(t *testing.T) {
		replaced, breaches := verdict.MakeBeforeBreak(record.NewRecording(fleet(), turns(1, deleted(claim(oldClaim, "state=pending")))), thePool)
		judged(t, breaches, "")
		NewWithT(t).Expect(replaced).To(BeZero())
	})
}

func TestRotated(t *testing.T) {
	once := []record.Event{turns(1, pool("active-rotation="+oldClaim)), turns(2, pool("active-rotation="+oldClaim, "active-rotation-state=draining")), goes(3, claim(oldClaim)), turns(4, pool())}
	judged(t, verdict.Rotated(record.NewRecording(fleet(), once...), thePool, oldClaim), "")
	judged(t, verdict.Rotated(record.NewRecording(fleet(), once[:2]...), thePool, oldClaim), "web-old is still there")
	judged(t, verdict.Rotated(record.NewRecording(fleet(), once[2]), thePool, oldClaim), "web-old was anchored 0 times")
	twice := slices.Concat(once[:2], []record.Event{turns(3, pool()), turns(4, pool("active-rotation="+oldClaim)), goes(5, claim(oldClaim))})
	judged(t, verdict.Rotated(record.NewRecording(fleet(), twice...), thePool, oldClaim), "web-old was anchored 2 times")
	other := slices.Concat(once, []record.Event{turns(5, pool("active-rotation="+newClaim))})
	judged(t, verdict.Rotated(record.NewRecording(fleet(), other...), thePool, oldClaim), "web-new was anchored, which was not to be rotated")
}
