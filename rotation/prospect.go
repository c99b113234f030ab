// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"time"
)

// Prospect is where one claim stands on its way to being rotated (§3.2), for the person who asks why it is, or is not,
// the next.
type Prospect struct {
	Candidacy
	// Deadline is when Karpenter expires the claim; zero when it never does.
	Deadline time.Time
	// LeadTime is how long before its deadline the claim is selected, K·P + t_rot; 0 without a policy. An ageThreshold
	// of the policy takes its place.
	LeadTime time.Duration
	// Due is the first instant at which the claim is of age; zero when none is.
	Due time.Time
	// Place is 1 for the claim that is rotated next, 2 for the one after it; 0 for one that may not be rotated.
	Place int
	// Reason is a sentence that says why.
	Reason string
}

// Prospect tells where the claim of this name stands. The second result is false when the pool has no such claim.
func (s *Snapshot) Prospect(name string) (Prospect, bool) {
	claim, found := s.Claim(name)
	if !found {
		return Prospect{}, false
	}
	p := Prospect{Candidacy: Candidacy{Claim: name}}
	p.Deadline, _ = claim.Deadline()
	if s.Governance.Policy == nil {
		p.Reason = "no claim of the pool is rotated: " + s.Governance.Reason
		return p, true
	}
	p.LeadTime = s.LeadTime(&claim)
	p.Due, _ = s.DueAt(&claim)
	var first *Claim
	for _, c := range s.Claims {
		candidacy, _ := s.candidacy(c, s.Node)
		switch {
		case c.Name == name:
			p.Candidacy = candidacy
			p.Place++
		case candidacy.Standing == Eligible && before(c, &claim):
			p.Place++
			if first == nil || before(c, first) {
				first = c
			}
		}
	}
	if p.Standing != Eligible {
		p.Place = 0
	}
	p.Reason = p.because(s, first)
	return p, true
}

// because says what of all that is known about the claim decides. first is the claim that comes before every other one
// ahead of it.
func (p Prospect) because(s *Snapshot, first *Claim) string {
	switch {
	case p.Claim == s.Anchor():
		return fmt.Sprintf("NodeClaim %s is the one that is being rotated", p.Claim)
	case p.Standing != Eligible:
		return p.Explain()
	case s.Selection.Refusal != "":
		return p.Explain() + ", were it not for its pool: " + s.Selection.Refusal
	case p.Place > 1:
		return fmt.Sprintf("%s, but %s before it: NodeClaim %s is the next", p.Explain(), comes(p.Place-1), first.Name)
	default:
		return fmt.Sprintf("NodeClaim %s is the candidate: of those that may be rotated it comes first", p.Claim)
	}
}

func comes(others int) string {
	if others == 1 {
		return "1 other comes"
	}
	return fmt.Sprintf("%d others come", others)
}
