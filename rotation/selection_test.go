// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// dueAge is A of §3.2's first example: a claim is a candidate once it is older.
const dueAge = 5*Day + 22*time.Hour + 43*time.Minute

// standing is the standing of the only claim of a pool.
func standing(facts ...Fact) rotation.Candidacy {
	s := APool(facts...)
	return s.Candidacies()[0]
}

// ofAge is a claim that has come of age, of which the facts are so.
func ofAge(facts ...ClaimFact) Fact {
	return AClaim("old", append([]ClaimFact{Aged(10 * Day)}, facts...)...)
}

var _ = DescribeTable("A claim's standing (§3.2), with the instant at which it can change by itself",
	func(c rotation.Candidacy, expected rotation.Standing, until time.Time, explanation string) {
		Expect(c.Standing).To(Equal(expected))
		Expect(c.Until).To(BeTemporally("==", until))
		Expect(c.Explain()).To(Equal(explanation))
	},
	Entry("1: of age", standing(AClaim("old", Aged(dueAge+1))), rotation.Eligible, time.Time{}, "NodeClaim old may be rotated"),
	Entry("1: at the very age it is not yet older", standing(AClaim("old", Aged(dueAge))), rotation.NotYetDue, Opening.Add(time.Hour+1),
		"NodeClaim old comes of age at 2026-01-09T18:00:00Z"),
	Entry("1: by its own expireAfter, never the template's", standing(AClaim("old", Aged(2*Day), Expiring(9*Day))), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("1: by its own terminationGracePeriod", standing(AClaim("old", Aged(dueAge-22*time.Hour), Graceful(Day))), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("1: with one hour in place of an unset one",
		standing(PoolThat(func(p *rotation.Pool) { p.TerminationGracePeriod = nil }), AClaim("old", Aged(dueAge))), rotation.NotYetDue, Opening.Add(time.Hour+1),
		"NodeClaim old comes of age at 2026-01-09T18:00:00Z"),
	Entry("1: never, without a deadline", standing(ofAge(NeverExpiring)), rotation.NeverDue, time.Time{},
		"NodeClaim old never expires and the policy sets no ageThreshold"),
	Entry("1: by an override, without a deadline", standing(WithPolicy(OfAgeAt(10*Day-1)), ofAge(NeverExpiring)), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("1: by an override, whatever the deadline", standing(WithPolicy(OfAgeAt(10*Day)), ofAge()), rotation.NotYetDue, Opening.Add(time.Hour+1),
		"NodeClaim old comes of age at 2026-01-09T18:00:00Z"),
	Entry("3: not Ready", standing(ofAge(NotReady)), rotation.NotReady, time.Time{}, "NodeClaim old is not Ready"),
	Entry("4: being deleted", standing(ofAge(BeingDeleted(0))), rotation.BeingDeleted, time.Time{}, "NodeClaim old is already being deleted"),
	Entry("5: pending is never selected again", standing(ofAge(PendingFor(0))), rotation.InRotation, time.Time{},
		"NodeClaim old is marked as being in a rotation"),
	Entry("5: draining is never selected again", standing(ofAge(InState("draining"))), rotation.InRotation, time.Time{},
		"NodeClaim old is marked as being in a rotation"),
	Entry("5: expired is terminal", standing(ofAge(InState("expired"))), rotation.AlreadyExpired, time.Time{}, "NodeClaim old was expired by Karpenter"),
	Entry("5: failed, within its backoff", standing(ofAge(Failed(3, time.Hour))), rotation.BackingOff, Opening.Add(2*time.Hour),
		"NodeClaim old failed and backs off until 2026-01-09T19:00:00Z"),
	Entry("5: failed, at its backoff's end", standing(ofAge(Failed(3, 2*time.Hour))), rotation.Eligible, time.Time{}, "NodeClaim old may be rotated"),
	Entry("5: failed, and nobody can read when", standing(ofAge(Failed(1, Day), Annotated(rotation.KeyFailedAt, "?"))), rotation.BackingOff, time.Time{},
		"NodeClaim old failed and its failed-at or retry-count cannot be read"),
	Entry("5: in a state outside the contract", standing(ofAge(InState("?"))), rotation.UnknownState, time.Time{},
		"NodeClaim old has a state annotation outside the contract"),
	Entry("6: protected by an operator", standing(ofAge(), ANode("old-node", ProtectedByOperator)), rotation.Protected, time.Time{},
		"the Node of NodeClaim old is protected by an operator's karpenter.sh/do-not-disrupt"),
	Entry("6: protected by us, from a rotation that was cut short", standing(ofAge(), ANode("old-node", ProtectedFor("old"))), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("6: only the literal true protects", standing(ofAge(), ANode("old-node", NodeAnnotated(rotation.KeyDoNotDisrupt, "True"))), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("7: Karpenter is replacing it for drift", standing(ofAge(), ANode("old-node", BeingReplaced)), rotation.BeingReplaced, time.Time{},
		"NodeClaim old is being replaced by Karpenter itself, for drift or consolidation"),
	Entry("a node that an operator cordoned may still be rotated", standing(ofAge(), ANode("old-node", CordonedByOperator)), rotation.Eligible, time.Time{},
		"NodeClaim old may be rotated"),
	Entry("a claim without a node", standing(ofAge(OnNode(""))), rotation.WithoutNode, time.Time{}, "the Node of NodeClaim old is not known"),
	Entry("a claim whose node is not known", standing(ofAge(), WithoutNode("old-node")), rotation.WithoutNode, time.Time{},
		"the Node of NodeClaim old is not known"),
)

var _ = DescribeTable("The order of candidates: earliest deadline, then oldest, then name (§3.2)",
	func(expected string, facts ...Fact) {
		slices.Reverse(facts)
		Expect(APool(facts...).Selection.Candidate).To(Equal(expected))
	},
	Entry("the earliest deadline", "b", AClaim("a", Aged(10*Day)), AClaim("b", Aged(11*Day))),
	Entry("the earliest deadline, though it is younger", "b", AClaim("a", Aged(10*Day)), AClaim("b", Aged(5*Day), Expiring(7*Day))),
	Entry("of one deadline the oldest", "b", AClaim("a", Aged(10*Day)), AClaim("b", Aged(11*Day), Expiring(15*Day))),
	Entry("of one age the first by name", "a", AClaim("b", Aged(10*Day)), AClaim("a", Aged(10*Day))),
	Entry("those without a deadline last", "b", AClaim("a", Aged(100*Day), NeverExpiring), AClaim("b", Aged(10*Day)),
		WithPolicy(OfAgeAt(Day))),
	Entry("the first that may be rotated, past those that may not", "c", AClaim("a", Aged(13*Day), NotReady), AClaim("b", Aged(12*Day), Failed(1, 0)), AClaim("c", Aged(10*Day))),
)

var _ = DescribeTable("A pool that as a whole rotates nothing (§3.2)",
	func(s rotation.Snapshot, refusal string) {
		Expect(s.Selection.Candidate).To(BeEmpty())
		Expect(s.Selection.Refusal).To(Equal(refusal))
		Expect(s.Selection.Explain()).To(Equal(refusal))
	},
	Entry("2: not governed", APool(ofAge(), Ungoverned()),
		"there is no RotationPolicy; create one whose nodePoolSelector matches the NodePool's labels"),
	Entry("being deleted", APool(ofAge(), PoolThat(func(p *rotation.Pool) { p.Deleting = true })), "NodePool api is being deleted"),
	Entry("static", APool(ofAge(), PoolThat(func(p *rotation.Pool) { p.Static = true })),
		"NodePool api is static (spec.replicas is set): Karpenter schedules no placeholder onto it"),
	Entry("itself not Ready", APool(ofAge(), PoolThat(func(p *rotation.Pool) { p.NotReady = "NodeClass not found" })), "NodePool api is not Ready: NodeClass not found"),
)

var _ = Describe("A selection (§3.2)", func() {
	s := APool(AClaim("a", Aged(10*Day)), AClaim("b", Aged(9*Day), NotReady), AClaim("c", Aged(3*Day)), AClaim("d", Aged(4*Day)))

	It("counts the eligible, names those of age, eligible or not, and the next to come of age", func() {
		Expect(s.Selection.Candidates).To(Equal(1))
		Expect(s.Selection.Due).To(Equal(map[string]bool{"a": true, "b": true}))
		Expect(s.Selection.Next).To(BeTemporally("==", s.Now.Add(dueAge-4*Day+1)))
	})
	It("counts a claim as of age from the instant on at which it becomes a candidate", func() {
		Expect(LookedAt(s, s.Selection.Next.Add(-1)).Selection.Due).NotTo(HaveKey("d"))
		then := LookedAt(s, s.Selection.Next).Selection
		Expect(then.Due).To(HaveKey("d"))
		Expect(then.Candidates).To(Equal(2))
	})
	It("explains itself by what keeps a claim that is of age, and by the one that can become a candidate soonest", func() {
		none := APool(AClaim("b", Aged(9*Day), NotReady), AClaim("c", Aged(3*Day)), AClaim("d", Aged(4*Day)))
		Expect(none.Selection.Explain()).To(Equal("none of 3 NodeClaims may be rotated; NodeClaim b is not Ready; NodeClaim d comes of age at 2026-01-11T16:43:00Z"))
	})
})

// Whatever the fleet: the choice is eligible, nothing eligible comes before it, and the count is right.
func TestTheChoiceIsTheFirstOfTheEligible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Snapshots().Draw(t, "snapshot")
		var eligible []rotation.Claim
		for _, c := range s.Candidacies() {
			if c.Standing == rotation.Eligible {
				claim, _ := s.Claim(c.Claim)
				eligible = append(eligible, claim)
			}
		}
		if s.Selection.Candidates != len(eligible) {
			t.Errorf("%d candidates are counted and %d are eligible", s.Selection.Candidates, len(eligible))
		}
		chosen, found := s.Claim(s.Selection.Candidate)
		if found != (len(eligible) > 0 && s.Selection.Refusal == "") {
			t.Fatalf("candidate %q of %d eligible, refusal %q", s.Selection.Candidate, len(eligible), s.Selection.Refusal)
		}
		for _, other := range eligible {
			mine, expires := chosen.Deadline()
			theirs, others := other.Deadline()
			if found && others && (!expires || theirs.Before(mine)) {
				t.Errorf("%s is chosen before %s, whose deadline is earlier", chosen.Name, other.Name)
			}
		}
	})
}

var _ = DescribeTable("The claim that Karpenter expires first (§3.2)",
	func(s rotation.Snapshot, first string) {
		name, deadline, known := rotation.FirstToExpire(s.Claims)
		Expect(name).To(Equal(first))
		Expect(known).To(Equal(first != ""))
		Expect(deadline.IsZero()).To(Equal(first == ""))
	},
	Entry("of none", APool(), ""),
	Entry("is by each claim's own life", APool(AClaim("old", Aged(10*Day)), AClaim("short", Aged(5*Day), Expiring(6*Day))), "short"),
	Entry("is none that is on its way out", APool(AClaim("old", Aged(10*Day), BeingDeleted(0)), AClaim("young")), "young"),
	Entry("is none that never expires", APool(AClaim("old", NeverExpiring)), ""),
)
