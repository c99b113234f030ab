// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Unreadable is one annotation that cannot be read, or says what cannot be, and what it is taken to mean until somebody mends
// it.
type Unreadable struct {
	// Kind is NodePool or NodeClaim.
	Kind, Name string
	Key, Value string
	// Problem says what is wrong with it, Meaning what follows.
	Problem, Meaning string
}

// Message is the sentence for the person who must act.
func (u Unreadable) Message() string {
	return fmt.Sprintf("%s %s: annotation %s=%q %s: %s. Correct or remove it.", u.Kind, u.Name, u.Key, cut(u.Value), u.Problem, u.Meaning)
}

// mostValue is how much of a value is told, in bytes: an annotation may be 256 KiB long.
const mostValue = 80

func cut(value string) string {
	if len(value) <= mostValue {
		return value
	}
	return strings.ToValidUTF8(value[:mostValue], "") + "…"
}

// meanings tells, per key, what an unreadable value stands for (architecture.md, "Unreadable and absent values").
var meanings = []struct {
	kind, key, meaning string
	readable           func(annotations map[string]string, key string) bool
}{
	{"NodePool", KeyFreeze, "the pool counts as frozen", readableStamp},
	{"NodePool", KeyLastRotationAt, "the pause after a success counts as not over", readableStamp},
	{"NodePool", KeyLastFailureAt, "the pause after a failure counts as not over", readableStamp},
	{"NodePool", KeyDrainingAt, "the drain's duration will not be observed", readableStamp},
	{"NodePool", KeySurgeWait, "the surge's duration will not be observed", readableDuration},
	{"NodePool", KeyActiveRotationState, "the drain counts as not begun once the NodeClaim is gone", readableMirror},
	{"NodePool", KeyRotationMode, "nothing is done for the pool", readableMode},
	{"NodeClaim", KeyStartedAt, "the attempt counts as timed out", readableStamp},
	{"NodeClaim", KeyFailedAt, "the backoff counts as not over", readableStamp},
	{"NodeClaim", KeyRetryCount, "the backoff counts as not over", readableCount},
	{"NodeClaim", KeyReleasedAt, "the claim, once it is deleted, counts as one that we deleted: no rotation starts beside it", readableStamp},
	{"NodeClaim", KeyState, "the claim is not rotated, and a pool anchored on it holds still", readableState},
}

// past are the stamps of what has happened: none of them can lie in the future.
var past = []string{KeyLastRotationAt, KeyLastFailureAt, KeyStartedAt, KeyFailedAt}

// Unreadables lists every annotation of the pool and its claims that cannot be read, or says what cannot be.
func Unreadables(s Snapshot) []Unreadable {
	found := unreadableOf(nil, s.Now, "NodePool", s.Pool.Name, s.Pool.Annotations)
	for _, c := range s.Claims {
		found = unreadableOf(found, s.Now, "NodeClaim", c.Name, c.Annotations)
	}
	return found
}

func unreadableOf(found []Unreadable, now time.Time, kind, name string, annotations map[string]string) []Unreadable {
	if len(annotations) == 0 {
		return found
	}
	for i := range meanings {
		m := &meanings[i]
		if m.kind != kind {
			continue
		}
		value, present := annotations[m.key]
		switch {
		case !present:
		case !m.readable(annotations, m.key):
			found = append(found, Unreadable{kind, name, m.key, value, "cannot be read", m.meaning})
		case slices.Contains(past, m.key) && ParseStamp(annotations, m.key).Ahead(now):
			found = append(found, Unreadable{kind, name, m.key, value, "lies in the future", m.meaning})
		}
	}
	return found
}

func readableStamp(annotations map[string]string, key string) bool {
	return ParseStamp(annotations, key).Readable
}

func readableDuration(annotations map[string]string, key string) bool {
	_, err := time.ParseDuration(annotations[key])
	return err == nil
}

func readableMirror(annotations map[string]string, key string) bool {
	return annotations[key] == StateDraining || annotations[key] == ""
}

func readableMode(annotations map[string]string, key string) bool {
	return annotations[key] == ModeForcefulFallback || annotations[key] == ""
}

func readableCount(annotations map[string]string, _ string) bool {
	_, readable := (&Claim{Annotations: annotations}).RetryCount()
	return readable
}

func readableState(annotations map[string]string, _ string) bool {
	_, err := (&Claim{Annotations: annotations}).State()
	return err == nil
}
