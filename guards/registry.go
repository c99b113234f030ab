// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"time"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Guard is a named question about a rotation.
type Guard = machine.Guard[*rotation.Snapshot]

// Names of the guards. They are a public contract: tables refer to them.
const (
	InWindow            = "in_window"
	Frozen              = "frozen"
	CooldownElapsed     = "cooldown_elapsed"
	FailurePauseElapsed = "failure_pause_elapsed"
	BackoffElapsed      = "backoff_elapsed"
	Eligible            = "eligible"
	Candidate           = "candidate"
	SurgeHeadroom       = "surge_headroom"
	SurgeReady          = "surge_ready"
	SurgeSettled        = "surge_settled"
	ForcefulFallback    = "forceful_fallback"
	ReadyTimeoutElapsed = "ready_timeout_elapsed"
	DeletionTimestamp   = "deletion_timestamp"
	ClaimGone           = "claim_gone"
	Governed            = "governed"
	DrainOverdue        = "drain_overdue"
	PoolSettled         = "pool_settled"
	Feasible            = "feasible"
)

// All lists every guard, in the order in which a reader meets them.
func All() []Guard {
	return append(startGuards(), flightGuards()...)
}

// timestampForm is how an instant is written in a reason: with the weekday, since windows are weekly.
const timestampForm = "Mon 2006-01-02 15:04:05 "

// at is an instant within a reason.
type at time.Time

// String names the zone as a policy does, since an abbreviation such as JST or -03 leaves it open. What carries no zone
// of a policy's is told in UTC.
func (a at) String() string {
	t := time.Time(a)
	if zone := t.Location().String(); zone == "" || t.Location() == time.Local {
		t = t.UTC()
	}
	return t.Format(timestampForm) + t.Location().String()
}

// span is a length of time within a reason.
type span time.Duration

// String writes the span for a person, in whole seconds.
func (d span) String() string { return rotation.Spell(time.Duration(d).Round(time.Second)) }

// in tells how far t lies ahead of now.
func in(now, t time.Time) span { return span(t.Sub(now)) }

// later is a part of a reason that takes some telling, told only to somebody who asks.
type later func() string

// String tells it.
func (l later) String() string { return l() }
