// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Board holds what the last pass over each NodePool found, for the status of the policies: what a person reads there is
// what was decided, and nothing is decided a second time. Only the leader makes passes, and only its board is filled.
// Safe for concurrent use; a nil Board takes nothing.
type Board struct {
	mu    sync.Mutex
	pools map[string]notice
	tell  func(policy string)
}

// notice is an entry and the policy that governs the pool; empty where none does.
type notice struct {
	policy string
	entry  v1alpha1.NodePoolStatus
}

// NewBoard is empty.
func NewBoard() *Board { return &Board{pools: map[string]notice{}} }

// Subscribe has tell called whenever the entry of a pool has changed, with the policy that governs it, or with "" where
// it may be any. tell must not block. There is one subscriber.
func (b *Board) Subscribe(tell func(policy string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell = tell
}

// Post puts up what a pass found.
func (b *Board) Post(policy string, entry v1alpha1.NodePoolStatus) {
	if b == nil {
		return
	}
	b.mu.Lock()
	was, known := b.pools[entry.Name]
	same := known && was.policy == policy && equality.Semantic.DeepEqual(was.entry, entry)
	b.pools[entry.Name] = notice{policy, entry}
	tell := b.tell
	b.mu.Unlock()
	if same || tell == nil {
		return
	}
	tell(policy)
	if known && was.policy != policy && was.policy != "" && policy != "" {
		tell(was.policy)
	}
}

// Remove takes the entry of a pool that is gone down. The watch on the pools tells the policies of it.
func (b *Board) Remove(pool string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pools, pool)
}

// Entry is what the last pass over the pool found; false before the first one of this process.
func (b *Board) Entry(pool string) (v1alpha1.NodePoolStatus, bool) {
	if b == nil {
		return v1alpha1.NodePoolStatus{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found, known := b.pools[pool]
	return found.entry, known
}

// mostPoolMessage is the longest message of one pool in a status, in bytes.
const mostPoolMessage = 512

// noticeOf writes a decision down so that it reads the same until something has changed: no part of it moves with the
// clock.
func noticeOf(s *rotation.Snapshot, d machine.Decision) notice {
	n := troubleOf(s, d.State, Outlook(d, s.Now))
	n.entry.BlockedBy = obstacle(d)
	return n
}

// troubleOf is the notice of a pool for which nothing could be decided or done.
func troubleOf(s *rotation.Snapshot, state, message string) notice {
	n := notice{entry: v1alpha1.NodePoolStatus{
		Name: s.Pool.Name, Phase: state, Candidates: int32(s.Selection.Candidates), //nolint:gosec // no pool has so many claims
		Message: cut(message, mostPoolMessage),
	}}
	if _, deadline, known := rotation.FirstToExpire(s.Claims); known {
		n.entry.NextDeadline = inStatus(deadline)
	}
	if s.Governance.Policy == nil {
		return n
	}
	n.policy = s.Governance.Policy.Name
	if next, known := s.Governance.Windows.Next(s.Now); known {
		n.entry.NextWindow = inStatus(next.Start)
	}
	return n
}

// Outlook is the message of a pool in its policy's status, after a pass that decided so and had nothing to change: what
// keeps the pool from starting, or what the rotation in flight waits for and until when. Where the row leaves the state the
// next pass has more to say.
func Outlook(d machine.Decision, now time.Time) string {
	_, obstacle, kept := d.Obstacle()
	if !kept {
		return cut(d.Row.About, mostPoolMessage)
	}
	said := []string{obstacle.Verdict.Lasting()}
	if next, known := d.Changes(now); known && d.State != rotation.StateIdle && next.Guard != obstacle.Guard {
		said = append(said, next.Verdict.Lasting())
	}
	return cut(strings.Join(said, "; "), mostPoolMessage)
}

// inStatus is an instant as the API server keeps it: in whole seconds.
func inStatus(t time.Time) *metav1.Time {
	whole := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &whole
}
