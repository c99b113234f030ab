// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Standing is why a claim is, or is not, a candidate (§3.2).
type Standing int

// The standings of a claim, in the order in which they are looked at.
const (
	Eligible Standing = iota
	BeingDeleted
	NotReady
	NeverDue
	NotYetDue
	InRotation
	AlreadyExpired
	BackingOff
	UnknownState
	Protected
	BeingReplaced
	WithoutNode
)

// Candidacy is one claim's standing. Until is the instant at which it can next change by itself; zero if only the
// cluster can change it.
type Candidacy struct {
	Claim    string
	Standing Standing
	Until    time.Time
}

// Selection is the choice of the next claim to rotate (§3.2).
type Selection struct {
	// Refusal says why the pool as a whole rotates nothing; empty otherwise.
	Refusal string
	// Candidate is the name of the claim to rotate next; empty when there is none.
	Candidate string
	// Candidates is the number of claims that are eligible.
	Candidates int
	// Claims is the number of claims that were judged: those of the pool, or none of one that is not governed.
	Claims int
	// Soonest is the claim whose standing changes first by itself; any claim where none does.
	Soonest Candidacy
	// Kept is the first claim that is of age, and that only a change of the cluster can make a candidate; zero when there is
	// none.
	Kept Candidacy
	// Due names the claims that are of age, eligible or not.
	Due map[string]bool
	// Next is the earliest instant at which a claim can become eligible by itself; zero if none can.
	Next time.Time
	// Overtaken is the first instant at which another claim becomes the candidate by itself: one that comes of age, or whose
	// backoff ends, ahead of the present one. Zero if none can.
	Overtaken time.Time
}

// Select judges every claim and picks the one with the earliest deadline, then the oldest, then by name (§3.2). It asks
// for the Nodes of claims that are of age, by name; nil stands for one that is not known.
func Select(s *Snapshot, node func(name string) *corev1.Node) Selection {
	sel := Selection{Refusal: refusal(s)}
	if s.Governance.Policy == nil {
		return sel
	}
	sel.Claims = len(s.Claims)
	var best *Claim
	for _, c := range s.Claims {
		candidacy, due := s.candidacy(c, node)
		sel.note(candidacy, due)
		if candidacy.Standing == Eligible && (best == nil || before(c, best)) {
			best = c
		}
	}
	if best != nil && sel.Refusal == "" {
		sel.Candidate = best.Name
	}
	sel.Overtaken = sel.overtaken(s, best, node)
	return sel
}

// note takes one claim's candidacy down, and whether the claim is of age.
func (sel *Selection) note(c Candidacy, due bool) {
	if due {
		if sel.Due == nil {
			sel.Due = map[string]bool{}
		}
		sel.Due[c.Claim] = true
	}
	sel.Next = earlier(sel.Next, c.Until)
	if sel.Soonest.Until.IsZero() || (!c.Until.IsZero() && c.Until.Before(sel.Soonest.Until)) {
		sel.Soonest = c
	}
	if due && sel.Kept == (Candidacy{}) && c.Until.IsZero() && c.Standing != BeingDeleted && c.Standing != AlreadyExpired {
		sel.Kept = c
	}
	if c.Standing == Eligible {
		sel.Candidates++
	}
}

// refusal says why a pool starts no rotation at all: nothing governs it, it is going away, it is static, or Karpenter
// itself reports it as not ready (§3.2).
func refusal(s *Snapshot) string {
	switch {
	case s.Governance.Policy == nil:
		return s.Governance.Reason
	case s.Pool.Deleting:
		return fmt.Sprintf("NodePool %s is being deleted", s.Pool.Name)
	case s.Pool.Static:
		return fmt.Sprintf("NodePool %s is static (spec.replicas is set): Karpenter schedules no placeholder onto it", s.Pool.Name)
	case s.Pool.NotReady != "":
		return fmt.Sprintf("NodePool %s is not Ready: %s", s.Pool.Name, s.Pool.NotReady)
	default:
		return ""
	}
}

// DueAt is the first instant at which the claim is of age: past deadline − leadTime, or past the age of an explicit
// override (§3.2). The second result is false when no instant is: the claim has no deadline and no override applies.
func (s *Snapshot) DueAt(c *Claim) (time.Time, bool) { return s.Governance.dueAt(c) }

func (g *Governance) dueAt(c *Claim) (time.Time, bool) {
	if g.Terms.AgeThreshold != nil {
		return After(c.Created.Add(*g.Terms.AgeThreshold)), true
	}
	if c.ExpireAfter == nil {
		return time.Time{}, false
	}
	return After(c.Created.Add(*c.ExpireAfter).Add(-g.leadTime(c))), true
}

// LeadTime is how long before its deadline a claim is selected: K·P + t_rot (§3.2).
func (s *Snapshot) LeadTime(c *Claim) time.Duration { return s.Governance.leadTime(c) }

func (g *Governance) leadTime(c *Claim) time.Duration {
	return time.Duration(g.Terms.K)*g.Survey.P + c.RotationBound(g.Terms.ReadyTimeout)
}

// Candidacies has every claim's standing, in the order of Claims; it is nil where no policy governs the pool.
func (s *Snapshot) Candidacies() []Candidacy {
	if s.Governance.Policy == nil {
		return nil
	}
	all := make([]Candidacy, len(s.Claims))
	for i, c := range s.Claims {
		all[i], _ = s.candidacy(c, s.Node)
	}
	return all
}

// Strangers are the claims that are of age and Ready, that no rotation is under way of, and whose Nodes are not known: they
// name none, or none that is there and labelled as one of the pool. In the order of Claims.
func (s *Snapshot) Strangers() (strangers []*Claim) {
	if len(s.Selection.Due) == 0 {
		return nil
	}
	for _, c := range s.Claims {
		if s.Selection.Due[c.Name] && c.Ready && !c.Deleting() && c.Name != s.Anchor() && s.Node(c.NodeName) == nil {
			strangers = append(strangers, c)
		}
	}
	return strangers
}

// overtaken is the first instant at which another claim becomes the candidate by itself.
func (sel *Selection) overtaken(s *Snapshot, candidate *Claim, node func(name string) *corev1.Node) (at time.Time) {
	switch {
	case sel.Refusal != "":
		return at
	case candidate == nil || sel.Next.IsZero():
		return sel.Next
	}
	for _, c := range s.Claims {
		if before(c, candidate) {
			standing, _ := s.candidacy(c, node)
			at = earlier(at, standing.Until)
		}
	}
	return at
}

// Standing tells whether the claim may be rotated. The pool is governed.
func (s *Snapshot) Standing(c *Claim) Candidacy {
	standing, _ := s.candidacy(c, s.Node)
	return standing
}

// candidacy is one claim's standing, and whether the claim is of age.
func (s *Snapshot) candidacy(c *Claim, node func(name string) *corev1.Node) (out Candidacy, due bool) {
	dueAt, everDue := s.Governance.dueAt(c)
	due = everDue && !s.Now.Before(dueAt)
	out.Claim = c.Name
	switch { // most claims of most passes go no further
	case c.Deleting():
		out.Standing = BeingDeleted
		return out, due
	case !everDue:
		out.Standing = NeverDue
		return out, due
	case !due:
		out.Standing, out.Until = NotYetDue, dueAt
		return out, due
	}
	switch state, err := c.State(); {
	case !c.Ready:
		out.Standing = NotReady
	case err != nil:
		out.Standing = UnknownState
	case state == StateExpired:
		out.Standing = AlreadyExpired
	case state == StatePending || state == StateDraining:
		out.Standing = InRotation
	case state == StateFailed && !c.Backoff(s.Governance.Terms.RetryBackoff).Over(s.Now):
		out.Standing, out.Until = BackingOff, c.Backoff(s.Governance.Terms.RetryBackoff).End()
	default:
		out.Standing = onNode(node(c.NodeName))
	}
	return out, due
}

// onNode is the standing of a claim that only its Node can keep.
func onNode(node *corev1.Node) Standing {
	switch {
	case node == nil:
		return WithoutNode
	case ProtectedByOperator(node):
		return Protected
	case beingReplaced(node):
		return BeingReplaced
	default:
		return Eligible
	}
}

// beingReplaced tells whether Karpenter has chosen the Node for drift or consolidation. It deletes the claim once what it
// has launched stands, whatever the Node carries by then: a rotation that began meanwhile would launch another one in vain,
// and end as expired. Where its replacement does not stand Karpenter takes the taint back.
func beingReplaced(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == taintDisrupted })
}

// ProtectedByOperator tells whether the Node carries a do-not-disrupt that is not ours. Only the literal "true"
// protects (§3.2).
func ProtectedByOperator(node *corev1.Node) bool {
	return node.Annotations[KeyDoNotDisrupt] == ValueTrue && node.Annotations[KeyDoNotDisruptOwned] != ValueTrue
}

// before orders candidates: earliest deadline first and those without one last, then the oldest, then by name.
func before(a, b *Claim) bool {
	deadlineA, hasA := a.Deadline()
	deadlineB, hasB := b.Deadline()
	switch {
	case hasA != hasB:
		return hasA
	case hasA && !deadlineA.Equal(deadlineB):
		return deadlineA.Before(deadlineB)
	case !a.Created.Equal(b.Created):
		return a.Created.Before(b.Created)
	default:
		return a.Name < b.Name
	}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// Explain is a sentence that says why the claim is, or is not, a candidate.
func (c Candidacy) Explain() string {
	switch c.Standing {
	case Eligible:
		return fmt.Sprintf("NodeClaim %s may be rotated", c.Claim)
	case BeingDeleted:
		return fmt.Sprintf("NodeClaim %s is already being deleted", c.Claim)
	case NotReady:
		return fmt.Sprintf("NodeClaim %s is not Ready", c.Claim)
	case NeverDue:
		return fmt.Sprintf("NodeClaim %s never expires and the policy sets no ageThreshold", c.Claim)
	case NotYetDue:
		return fmt.Sprintf("NodeClaim %s comes of age at %s", c.Claim, FormatStamp(c.Until))
	case InRotation:
		return fmt.Sprintf("NodeClaim %s is marked as being in a rotation", c.Claim)
	case AlreadyExpired:
		return fmt.Sprintf("NodeClaim %s was expired by Karpenter", c.Claim)
	case BackingOff:
		if c.Until.IsZero() {
			return fmt.Sprintf("NodeClaim %s failed and its failed-at or retry-count cannot be read", c.Claim)
		}
		return fmt.Sprintf("NodeClaim %s failed and backs off until %s", c.Claim, FormatStamp(c.Until))
	case UnknownState:
		return fmt.Sprintf("NodeClaim %s has a state annotation outside the contract", c.Claim)
	case Protected:
		return fmt.Sprintf("the Node of NodeClaim %s is protected by an operator's %s", c.Claim, KeyDoNotDisrupt)
	case BeingReplaced:
		return fmt.Sprintf("NodeClaim %s is being replaced by Karpenter itself, for drift or consolidation", c.Claim)
	case WithoutNode:
		return fmt.Sprintf("the Node of NodeClaim %s is not known", c.Claim)
	default:
		return fmt.Sprintf("NodeClaim %s has an unknown standing", c.Claim)
	}
}

// Explain is a sentence that says why there is no candidate: what keeps a claim that is of age, and the claim that can
// become one soonest, else how the claims stand.
func (sel *Selection) Explain() string {
	switch {
	case sel.Refusal != "":
		return sel.Refusal
	case sel.Claims == 0:
		return "the pool has no NodeClaim"
	}
	told := sel.Soonest.Explain()
	if sel.Kept != (Candidacy{}) && sel.Kept != sel.Soonest {
		told = sel.Kept.Explain() + "; " + told
	}
	return fmt.Sprintf("none of %d NodeClaims may be rotated; %s", sel.Claims, told)
}
