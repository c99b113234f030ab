// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Fixed constants of the controller (§3.2). Durations.
const (
	// ShortRequeue is how often a rotation in flight is looked at again.
	ShortRequeue = 30 * time.Second
	// Buffer covers the delay of detection; it is part of t_rot and of the drain bound, never of an estimate.
	Buffer = 4 * ShortRequeue
	// DefaultTerminationGracePeriod stands in for an unset terminationGracePeriod.
	DefaultTerminationGracePeriod = time.Hour
)

// Object identifies a cluster-scoped object as it was read. Every conditional write names it.
type Object struct {
	Name            string
	UID             types.UID
	ResourceVersion string
}

// Pool is what a rotation knows of a Karpenter NodePool.
type Pool struct {
	Object
	Labels      map[string]string
	Annotations map[string]string
	// Deleting is true once the NodePool has a deletionTimestamp.
	Deleting bool
	// Static is true when spec.replicas is set: Karpenter then schedules no pending Pod onto the pool (§3.2).
	Static bool
	// NotReady carries the message of a Ready condition that is False; empty otherwise.
	NotReady string
	// ExpireAfter of the template; nil means Never. Representative only: each claim has its own (§3.2).
	ExpireAfter *time.Duration
	// TerminationGracePeriod of the template; nil means unset.
	TerminationGracePeriod *time.Duration
	// Taints of the template, without its startup taints.
	Taints []corev1.Taint
	// TemplateLabels are the labels that the template puts on every Node.
	TemplateLabels map[string]string
	Requirements   []Requirement
	// Limits is spec.limits; a resource that is absent is not limited.
	Limits corev1.ResourceList
	// Used is status.resources: what the pool's nodes hold now, with their number as "nodes".
	Used corev1.ResourceList
}

// Requirement is one scheduling requirement of a NodePool or NodeClaim.
type Requirement struct {
	Key      string
	Operator string
	Values   []string
}

// Claim is what a rotation knows of a Karpenter NodeClaim.
type Claim struct {
	Object
	Labels      map[string]string
	Annotations map[string]string
	Created     time.Time
	// Deleted is the deletionTimestamp; zero while the claim is not being deleted.
	Deleted time.Time
	// ExpireAfter of the claim's own spec; nil means Never.
	ExpireAfter *time.Duration
	// TerminationGracePeriod of the claim's own spec; nil means unset.
	TerminationGracePeriod *time.Duration
	// Ready is true when the claim's Ready condition is True.
	Ready bool
	// NodeName of the claim's status; empty until a Node has registered.
	NodeName string
	// Allocatable is the claim's status.allocatable, with which Karpenter plans.
	Allocatable  corev1.ResourceList
	Requirements []Requirement
}

// Deadline is when Karpenter expires the claim, by the claim's own expireAfter, never the pool's (§3.2).
// The second result is false when the claim never expires.
func (c *Claim) Deadline() (time.Time, bool) {
	if c.ExpireAfter == nil {
		return time.Time{}, false
	}
	return c.Created.Add(*c.ExpireAfter), true
}

// FirstToExpire names the claim that Karpenter expires first, of those that are not on their way out, and when (§3.2). The
// last result is false where none has a deadline.
func FirstToExpire(claims []*Claim) (name string, deadline time.Time, known bool) {
	for _, c := range claims {
		at, expires := c.Deadline()
		if expires && !c.Deleting() && (!known || at.Before(deadline)) {
			name, deadline, known = c.Name, at, true
		}
	}
	return name, deadline, known
}

// GracePeriod is the claim's terminationGracePeriod, with one hour in place of an unset one (§3.2).
func (c *Claim) GracePeriod() time.Duration {
	if c.TerminationGracePeriod == nil {
		return DefaultTerminationGracePeriod
	}
	return *c.TerminationGracePeriod
}

// DrainBound is how long the claim's drain may take, from its deletionTimestamp, before it counts as stuck (§3.3).
func (c *Claim) DrainBound() time.Duration { return c.GracePeriod() + Buffer }

// RotationBound is t_rot: the longest a rotation of this claim can take (§3.2).
func (c *Claim) RotationBound(readyTimeout time.Duration) time.Duration {
	return readyTimeout + c.GracePeriod() + Buffer
}

// Deleting is true once the claim has a deletionTimestamp.
func (c *Claim) Deleting() bool { return !c.Deleted.IsZero() }
