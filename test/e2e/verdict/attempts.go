// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"time"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// Outcome is how an attempt ended, judged by what stands at that instant.
type Outcome string

// The outcomes of an attempt (§5.3).
const (
	InFlight  Outcome = ""
	Success   Outcome = "success"    // the claim is gone, and the pool said that it was draining
	Failed    Outcome = "failed"     // the claim says so
	Expired   Outcome = "expired"    // the claim says so, or is gone without ever having drained
	TakenBack Outcome = "taken back" // the claim is there and bears no state
)

// Attempt is one attempt at a rotation: from the anchor's write to its end.
type Attempt struct {
	Claim   string
	Outcome Outcome
	// First and Last are the revisions of the writes that set and cleared the anchor; Last is 0 while it stands.
	First, Last record.Revision
	// Began and Ended are when the recorder saw those writes.
	Began, Ended time.Time
}

// Attempts are the attempts of the pool, in their order.
func Attempts(recording record.Recording, pool string) []Attempt {
	var attempts []Attempt
	recording.Replay(func(event record.Event, world record.World) {
		was, is := anchors(event, pool)
		if was == is {
			return
		}
		if was != "" && len(attempts) > 0 {
			last := &attempts[len(attempts)-1]
			last.Last, last.Ended, last.Outcome = event.Revision, event.At, outcomeOf(event, world, was)
		}
		if is != "" {
			attempts = append(attempts, Attempt{Claim: is, First: event.Revision, Began: event.At})
		}
	})
	return attempts
}

// anchors are the pool's anchor before and after the event, both empty for an event about anything else.
func anchors(event record.Event, pool string) (was, is string) {
	if np, isPool := event.Object().(*karpenterv1.NodePool); !isPool || np.Name != pool {
		return "", ""
	}
	if event.Before != nil {
		was = event.Before.GetAnnotations()[rotation.KeyActiveRotation]
	}
	if event.After != nil {
		is = event.After.GetAnnotations()[rotation.KeyActiveRotation]
	}
	return was, is
}

func outcomeOf(event record.Event, world record.World, name string) Outcome {
	claim := world.Claims[name]
	if claim == nil {
		if event.Before.GetAnnotations()[rotation.KeyActiveRotationState] == rotation.StateDraining {
			return Success
		}
		return Expired
	}
	switch state := claim.Annotations[rotation.KeyState]; state {
	case "":
		return TakenBack
	case rotation.StateFailed, rotation.StateExpired:
		return Outcome(state)
	default:
		return Outcome(fmt.Sprintf("let go while %s", state))
	}
}

// Outcomes are how the attempts ended, in their order.
func Outcomes(attempts []Attempt) []Outcome {
	var outcomes []Outcome
	for _, attempt := range attempts {
		outcomes = append(outcomes, attempt.Outcome)
	}
	return outcomes
}

// How much earlier and later than it was written something may be seen to happen, on a machine that has much else to do. What
// is to be told apart must differ by more.
const (
	// earliness: stamps are in whole seconds, rounded down, a stamp is older than the end of its pass by a few writes, and
	// the recorder may see the first of two writes late.
	earliness = 4 * time.Second
	// lateness: whoever is to write may be late, and the recorder.
	lateness = 7 * time.Second
	// timeoutLateness is for a rollback, which is noticed by a pass and takes several writes.
	timeoutLateness = 15 * time.Second

	// mostDoublings caps the escalated backoff (§3.2).
	mostDoublings = 3
)

// PausesKept judges that after each failure the pool pauses for failurePause, and the claim itself for retryBackoff, doubled with each
// failure of it up to eight times; and the next attempt, here always of the same claim, begins when both are over
// (§3.2, §5.2 gates).
func PausesKept(attempts []Attempt, failurePause, retryBackoff time.Duration) []string {
	var found breaches
	failures := map[string]int{}
	for i, failed := range attempts {
		if failed.Outcome != Failed {
			continue
		}
		doublings := min(failures[failed.Claim], mostDoublings)
		failures[failed.Claim]++
		if i+1 == len(attempts) {
			found.add(failed.Last, "the failure of %s was not followed by another attempt", failed.Claim)
			continue
		}
		next := attempts[i+1]
		pause := failurePause
		if next.Claim == failed.Claim {
			pause = max(pause, retryBackoff<<doublings)
		}
		waited := next.Began.Sub(failed.Ended)
		if waited < pause-earliness {
			found.add(next.First, "%s was tried %s after the failure of %s, and the pause is %s", next.Claim, waited, failed.Claim, pause)
		}
		if waited > pause+lateness {
			found.add(next.First, "%s was tried only %s after the failure of %s, and the pause is %s", next.Claim, waited, failed.Claim, pause)
		}
	}
	return found
}

// TimedOut judges that every attempt that failed lasted for readyTimeout, and not much longer (§3.8).
//
// failed counts those that were judged.
func TimedOut(attempts []Attempt, readyTimeout time.Duration) (failed int, found []string) {
	var all breaches
	for _, attempt := range attempts {
		if attempt.Outcome != Failed {
			continue
		}
		failed++
		lasted := attempt.Ended.Sub(attempt.Began)
		if lasted < readyTimeout-earliness {
			all.add(attempt.Last, "the attempt at %s failed after %s, and readyTimeout is %s", attempt.Claim, lasted, readyTimeout)
		}
		if lasted > readyTimeout+timeoutLateness {
			all.add(attempt.Last, "the attempt at %s failed only after %s, and readyTimeout is %s", attempt.Claim, lasted, readyTimeout)
		}
	}
	return failed, all
}

// StartedWithin judges that the first attempt that begins at or after from does so within bound.
func StartedWithin(attempts []Attempt, from time.Time, bound time.Duration) []string {
	var found breaches
	for _, attempt := range attempts {
		if attempt.Began.Before(from) {
			continue
		}
		if waited := attempt.Began.Sub(from); waited > bound {
			found.add(attempt.First, "%s was tried only %s after nothing stood in the way any more", attempt.Claim, waited)
		}
		return found
	}
	found.add(0, "no attempt began after %s", from.Format(time.TimeOnly))
	return found
}
