// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

func assessments(policies ...*v1alpha1.RotationPolicy) []rotation.Assessment {
	out := make([]rotation.Assessment, len(policies))
	for i, p := range policies {
		out[i] = rotation.Assess(p, newYear)
	}
	return out
}

var _ = Describe("which policy governs a NodePool (§5.4)", func() {
	catchAll := policyNamed("blanket")
	web := map[string]string{"team": "web", "tier": "front"}

	It("is none where there is none, and says what to do", func() {
		g := rotation.Govern(nil, web)
		Expect(g).To(Equal(rotation.Governance{
			Reason: "there is no RotationPolicy; create one whose nodePoolSelector matches the NodePool's labels",
		}))
	})

	It("is none where none selects the pool", func() {
		g := rotation.Govern(assessments(policyNamed("api", selecting(map[string]string{"team": "api"}))), web)
		Expect(g.Policy).To(BeNil())
		Expect(g.Conflict).To(BeFalse())
		Expect(g.Reason).To(Equal("no RotationPolicy selects the NodePool by its labels; label it, or create a policy with an empty nodePoolSelector"))
	})

	It("is the catch-all for a pool without labels", func() {
		g := rotation.Govern(assessments(catchAll, policyNamed("web", selecting(map[string]string{"team": "web"}))), nil)
		Expect(g.Policy).To(BeIdenticalTo(catchAll))
		Expect(g.Reason).To(Equal("RotationPolicy blanket governs the NodePool, which it selects with 0 label constraints"))
	})

	It("is the one with more label constraints, and comes with its terms and windows", func() {
		narrow := policyNamed("web", chances(3), selecting(map[string]string{"team": "web"}))
		g := rotation.Govern(assessments(catchAll, narrow), web)
		Expect(g.Policy).To(BeIdenticalTo(narrow))
		Expect(g.Terms.K).To(Equal(3))
		Expect(g.Survey.P).To(Equal(4 * aDay))
		Expect(g.Windows).To(Equal(rotation.Assess(narrow, newYear).Windows))
		Expect(g.Reason).To(Equal("RotationPolicy web governs the NodePool, which it selects with 1 label constraint"))
	})

	It("counts matchExpressions as it counts matchLabels", func() {
		byLabel := policyNamed("by-label", selecting(map[string]string{"team": "web"}))
		byBoth := policyNamed("by-both", selecting(map[string]string{"team": "web"}, expression("gpu", metav1.LabelSelectorOpDoesNotExist)))
		byExpressions := policyNamed("by-expressions", selecting(nil,
			expression("team", metav1.LabelSelectorOpIn, "web", "api"),
			expression("tier", metav1.LabelSelectorOpExists),
			expression("stage", metav1.LabelSelectorOpNotIn, "test")))
		Expect(rotation.Govern(assessments(byLabel, byBoth), web).Policy).To(BeIdenticalTo(byBoth))
		Expect(rotation.Govern(assessments(byLabel, byBoth, byExpressions), web).Policy).To(BeIdenticalTo(byExpressions))
	})

	It("is none on a tie, whose policies it names in order", func() {
		all := assessments(catchAll,
			policyNamed("zebra", selecting(map[string]string{"team": "web"})),
			policyNamed("lion", selecting(nil, expression("tier", metav1.LabelSelectorOpExists))),
			policyNamed("ape", selecting(map[string]string{"tier": "front"})))
		r := rotation.Resolve(all, web)
		Expect(r.Winner).To(BeNil())
		Expect(r.Tied).To(Equal([]string{"ape", "lion", "zebra"}))
		g := rotation.Govern(all, web)
		Expect(g.Policy).To(BeNil())
		Expect(g.Conflict).To(BeTrue())
		Expect(g.Reason).To(Equal("RotationPolicies ape, lion and zebra select the NodePool with 1 label constraint each; " +
			"give one of them a further constraint, or narrow the others"))
	})

	It("does not mind a tie below the winner", func() {
		winner := policyNamed("web", selecting(web))
		g := rotation.Govern(assessments(policyNamed("a", selecting(map[string]string{"team": "web"})),
			policyNamed("b", selecting(map[string]string{"tier": "front"})), winner), web)
		Expect(g.Policy).To(BeIdenticalTo(winner))
		Expect(g.Conflict).To(BeFalse())
	})

	Describe("with an Invalid policy (§3.8)", func() {
		broken := policyNamed("web", chances(0), selecting(map[string]string{"team": "web"}))

		It("is none where the Invalid one wins: no broader policy takes over", func() {
			r := rotation.Resolve(assessments(catchAll, broken), web)
			Expect(r.Winner).To(BeIdenticalTo(broken))
			Expect(r.Invalid).To(BeTrue())
			g := rotation.Govern(assessments(catchAll, broken), web)
			Expect(g.Policy).To(BeNil())
			Expect(g.Conflict).To(BeFalse())
			Expect(g.Reason).To(Equal("the RotationPolicy that selects the NodePool is Invalid: RotationPolicy web: minRotationChances is 0, " +
				"which guarantees no node a rotation; set it to 1 or more."))
		})

		It("is another where the Invalid one is less specific, or selects other pools", func() {
			narrow := policyNamed("front", selecting(web))
			Expect(rotation.Govern(assessments(narrow, broken), web).Policy).To(BeIdenticalTo(narrow))
			Expect(rotation.Govern(assessments(catchAll, broken), map[string]string{"team": "api"}).Policy).To(BeIdenticalTo(catchAll))
		})

		It("is none where the Invalid one ties", func() {
			g := rotation.Govern(assessments(broken, policyNamed("front", selecting(map[string]string{"tier": "front"}))), web)
			Expect(g.Policy).To(BeNil())
			Expect(g.Conflict).To(BeTrue())
		})

		It("stops every pool that a selector with an unreadable constraint may have meant, and no other", func() {
			unreadable := policyNamed("odd", selecting(map[string]string{"team": "web"}, expression("tier", "Near", "front")))
			all := assessments(catchAll, unreadable)
			r := rotation.Resolve(all, web)
			Expect(r.Winner).To(BeIdenticalTo(unreadable))
			Expect(r.Invalid).To(BeTrue())
			Expect(rotation.Govern(all, map[string]string{"team": "web", "tier": "back"}).Policy).To(BeNil())
			Expect(rotation.Govern(all, map[string]string{"team": "api"}).Policy).To(BeIdenticalTo(catchAll))
		})
	})
})

// The answer depends on the policies, never on the order in which a cache lists them (§5.4).
func TestResolveIgnoresTheOrderOfPolicies(t *testing.T) {
	keys := []string{"team", "tier", "stage"}
	var all []rotation.Assessment
	for mask := range 8 {
		for _, k := range []int32{0, 2} {
			labels := map[string]string{}
			for bit, key := range keys {
				if mask>>bit&1 == 1 {
					labels[key] = "x"
				}
			}
			all = append(all, rotation.Assess(policyNamed(fmt.Sprintf("p%d-%d", mask, k), selecting(labels), chances(k)), newYear))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 0, 6, rapid.ID).Draw(t, "policies")
		poolLabels := rapid.MapOf(rapid.SampledFrom(keys), rapid.SampledFrom([]string{"x", "y"})).Draw(t, "labels")
		listed := make([]rotation.Assessment, len(chosen))
		for i, c := range chosen {
			listed[i] = all[c]
		}
		first := rotation.Govern(listed, poolLabels)
		second := rotation.Govern(rapid.Permutation(listed).Draw(t, "order"), poolLabels)
		if first.Policy != second.Policy || first.Reason != second.Reason || first.Conflict != second.Conflict {
			t.Fatalf("%q became %q in another order", first.Reason, second.Reason)
		}
	})
}
