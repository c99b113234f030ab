// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

// Outcome of a rotation, the label of noderotation_completed_total (§4.2).
type Outcome string

// The outcomes of a rotation. A lost governance has none.
const (
	Success Outcome = "success"
	Failure Outcome = "failure"
	Expired Outcome = "expired"
)

// Phase of a rotation, the label of noderotation_duration_seconds (§4.2).
type Phase string

// The phases whose duration is observed.
const (
	SurgeWait Phase = "surge_wait"
	Drain     Phase = "drain"
)

// Severity of an Event: Normal or Warning.
type Severity string

// The severities that Kubernetes knows.
const (
	Normal  Severity = Severity(corev1.EventTypeNormal)
	Warning Severity = Severity(corev1.EventTypeWarning)
)

// Target is the object that an Event is about.
type Target struct {
	// Kind is NodePool or NodeClaim.
	Kind string
	rotation.Object
}

// Announce tells people something: an Event, a count, a duration, or a log line, at its place in the order of a row's
// writes. The announcer delivers it once per pool, claim, attempt and reason within a process; a Condition when it
// begins, not on every pass.
type Announce struct {
	Pool, Claim string
	// Attempt tells one attempt of the claim from the next.
	Attempt string
	Target  Target
	// Reason is the Event's CamelCase reason; empty means no Event, only the log line.
	Reason   string
	Severity Severity
	Message  string
	// Condition is true for what lasts: it is told when it begins.
	Condition bool
	// Outcome to count; empty for none.
	Outcome Outcome
	// Fallback is true when a forceful fallback is to be counted.
	Fallback bool
	// Phase whose Duration is to be observed; empty for none.
	Phase    Phase
	Duration time.Duration
}

func (Announce) isAction() {}

func (a Announce) String() string {
	switch {
	case a.Phase != "":
		return "observe " + string(a.Phase) + " " + a.Duration.String()
	case a.Reason == "":
		return "log: " + a.Message
	default:
		return "announce " + a.Reason + ": " + a.Message
	}
}

// Reasons of Events (§4.2). They are a public contract; findings use their own code.
const (
	ReasonRotationStarted      = "RotationStarted"
	ReasonRotationCompleted    = "RotationCompleted"
	ReasonForcefulFallback     = "ForcefulFallback"
	ReasonPolicyConflict       = "PolicyConflict"
	ReasonGovernanceLost       = "GovernanceLost"
	ReasonDrainStuck           = "DrainStuck"
	ReasonInsufficientHeadroom = "InsufficientHeadroom"
	ReasonFreezeUnreadable     = "FreezeUnreadable"
	ReasonAnnotationUnreadable = "AnnotationUnreadable"
	ReasonNodeUnknown          = "NodeUnknown"
	ReasonLabelUnknown         = "LabelUnknown"
	ReasonShortLead            = "ShortLead"
	ReasonRotationFailed       = "RotationFailed"
	ReasonRotationExpired      = "RotationExpired"
	ReasonSurgeUnschedulable   = "SurgeUnschedulable"
	ReasonSurgeClamped         = "SurgeClamped"
	ReasonSurgeClampBand       = "SurgeClampBandExceeded"
	ReasonSurgeClampRefused    = "SurgeClampRefused"
	ReasonPlaceholderInvalid   = "PlaceholderInvalid"
	ReasonWriteRefused         = "WriteRefused"
)

func poolTarget(s *rotation.Snapshot) Target { return Target{"NodePool", s.Pool.Object} }

// claimTarget is the subject, or the pool where the subject is gone: an Event needs an object that exists.
func claimTarget(s *rotation.Snapshot) Target {
	if claim, ok := s.Subject(); ok {
		return Target{"NodeClaim", claim.Object}
	}
	return poolTarget(s)
}

// attempt tells one attempt of the subject from the next: by its start, else by the failures so far, else, once the
// claim is gone, by the start of the drain.
func attempt(s *rotation.Snapshot) string {
	claim, ok := s.Subject()
	switch {
	case !ok:
		return "drain " + s.AnchorValue(rotation.KeyDrainingAt)
	case claim.Annotations[rotation.KeyStartedAt] != "":
		return "started " + claim.Annotations[rotation.KeyStartedAt]
	default:
		return "failures " + claim.Annotations[rotation.KeyRetryCount]
	}
}

// tell builds the announcement of reason about target, for the attempt in flight.
func tell(s *rotation.Snapshot, target Target, severity Severity, reason, message string) Announce {
	return Announce{
		Pool: s.Pool.Name, Claim: s.SubjectName(), Attempt: attempt(s),
		Target: target, Reason: reason, Severity: severity, Message: message,
	}
}
