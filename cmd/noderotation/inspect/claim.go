// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// Claim is one NodeClaim of a pool, and why it is, or is not, the next to be rotated.
type Claim struct {
	Name string `json:"nodeClaim"`
	Node string `json:"node,omitempty"`
	// Reason is a sentence on its turn; Place is 1 for the candidate, 0 for a claim that may not be rotated.
	Reason string `json:"reason"`
	Place  int    `json:"place,omitempty"`
	// Created, Due and Deadline of the claim: due is when it comes of age. Absent where there is no such moment.
	Created  *metav1.Time `json:"created"`
	Due      *metav1.Time `json:"due,omitempty"`
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// LeadTime is how long before its deadline the claim comes of age; absent where the policy sets an ageThreshold.
	LeadTime *metav1.Duration `json:"leadTime,omitempty"`
	// LastFailure and Failures of earlier attempts.
	LastFailure *metav1.Time `json:"lastFailure,omitempty"`
	Failures    int          `json:"failures,omitempty"`
	// ShortLead is true when its life is too short for the chances that the policy asks for.
	ShortLead bool   `json:"shortLead,omitempty"`
	Drain     *Drain `json:"drain,omitempty"`
}

// Drain is what a claim's drain meets now, or would meet.
type Drain struct {
	// Since is when it began; absent while it has not.
	Since *metav1.Time `json:"since,omitempty"`
	// Pods on the Node, and what holds them there.
	Pods    int      `json:"pods"`
	Holders []string `json:"holders,omitempty"`
	// Bound is the claim's terminationGracePeriod, after which Karpenter waits for nobody; absent when it is unset.
	Bound *metav1.Duration `json:"bound,omitempty"`
}

// claimOf tells of a claim of the pool; nil when the pool has none of this name.
func claimOf(s rotation.Snapshot, name string) *Claim {
	claim, found := s.Claim(name)
	if !found {
		return nil
	}
	prospect, _ := s.Prospect(name)
	c := &Claim{
		Name: name, Node: claim.NodeName, Reason: prospect.Reason, Place: prospect.Place,
		Created: stamp(claim.Created), Due: stamp(prospect.Due), Deadline: stamp(prospect.Deadline),
		ShortLead: s.Feasibility.ShortLead(&claim),
	}
	if prospect.LeadTime > 0 && s.Governance.Terms.AgeThreshold == nil {
		c.LeadTime = &metav1.Duration{Duration: prospect.LeadTime}
	}
	if failed := claim.FailedAt(); failed.Readable {
		c.LastFailure = stamp(failed.At)
	}
	c.Failures, _ = claim.RetryCount()
	return c
}

// drainOf tells what a claim's drain meets. The snapshot has the Pods of its Node and the budgets.
func drainOf(s rotation.Snapshot, claim rotation.Claim) *Drain {
	d := &Drain{Holders: rotation.HoldersOf(s, claim), Pods: len(s.PodsByNode[claim.NodeName]), Since: stamp(claim.Deleted)}
	if claim.TerminationGracePeriod != nil {
		d.Bound = &metav1.Duration{Duration: *claim.TerminationGracePeriod}
	}
	return d
}

// text writes the claim's part of a page.
func (c *Claim) text(b *block, p Pool) {
	name := "NodeClaim " + c.Name
	if c.Node != "" {
		name += " on Node " + c.Node
	}
	b.line("Claim", name)
	b.line("Its turn", sentence(local(c.Reason, p.zone)))
	b.line("Age", brief(p.now.Sub(c.Created.Time))+", since "+at(c.Created.In(p.zone)))
	if c.Deadline == nil {
		b.line("Deadline", "none: it never expires")
	} else {
		b.line("Deadline", p.instant(c.Deadline))
	}
	if c.LeadTime != nil {
		b.line("Lead time", rotation.Spell(c.LeadTime.Round(time.Second))+" before its deadline: the chances asked for, and a rotation at its longest")
	}
	if c.Due != nil {
		b.line("Of age", p.instant(c.Due))
	}
	if c.ShortLead {
		b.line("", "Its life is too short for the chances that the policy asks for: it is rotated at the earliest one.")
	}
	if c.LastFailure != nil {
		b.line("Failures", count(c.Failures, "attempt")+" failed, the last one "+p.instant(c.LastFailure))
	}
	c.Drain.text(b, p)
}

// text says what holds the drain.
func (d *Drain) text(b *block, p Pool) {
	if d == nil {
		return
	}
	when, nothing := "a drain that began now would be held by", "nothing would hold a drain that began now"
	if d.Since != nil {
		when = "it began " + p.instant(d.Since) + ", and is held by"
		nothing = "it began " + p.instant(d.Since) + "; nothing is seen that holds it"
	}
	if len(d.Holders) == 0 {
		b.line("Drain", nothing+" ("+count(d.Pods, "Pod")+" on the Node)")
		return
	}
	b.line("Drain", when)
	for _, holder := range d.Holders {
		b.item(local(holder, p.zone))
	}
	if d.Bound != nil {
		b.line("", "Karpenter waits for them no longer than the terminationGracePeriod of "+rotation.Spell(d.Bound.Duration)+".")
	} else {
		b.line("", "No terminationGracePeriod bounds the wait.")
	}
}
