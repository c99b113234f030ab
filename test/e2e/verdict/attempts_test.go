// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

// anchored is the pool while a rotation of the old claim stands.
func anchored(annotations ...string) record.Object {
	return pool(append([]string{"active-rotation=" + oldClaim}, annotations...)...)
}

func TestAttempts(t *testing.T) {
	for name, story := range map[string]struct {
		events  []record.Event
		outcome verdict.Outcome
	}{
		"in flight":                       {events: []record.Event{turns(1, anchored())}, outcome: verdict.InFlight},
		"gone while draining":             {events: []record.Event{turns(1, anchored()), turns(2, anchored("active-rotation-state=draining")), goes(3, claim(oldClaim)), turns(4, pool())}, outcome: verdict.Success},
		"gone without ever draining":      {events: []record.Event{turns(1, anchored()), goes(3, claim(oldClaim)), turns(4, pool())}, outcome: verdict.Expired},
		"marked as expired":               {events: []record.Event{turns(1, anchored()), turns(3, claim(oldClaim, "state=expired")), turns(4, pool())}, outcome: verdict.Expired},
		"marked as failed":                {events: []record.Event{turns(1, anchored()), turns(3, claim(oldClaim, "state=failed")), turns(4, pool())}, outcome: verdict.Failed},
		"bears no state":                  {events: []record.Event{turns(1, anchored()), turns(4, pool())}, outcome: verdict.TakenBack},
		"let go in the middle of a drain": {events: []record.Event{turns(1, anchored()), turns(3, claim(oldClaim, "state=draining")), turns(4, pool())}, outcome: "let go while draining"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			attempts := verdict.Attempts(record.NewRecording(fleet(), story.events...), thePool)
			g.Expect(verdict.Outcomes(attempts)).To(Equal([]verdict.Outcome{story.outcome}))
			g.Expect(attempts[0].Claim).To(Equal(oldClaim))
			g.Expect(attempts[0].Began).To(Equal(at(1)))
		})
	}
}

// failedAt is an attempt that failed.
func failedAt(claim string, began, ended float64) verdict.Attempt {
	return verdict.Attempt{Claim: claim, Outcome: verdict.Failed, First: 1, Last: 2, Began: at(began), Ended: at(ended)}
}

func TestPausesKept(t *testing.T) {
	const failurePause, retryBackoff = 10 * time.Second, 6 * time.Second
	for name, story := range map[string]struct {
		attempts []verdict.Attempt
		breach   string
	}{
		"the failure pause, then the doubled backoff": {attempts: []verdict.Attempt{
			failedAt(oldClaim, 0, 8), failedAt(oldClaim, 18, 26), {Claim: oldClaim, Outcome: verdict.Success, Began: at(38)},
		}},
		"another node after the failure pause": {attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: newClaim, Outcome: verdict.Success, Began: at(18)}}},
		"too early for the failure pause": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: newClaim, Outcome: verdict.Success, Began: at(15)}},
			breach:   "web-new was tried 7s after the failure of web-old, and the pause is 10s",
		},
		"too early for the doubled backoff": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), failedAt(oldClaim, 18, 26), {Claim: oldClaim, Outcome: verdict.Success, Began: at(35.5)}},
			breach:   "the pause is 12s",
		},
		"too late": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: oldClaim, Outcome: verdict.Success, Began: at(20.5)}},
			breach:   "was tried only 12.5s after",
		},
		"never": {attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8)}, breach: "was not followed by another attempt"},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, verdict.PausesKept(story.attempts, failurePause, retryBackoff), story.breach)
		})
	}

	t.Run("the backoff is doubled thrice at most", func(t *testing.T) {
		attempts := []verdict.Attempt{
			failedAt(oldClaim, 0, 0), failedAt(oldClaim, 10, 10), failedAt(oldClaim, 22, 22), failedAt(oldClaim, 46, 46),
			failedAt(oldClaim, 94, 94), {Claim: oldClaim, Outcome: verdict.Success, Began: at(142)},
		}
		judged(t, verdict.PausesKept(attempts, failurePause, retryBackoff), "")
	})
}

func TestStartedWithin(t *testing.T) {
	attempts := []verdict.Attempt{{Claim: oldClaim, Began: at(5)}, {Claim: newClaim, Began: at(11)}}
	judged(t, verdict.StartedWithin(attempts, at(4)), "")
	judged(t, verdict.StartedWithin(attempts, at(9.5)), "")
	judged(t, verdict.StartedWithin(attempts, at(2)), "web-old was tried only 3s after nothing stood in the way any more")
	judged(t, verdict.StartedWithin(attempts, at(6)), "web-new was tried only 5s after")
	judged(t, verdict.StartedWithin(attempts, at(12)), "no attempt began after")
}
