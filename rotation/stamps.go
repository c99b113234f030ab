// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Stamp is a point in time kept in an annotation. What an absent or unreadable one means differs by key and is told
// where it is used; the rule is always the safe side.
type Stamp struct {
	At       time.Time
	Present  bool
	Readable bool
}

// ParseStamp reads an RFC3339 annotation.
func ParseStamp(annotations map[string]string, key string) Stamp {
	value, present := annotations[key]
	if !present {
		return Stamp{}
	}
	at, err := time.Parse(time.RFC3339, value)
	return Stamp{At: at, Present: true, Readable: err == nil}
}

// Ahead tells whether the stamp lies further in the future than clocks may lie apart. No stamp of ours does, but of a clock that
// was wrong.
func (s Stamp) Ahead(now time.Time) bool { return s.Readable && s.At.After(now.Add(clockSkew)) }

// BehindAt is the first instant at which the stamp is not Ahead.
func (s Stamp) BehindAt() time.Time { return s.At.Add(-clockSkew) }

// FormatStamp writes an instant as the annotations carry it: RFC3339, UTC, whole seconds.
func FormatStamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Pause is a wait that begins at a stamp and lasts for a duration.
type Pause struct {
	Stamp  Stamp
	Length time.Duration
}

// Over tells whether the pause has ended at now. An absent stamp means it is over, an unreadable one that it is not.
func (p Pause) Over(now time.Time) bool {
	switch {
	case !p.Stamp.Present:
		return true
	case !p.Stamp.Readable:
		return false
	default:
		return !now.Before(p.End())
	}
}

// End is the first instant at which the pause is over; zero when no readable stamp says so.
func (p Pause) End() time.Time {
	if !p.Stamp.Readable {
		return time.Time{}
	}
	return p.Stamp.At.Add(p.Length)
}

// StartedAt is when the attempt in flight began: absent means that it has yet to be stamped, unreadable that it
// has timed out.
func (c *Claim) StartedAt() Stamp { return ParseStamp(c.Annotations, KeyStartedAt) }

// FailedAt is when the last attempt failed: absent means that no backoff runs, unreadable that it is not over.
func (c *Claim) FailedAt() Stamp { return ParseStamp(c.Annotations, KeyFailedAt) }

// maxBackoffDoublings caps the escalated backoff at eight times retryBackoff (§3.2).
const maxBackoffDoublings = 3

// Backoff is the pause that a failed claim keeps before its next attempt: retryBackoff · 2^(retry-count − 1), at
// most eight times retryBackoff (§3.2). It is not over while retry-count cannot be read.
func (c *Claim) Backoff(retryBackoff time.Duration) Pause {
	count, readable := c.RetryCount()
	stamp := c.FailedAt()
	if !readable {
		stamp = Stamp{Present: true}
	}
	doublings := min(max(count-1, 0), maxBackoffDoublings)
	return Pause{Stamp: stamp, Length: retryBackoff << doublings}
}

// RetryCount is the number of failed attempts; absent is 0. The second result is false when it cannot be read.
func (c *Claim) RetryCount() (int, bool) {
	value, present := c.Annotations[KeyRetryCount]
	if !present {
		return 0, true
	}
	count, err := strconv.Atoi(value)
	if err != nil || count < 0 {
		return 0, false
	}
	return count, true
}

// mostRetries is the highest count that is written: far beyond what lengthens a backoff, and readable for good.
const mostRetries = 1 << 20

// FurtherRetry is the retry-count after one more failure. One that cannot be read begins anew.
func (c *Claim) FurtherRetry() string {
	count, _ := c.RetryCount()
	return strconv.Itoa(min(count, mostRetries-1) + 1)
}

// Cooldown is gate A: the pause after a success (§5.2).
func (s *Snapshot) Cooldown() Pause {
	return Pause{ParseStamp(s.Pool.Annotations, KeyLastRotationAt), s.Governance.Terms.CooldownAfter}
}

// FailurePause is gate B: the pause after a failure (§5.2).
func (s *Snapshot) FailurePause() Pause {
	return Pause{ParseStamp(s.Pool.Annotations, KeyLastFailureAt), s.Governance.Terms.FailurePause}
}

// Freeze reads the operator's hold on the pool: absent means not frozen, unreadable means frozen (§3.1).
func (s *Snapshot) Freeze() (frozen bool, until Stamp) {
	stamp := ParseStamp(s.Pool.Annotations, KeyFreeze)
	return stamp.Present && (!stamp.Readable || s.Now.Before(stamp.At)), stamp
}

// MostFreezeReason is how much of a freeze's reason is told, in characters.
const MostFreezeReason = 200

// FreezeReason is what an operator gave as the reason of the freeze, on one line, cut to MostFreezeReason, and without what
// is not printed: it goes to terminals. Empty without one. Anybody may have written it: it is told, and decides nothing.
func (s *Snapshot) FreezeReason() string {
	printed := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s.Pool.Annotations[KeyFreezeReason])
	told := []rune(strings.Join(strings.Fields(printed), " "))
	if len(told) > MostFreezeReason {
		return string(told[:MostFreezeReason-1]) + "…"
	}
	return string(told)
}

// After is the first instant that lies strictly after t: when a rule says "more than", it can hold from here on.
func After(t time.Time) time.Time { return t.Add(time.Nanosecond) }
