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
	const failurePause, retryBackoff = 20 * time.Second, 14 * time.Second
	for name, story := range map[string]struct {
		attempts []verdict.Attempt
		breach   string
	}{
		"the failure pause, then the doubled backoff": {attempts: []verdict.Attempt{
			failedAt(oldClaim, 0, 8), failedAt(oldClaim, 28, 36), {Claim: oldClaim, Outcome: verdict.Success, Began: at(64)},
		}},
		"another node after the failure pause": {attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: newClaim, Outcome: verdict.Success, Began: at(28)}}},
		"the backoff alone, and no failure pause": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: newClaim, Outcome: verdict.Success, Began: at(22)}},
			breach:   "web-new was tried 14s after the failure of web-old, and the pause is 20s",
		},
		"a backoff that is not doubled": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), failedAt(oldClaim, 28, 36), {Claim: oldClaim, Outcome: verdict.Success, Began: at(56)}},
			breach:   "web-old was tried 20s after the failure of web-old, and the pause is 28s",
		},
		"a backoff that is doubled at once": {
			attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8), {Claim: oldClaim, Outcome: verdict.Success, Began: at(36)}},
			breach:   "was tried only 28s after",
		},
		"never": {attempts: []verdict.Attempt{failedAt(oldClaim, 0, 8)}, breach: "was not followed by another attempt"},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, verdict.PausesKept(story.attempts, failurePause, retryBackoff), story.breach)
		})
	}

	t.Run("the backoff is doubled thrice at most", func(t *testing.T) {
		attempts := []verdict.Attempt{
			failedAt(oldClaim, 0, 0), failedAt(oldClaim, 20, 20), failedAt(oldClaim, 48, 48), failedAt(oldClaim, 104, 104),
			failedAt(oldClaim, 216, 216), {Claim: oldClaim, Outcome: verdict.Success, Began: at(328)},
		}
		judged(t, verdict.PausesKept(attempts, failurePause, retryBackoff), "")
	})
}

func TestStartedWithin(t *testing.T) {
	const bound = 2 * time.Second
	attempts := []verdict.Attempt{{Claim: oldClaim, Began: at(5)}, {Claim: newClaim, Began: at(11)}}
	judged(t, verdict.StartedWithin(attempts, at(4), bound), "")
	judged(t, verdict.StartedWithin(attempts, at(9.5), bound), "")
	judged(t, verdict.StartedWithin(attempts, at(2), bound), "web-old was tried only 3s after nothing stood in the way any more")
	judged(t, verdict.StartedWithin(attempts, at(2), 2*bound), "")
	judged(t, verdict.StartedWithin(attempts, at(6), bound), "web-new was tried only 5s after")
	judged(t, verdict.StartedWithin(attempts, at(12), bound), "no attempt began after")
}

func TestTimedOut(t *testing.T) {
	const readyTimeout = 12 * time.Second
	for name, story := range map[string]struct {
		lasted float64
		breach string
	}{
		"for readyTimeout":        {lasted: 12},
		"stamps are rounded":      {lasted: 10.5},
		"the machine is busy":     {lasted: 26},
		"given up at once":        {lasted: 1, breach: "the attempt at web-old failed after 1s, and readyTimeout is 12s"},
		"given up half-way":       {lasted: 6, breach: "failed after 6s"},
		"by another readyTimeout": {lasted: 90, breach: "the attempt at web-old failed only after 1m30s, and readyTimeout is 12s"},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := []verdict.Attempt{failedAt(oldClaim, 20, 20+story.lasted), {Claim: oldClaim, Outcome: verdict.Success, Began: at(200), Ended: at(201)}}
			failed, breaches := verdict.TimedOut(attempts, readyTimeout)
			judged(t, breaches, story.breach)
			NewWithT(t).Expect(failed).To(Equal(1))
		})
	}
}
