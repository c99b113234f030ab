// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestEndedInOrder(t *testing.T) {
	failed := claim(oldClaim, "state=failed", "failed-at=x", "retry-count=1")
	rollback := func(instead ...record.Event) []record.Event {
		events := []record.Event{
			turns(1, anchored()), turns(2, claim(oldClaim, "state=pending", "started-at=x")), turns(3, guarded()), comes(4, placeholder(newClaim, "1")),
			goes(5, placeholder(newClaim, "1")), turns(6, nodeOf(oldClaim)), turns(7, failed),
		}
		return append(append(events, instead...), turns(9, pool("last-failure-at=x")))
	}
	success := func(end record.Object) []record.Event {
		return []record.Event{
			turns(1, anchored()), turns(2, claim(oldClaim, "state=pending")), turns(3, guarded()),
			turns(4, anchored("active-rotation-state=draining")), turns(5, deleted(claim(oldClaim, "state=draining"))),
			turns(6, deleted(guarded())), goes(7, guarded()), goes(8, claim(oldClaim)), turns(9, end),
		}
	}
	expired := func(last ...record.Event) []record.Event {
		return append([]record.Event{turns(1, anchored()), turns(2, claim(oldClaim, "state=pending")), turns(3, deleted(claim(oldClaim, "state=expired")))}, last...)
	}
	for name, story := range map[string]struct {
		before []record.Object
		events []record.Event
		breach string
	}{
		"a failure in order":               {events: rollback()},
		"a success in order":               {events: success(pool("last-rotation-at=x"))},
		"an expiry in order":               {events: expired(turns(4, pool()))},
		"an operator's guard is left":      {before: []record.Object{cordoned(nodeOf(oldClaim, "protected"))}, events: rollback(turns(8, cordoned(nodeOf(oldClaim, "protected"))))},
		"an operator's cordon is undone":   {before: []record.Object{cordoned(nodeOf(oldClaim))}, events: rollback(), breach: "left Node node-web-old cordoned=false, which was true"},
		"a placeholder":                    {events: rollback(comes(8, placeholder(newClaim, "1"))), breach: "placeholder surge-for-web-old stands"},
		"a marker":                         {events: rollback(turns(8, nodeOf(oldClaim, "surge-for=x"))), breach: "Node node-web-old has noderotation.io/surge-for=x"},
		"a cordon":                         {events: rollback(turns(8, cordoned(nodeOf(oldClaim)))), breach: "left Node node-web-old cordoned=true, which was false"},
		"a protection":                     {events: rollback(turns(8, nodeOf(oldClaim, "protected"))), breach: "left Node node-web-old protected=true, which was false"},
		"the attempt's start":              {events: rollback(turns(8, claim(oldClaim, "state=failed", "failed-at=x", "retry-count=1", "started-at=x"))), breach: "the claim has noderotation.io/started-at=x"},
		"a failure that is not counted":    {events: rollback(turns(8, claim(oldClaim, "state=failed", "failed-at=x"))), breach: "counts 0 failures, not 1"},
		"a failure without a time":         {events: rollback(turns(8, claim(oldClaim, "state=failed", "retry-count=1"))), breach: "does not say when"},
		"a failure without its pause":      {events: append(rollback()[:7], turns(9, pool())), breach: "ended as failed and noderotation.io/last-failure-at was"},
		"a success without its cooldown":   {events: success(pool()), breach: "ended as success and noderotation.io/last-rotation-at was"},
		"an expiry with a cooldown":        {events: expired(turns(4, pool("last-rotation-at=x"))), breach: "ended as expired and noderotation.io/last-rotation-at was"},
		"an expiry that counts as failure": {events: expired(turns(4, deleted(claim(oldClaim, "state=expired", "retry-count=1"))), turns(5, pool())), breach: "counts 1 failures, not 0"},
		"a companion of the anchor":        {events: expired(turns(4, pool("surge-wait=1s"))), breach: "the pool has noderotation.io/surge-wait=1s"},
	} {
		t.Run(name, func(t *testing.T) {
			ended, breaches := verdict.EndedInOrder(record.NewRecording(append(fleet(), story.before...), story.events...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(ended).To(Equal(1))
		})
	}
}

func TestReaped(t *testing.T) {
	ends := []record.Event{turns(7, claim(oldClaim, "state=failed")), turns(8, pool())}
	guest := workload("web-9", newClaim)
	for name, story := range map[string]struct {
		events  []record.Event
		induced int
		breach  string
	}{
		"it is being deleted":        {events: []record.Event{comes(2, wanted(newClaim)), turns(3, claim(newClaim)), turns(6, deleted(claim(newClaim)))}, induced: 1},
		"it is gone":                 {events: []record.Event{comes(2, claim(newClaim)), goes(6, claim(newClaim))}, induced: 1},
		"it stands":                  {events: []record.Event{comes(2, wanted(newClaim)), turns(3, claim(newClaim))}, induced: 1, breach: "web-new, which was launched for it, stands"},
		"it stands with its surge":   {events: []record.Event{comes(2, claim(newClaim)), comes(3, placeholder(newClaim, "1"))}, induced: 1, breach: "web-new, which was launched for it, stands"},
		"somebody lives on it":       {events: []record.Event{comes(2, claim(newClaim)), comes(3, guest)}, induced: 1},
		"it could not be launched":   {events: []record.Event{comes(2, wanted(newClaim))}},
		"it was there before":        {events: []record.Event{turns(2, claim("spare"))}},
		"none was launched at all":   {},
		"another pool's is launched": {events: []record.Event{comes(2, func() record.Object { c := claim(newClaim); c.Labels = nil; return c }())}},
	} {
		t.Run(name, func(t *testing.T) {
			events := append([]record.Event{turns(1, anchored())}, story.events...)
			induced, breaches := verdict.Reaped(record.NewRecording(append(fleet(), claim("spare")), append(events, ends...)...), thePool)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(induced).To(Equal(story.induced))
		})
	}
}
