// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"time"
)

// States of a rotation (§5.3). They are the states of transitions.yaml; a claim's state annotation holds one of the
// last four, or nothing.
const (
	StateIdle     = "idle"
	StatePending  = "pending"
	StateDraining = "draining"
	StateFailed   = "failed"
	StateExpired  = "expired"
)

// UnknownValueError is an annotation whose value lies outside the contract and decides what a pass may do. The pool
// holds still until a person has mended it.
type UnknownValueError struct {
	Kind, Name string
	Key, Value string
	Allowed    string
}

// Error says what is wrong, where, and what to do.
func (e *UnknownValueError) Error() string {
	return fmt.Sprintf("%s %s has %s=%q, which must be %s or absent; nothing is done for the pool until it is corrected or removed",
		e.Kind, e.Name, e.Key, e.Value, e.Allowed)
}

// State derives the state of the pool's rotation (architecture.md, "The state is derived"). It is never stored:
// no anchor is idle; the fallback's anchor is draining whatever the claim says, so that a torn start is finished;
// else the anchored claim tells, or, once that is gone, the mirror on the pool. The error is an *UnknownValueError.
func State(s Snapshot) (string, error) {
	anchor := s.Anchor()
	if anchor == "" {
		return StateIdle, nil
	}
	switch mode := s.Pool.Annotations[KeyRotationMode]; mode {
	case ModeForcefulFallback:
		return StateDraining, nil
	case "":
	default:
		return "", &UnknownValueError{"NodePool", s.Pool.Name, KeyRotationMode, mode, ModeForcefulFallback}
	}
	claim, exists := s.Claim(anchor)
	if !exists {
		if s.Pool.Annotations[KeyActiveRotationState] == StateDraining {
			return StateDraining, nil
		}
		return StatePending, nil
	}
	state, err := claim.State()
	if err != nil {
		return "", err
	}
	if state == "" {
		return StatePending, nil
	}
	return state, nil
}

// State is the claim's own state annotation; empty when it never took part in a rotation. The error is an
// *UnknownValueError.
func (c *Claim) State() (string, error) {
	switch state := c.Annotations[KeyState]; state {
	case "", StatePending, StateDraining, StateFailed, StateExpired:
		return state, nil
	default:
		return "", &UnknownValueError{"NodeClaim", c.Name, KeyState, state, "pending, draining, failed or expired"}
	}
}

// Underway tells whether the claim's own state says that a rotation of it has begun and not ended.
func (c *Claim) Underway() bool {
	state := c.Annotations[KeyState]
	return state == StatePending || state == StateDraining
}

// clockSkew is how far our clock and the API server's may lie apart where a stamp of one is held against one of the other.
const clockSkew = time.Minute

// releasedDraining tells whether the claim was being deleted by the time a rotation let it go. Where it is hard to tell, and
// where the stamp cannot be read, it was: a pool that stays closed for a while too long is the safe side.
func (c *Claim) releasedDraining() bool {
	released := ParseStamp(c.Annotations, KeyReleasedAt)
	if !released.Present || !c.Deleting() {
		return false
	}
	return !released.Readable || !released.At.Before(c.Deleted.Add(-clockSkew))
}

// Stray names a claim whose state says that a rotation of it is under way, though none is anchored on it; empty where there
// is none. No crash leaves one behind: an anchor was taken away by another hand, or its NodePool was replaced. Until the
// sweep has put it right (§5.3) no rotation may start beside it.
func (s *Snapshot) Stray() string {
	for _, c := range s.Claims {
		if !c.Deleting() && c.Name != s.Anchor() && c.Underway() {
			return c.Name
		}
	}
	return ""
}

// Settled tells whether no claim of this pool that we deleted is still draining; otherwise it names one. A rotation
// whose governance was lost while its claim drained has let the anchor go: the claim's released-at keeps the next
// rotation from starting beside it (§3.8).
func (s *Snapshot) Settled() (bool, string) {
	for _, c := range s.Claims {
		if !c.Deleting() || c.Name == s.Anchor() {
			continue
		}
		if c.releasedDraining() || c.Annotations[KeyState] == StateDraining {
			return false, c.Name
		}
	}
	return true, ""
}
