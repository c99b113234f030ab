// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A claim's prospect (§3.2)", func() {
	three := []Fact{AClaim("a", Aged(10*Day)), AClaim("b", Aged(12*Day)), AClaim("c", Aged(11*Day)), AClaim("young")}
	prospect := func(s rotation.Snapshot, claim string) rotation.Prospect {
		GinkgoHelper()
		p, found := s.Prospect(claim)
		Expect(found).To(BeTrue())
		return p
	}

	DescribeTable("is a place in the order of deadlines, with the reason",
		func(claim string, place int, reason string) {
			p := prospect(APool(three...), claim)
			Expect(p.Place).To(Equal(place))
			Expect(p.Reason).To(Equal(reason))
		},
		Entry("first", "b", 1, "NodeClaim b is the candidate: of those that may be rotated it comes first"),
		Entry("second", "c", 2, "NodeClaim c may be rotated, but 1 other comes before it: NodeClaim b is the next"),
		Entry("third", "a", 3, "NodeClaim a may be rotated, but 2 others come before it: NodeClaim b is the next"),
		Entry("not of age", "young", 0, "NodeClaim young comes of age at 2026-01-14T16:43:00Z"),
	)

	It("has the claim's own deadline, its lead time, and when it comes of age", func() {
		p := prospect(APool(three...), "a")
		Expect(p.Deadline).To(Equal(Opening.Add(time.Hour + 4*Day)))
		Expect(p.LeadTime).To(Equal(8*Day + time.Hour + 17*time.Minute))
		Expect(p.Due).To(Equal(rotation.After(p.Deadline.Add(-p.LeadTime))))
		Expect(prospect(APool(AClaim("a", NeverExpiring)), "a")).To(SatisfyAll(
			HaveField("Deadline", BeZero()), HaveField("Due", BeZero()),
			HaveField("Reason", "NodeClaim a never expires and the policy sets no ageThreshold")))
	})

	It("is told of a claim that is being rotated, of a pool that refuses, and of one without a policy", func() {
		Expect(prospect(In("the surge is ready"), "old").Reason).To(Equal("NodeClaim old is the one that is being rotated"))
		static := APool(append(three, PoolThat(func(p *rotation.Pool) { p.Static = true }))...)
		Expect(prospect(static, "b").Reason).To(Equal("NodeClaim b may be rotated, were it not for its pool: " +
			"NodePool api is static (spec.replicas is set): Karpenter schedules no placeholder onto it"))
		ungoverned := prospect(APool(append(three, Ungoverned())...), "b")
		Expect(ungoverned.Reason).To(HavePrefix("no claim of the pool is rotated: there is no RotationPolicy"))
		Expect(ungoverned).To(SatisfyAll(HaveField("Place", 0), HaveField("LeadTime", BeZero())))
	})

	It("is none of a claim that the pool does not have", func() {
		s := APool(three...)
		_, found := s.Prospect("x")
		Expect(found).To(BeFalse())
	})

	It("has the candidate in the first place, and it alone", func() {
		for _, situation := range Situations() {
			var first []string
			for _, c := range situation.Snapshot.Claims {
				p := prospect(situation.Snapshot, c.Name)
				if p.Place == 1 {
					first = append(first, c.Name)
				}
				Expect(p.Reason).NotTo(BeEmpty())
			}
			if candidate := situation.Snapshot.Selection.Candidate; candidate != "" {
				Expect(first).To(ConsistOf(candidate), situation.Name)
			}
		}
	})
})
