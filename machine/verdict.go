// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"slices"
	"time"
)

// Verdict is what a guard says about a snapshot.
type Verdict struct {
	// Holds is the answer.
	Holds bool
	// Until is the instant at which the answer can next change by itself;
	// zero if only the world can change it. Every guard that depends on time
	// sets it, or a pass sleeps past the moment it waits for.
	Until time.Time

	// lasting and passing are the reason: passing is its end, which moves with
	// the clock.
	lasting, passing sentence
}

// Answer is a verdict with its reason in the manner of fmt.Sprintf. The reason
// is written when it is asked for, which on most passes it never is: what is
// handed in must stay as it is.
func Answer(holds bool, format string, args ...any) Verdict {
	return Verdict{Holds: holds, lasting: sentence{format, args}}
}

// Yes is an Answer that holds.
func Yes(format string, args ...any) Verdict { return Answer(true, format, args...) }

// No is an Answer that does not hold.
func No(format string, args ...any) Verdict { return Answer(false, format, args...) }

// ChangingAt returns the verdict with Until set to t.
func (v Verdict) ChangingAt(t time.Time) Verdict {
	v.Until = t
	return v
}

// Passing returns the verdict with an end to its reason, in the manner of
// fmt.Sprintf, that is another one a moment later: ", in 3d 4h".
func (v Verdict) Passing(format string, args ...any) Verdict {
	v.passing = sentence{v.passing.format + format, slices.Concat(v.passing.args, args)}
	return v
}

// Reason is a sentence for a person, with the facts in it.
func (v Verdict) Reason() string { return v.lasting.String() + v.passing.String() }

// Lasting is Reason without its passing end: it stays the same until something
// has changed, for a place that is written only then.
func (v Verdict) Lasting() string { return v.lasting.String() }

// sentence is a text that has yet to be written.
type sentence struct {
	format string
	args   []any
}

func (s sentence) String() string { return fmt.Sprintf(s.format, s.args...) }
