// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestFreezeHeld(t *testing.T) {
	freeze := "freeze=" + rotation.FormatStamp(at(10))
	longer := "freeze=" + rotation.FormatStamp(at(20))
	for name, story := range map[string]struct {
		events []record.Event
		held   int
		breach string
	}{
		"nothing happens":                  {events: []record.Event{turns(1, pool(freeze)), turns(2, pool(longer))}},
		"nothing of the pool's happens":    {events: []record.Event{turns(1, pool(freeze)), turns(2, workload("web-0", oldClaim))}},
		"its Node changes":                 {events: []record.Event{turns(1, pool(freeze)), turns(2, nodeOf(oldClaim))}, held: 1},
		"the pool changes":                 {events: []record.Event{turns(1, pool(freeze)), turns(2, pool(freeze, "last-rotation-at=x")), turns(3, pool(freeze))}, held: 2},
		"a rotation starts after its end":  {events: []record.Event{turns(1, pool(freeze)), turns(11, anchored(freeze))}},
		"a rotation starts":                {events: []record.Event{turns(1, pool(freeze)), turns(9, anchored(freeze))}, held: 1, breach: "a rotation of web-old is anchored"},
		"a rotation starts as it is set":   {events: []record.Event{turns(1, anchored(freeze))}, breach: "a rotation of web-old is anchored"},
		"a placeholder is made":            {events: []record.Event{turns(0, anchored()), turns(1, anchored(freeze)), comes(5, placeholder(newClaim, "1"))}, held: 1, breach: "placeholder surge-for-web-old is made"},
		"a placeholder was there":          {events: []record.Event{turns(0, anchored()), comes(0, placeholder(newClaim, "1")), turns(1, anchored(freeze)), turns(5, placeholder(newClaim, "1"))}, held: 1},
		"a drain begins":                   {events: []record.Event{turns(0, anchored()), turns(1, anchored(freeze)), turns(5, deleted(claim(oldClaim, "state=draining")))}, held: 1, breach: "the drain of web-old begins"},
		"another hand deletes the claim":   {events: []record.Event{turns(0, anchored()), turns(1, anchored(freeze)), turns(5, deleted(claim(oldClaim, "state=pending")))}, held: 1},
		"a rotation starts once it is off": {events: []record.Event{turns(1, pool(freeze)), turns(2, pool()), turns(3, anchored())}},
	} {
		t.Run(name, func(t *testing.T) {
			held, breaches := verdict.FreezeHeld(record.NewRecording(fleet(), story.events...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(held).To(Equal(story.held), "what happened in a freeze")
		})
	}
}

func TestGuarded(t *testing.T) {
	begins := []record.Event{turns(1, anchored()), turns(2, guarded())}
	for name, story := range map[string]struct {
		events     []record.Event
		reasserted int
		breach     string
	}{
		"all along":                       {events: []record.Event{turns(3, guarded()), turns(4, pool())}},
		"put back":                        {events: []record.Event{turns(3, nodeOf(oldClaim)), turns(4, guarded()), turns(5, pool())}, reasserted: 1},
		"the protection is taken away":    {events: []record.Event{turns(3, cordoned(nodeOf(oldClaim)))}, breach: "the Node of web-old is without its guard"},
		"the cordon is taken away":        {events: []record.Event{turns(3, nodeOf(oldClaim, "protected")), turns(4, pool())}, breach: "the Node of web-old was left without its guard"},
		"taken off with the anchor's end": {events: []record.Event{turns(4, pool()), turns(5, nodeOf(oldClaim))}},
		"gone with the Node":              {events: []record.Event{turns(3, deleted(nodeOf(oldClaim)))}},
	} {
		t.Run(name, func(t *testing.T) {
			reasserted, breaches := verdict.Guarded(record.NewRecording(fleet(), append(begins[:2:2], story.events...)...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(reasserted).To(Equal(story.reasserted))
		})
	}
}

func TestSurgeless(t *testing.T) {
	said := anchored("rotation-mode=forceful-fallback", "active-rotation-state=draining")
	drains := turns(5, deleted(claim(oldClaim, "state=draining")))
	for name, story := range map[string]struct {
		events []record.Event
		drains int
		breach string
	}{
		"it says what it is":             {events: []record.Event{turns(1, said), drains}, drains: 1},
		"it does not say what it is":     {events: []record.Event{turns(1, anchored("active-rotation-state=draining")), drains}, drains: 1, breach: "does not say that it is a forceful fallback"},
		"it does not say that it drains": {events: []record.Event{turns(1, anchored("rotation-mode=forceful-fallback")), drains}, drains: 1, breach: "does not say that it is a forceful fallback"},
		"a placeholder is made":          {events: []record.Event{turns(1, said), comes(2, placeholder(newClaim, "1")), drains}, drains: 1, breach: "placeholder surge-for-web-old is made"},
		"a Node is marked":               {events: []record.Event{turns(1, said), turns(2, nodeOf(oldClaim, "surge-for=x")), turns(3, nodeOf(oldClaim)), drains}, drains: 1, breach: "surge-for=x"},
		"a Node is protected":            {events: []record.Event{turns(1, said), turns(2, nodeOf(oldClaim, "protected")), drains}, drains: 1, breach: "karpenter.sh/do-not-disrupt=true"},
		"a Node is cordoned":             {events: []record.Event{turns(1, said), turns(2, cordoned(nodeOf(oldClaim))), drains}, drains: 1, breach: "node-web-old is cordoned"},
		"Karpenter expires it, not we":   {events: []record.Event{turns(5, deleted(claim(oldClaim)))}},
		"nothing drains":                 {events: []record.Event{turns(1, said)}},
	} {
		t.Run(name, func(t *testing.T) {
			drained, breaches := verdict.Surgeless(record.NewRecording(fleet(), story.events...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(drained).To(Equal(story.drains))
		})
	}
}
