// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"time"
)

// Verdict is what a guard says about a snapshot.
type Verdict struct {
	// Holds is the answer.
	Holds bool
	// Reason is a sentence for a person, with the facts in it.
	Reason string
	// Until is the instant at which the answer can next change by itself;
	// zero if only the world can change it. Every guard that depends on time
	// sets it, or a pass sleeps past the moment it waits for.
	Until time.Time

	// passing is the length of the end of Reason that moves with the clock.
	passing int
}

// Yes is a verdict that holds, with its reason in the manner of fmt.Sprintf.
func Yes(format string, args ...any) Verdict {
	return Verdict{Holds: true, Reason: fmt.Sprintf(format, args...)}
}

// No is a verdict that does not hold, with its reason in the manner of fmt.Sprintf.
func No(format string, args ...any) Verdict {
	return Verdict{Reason: fmt.Sprintf(format, args...)}
}

// ChangingAt returns the verdict with Until set to t.
func (v Verdict) ChangingAt(t time.Time) Verdict {
	v.Until = t
	return v
}

// Passing returns the verdict with an end to its reason, in the manner of
// fmt.Sprintf, that is another one a moment later: ", in 3d 4h".
func (v Verdict) Passing(format string, args ...any) Verdict {
	end := fmt.Sprintf(format, args...)
	v.Reason += end
	v.passing += len(end)
	return v
}

// Lasting is Reason without its passing end: it stays the same until something
// has changed, for a place that is written only then.
func (v Verdict) Lasting() string { return v.Reason[:len(v.Reason)-v.passing] }
