// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// beat is how often a leader makes sure that it did not stand still.
const beat = time.Second

// Pulse notices that a leader stood still: its processor was taken away, or its machine was paused. One that wakes up does
// not know that its lease has run out; client-go's elector tries to renew it for as long as ever, and what is decided
// meanwhile rests on a cache that another leader has outrun. So such a process writes nothing more, and ends; whoever runs it
// starts it anew. Safe for concurrent use; a nil Pulse has never stood still.
type Pulse struct {
	Clock clock.WithTicker
	// Limit is how long the process may stand still: as long as no other one can lead.
	Limit time.Duration

	mu    sync.Mutex
	last  time.Time
	stood time.Duration
}

// Start beats until ctx ends. It returns an error once the process stood still for longer than it may.
func (p *Pulse) Start(ctx context.Context) error {
	if err := p.beats(); err != nil {
		return err
	}
	ticker := p.Clock.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			if err := p.beats(); err != nil {
				return err
			}
		}
	}
}

// NeedLeaderElection has the pulse begin with the lead: nobody minds what a follower misses.
func (*Pulse) NeedLeaderElection() bool { return true }

// beats notes that the process runs, unless it stood still.
func (p *Pulse) beats() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Now().Round(0)
	err := p.steady(now)
	p.last = now
	return err
}

// Steady is an error once the process stood still since it began to lead. The time is the wall's: another clock may have stood
// still too.
func (p *Pulse) Steady() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steady(p.Clock.Now().Round(0))
}

// steady judges by one reading of the clock, and for good. The lock is held.
func (p *Pulse) steady(now time.Time) error {
	if still := now.Sub(p.last); p.stood == 0 && !p.last.IsZero() && still > p.Limit {
		p.stood = still
	}
	if p.stood == 0 {
		return nil
	}
	return &stoodStillError{p.stood}
}

// stoodStillError ends every pass of a process that stood still, and the process.
type stoodStillError struct{ still time.Duration }

func (e *stoodStillError) Error() string {
	return fmt.Sprintf("the process stood still for %s, and another one may lead since: it writes nothing more, and is to be started anew", e.still.Round(beat))
}
