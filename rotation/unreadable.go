// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"strings"
	"time"
)

// Unreadable is one annotation that cannot be read, and what it is taken to mean until somebody mends it.
type Unreadable struct {
	// Kind is NodePool or NodeClaim.
	Kind, Name string
	Key, Value string
	Meaning    string
}

// Message is the sentence for the person who must act.
func (u Unreadable) Message() string {
	return fmt.Sprintf("%s %s: annotation %s=%q cannot be read: %s. Correct or remove it.", u.Kind, u.Name, u.Key, cut(u.Value), u.Meaning)
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

// Unreadables lists every annotation of the pool and its claims that cannot be read.
func Unreadables(s Snapshot) []Unreadable {
	found := unreadableOf(nil, "NodePool", s.Pool.Name, s.Pool.Annotations)
	for _, c := range s.Claims {
		found = unreadableOf(found, "NodeClaim", c.Name, c.Annotations)
	}
	return found
}

func unreadableOf(found []Unreadable, kind, name string, annotations map[string]string) []Unreadable {
	if len(annotations) == 0 {
		return found
	}
	for i := range meanings {
		m := &meanings[i]
		if m.kind != kind {
			continue
		}
		if value, present := annotations[m.key]; present && !m.readable(annotations, m.key) {
			found = append(found, Unreadable{kind, name, m.key, value, m.meaning})
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
