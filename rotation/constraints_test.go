// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

const customLabel = "example.com/generation"

// replica is what the policy's one required key comes to.
func replica(key string, changes ...change) (rotation.Replica, error) {
	changes = append([]change{replicating([]v1alpha1.LabelKey{v1alpha1.LabelKey(key)}, nil)}, changes...)
	required, _, err := rotation.Replicas(surging(changes...))
	if err != nil {
		return rotation.Replica{}, err
	}
	return required[0], nil
}

func poolDemands(requirements ...rotation.Requirement) change {
	return editPool(func(p *rotation.Pool) { p.Requirements = requirements })
}

func claimDemands(requirements ...rotation.Requirement) change {
	return editClaim(surgeForOld, func(c *rotation.Claim) { c.Requirements = requirements })
}

func labelled(key, value string) change {
	return editNode(surgeOldNode, func(n *corev1.Node) { n.Labels[key] = value })
}

var _ = Describe("The replicated values (§3.3)", func() {
	DescribeTable("come from the candidate and are intersected with what the pool allows",
		func(expected []corev1.NodeSelectorRequirement, changes ...change) {
			got, err := replica(customLabel, changes...)
			Expect(err).NotTo(HaveOccurred())
			Expect(got.Expressions).To(Equal(expected))
			Expect(got.Departed).To(BeEmpty())
		},
		Entry("the Node's label", one("In", "5"), labelled(customLabel, "5")),
		Entry("the label rather than the claim's requirement", one("In", "5"),
			labelled(customLabel, "5"), claimDemands(requirement(customLabel, "In", "4"))),
		Entry("the claim's requirement without a label", one("In", "4", "5"), claimDemands(requirement(customLabel, "In", "5", "4"))),
		Entry("the claim's requirement without a Node", one("In", "5"),
			claimDemands(requirement(customLabel, "In", "5")), func(s *rotation.Snapshot) { delete(s.Nodes, surgeOldNode) }),
		Entry("an empty label value", one("In", ""), labelled(customLabel, "")),
		Entry("two requirements of the claim", one("In", "5"),
			claimDemands(requirement(customLabel, "In", "4", "5"), requirement(customLabel, "In", "5", "6"))),
		Entry("what the pool still allows of the claim's", one("In", "5"),
			claimDemands(requirement(customLabel, "In", "4", "5", "6")),
			poolDemands(requirement(customLabel, "In", "3", "4", "5"), requirement(customLabel, "Gt", "4"))),
		Entry("nothing for a key in neither source", nil, poolDemands(requirement(customLabel, "In", "5"))),

		Entry("In the pool", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "In", "4", "5"))),
		Entry("NotIn the pool", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "NotIn", "4"))),
		Entry("Exists in the pool", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Exists"))),
		Entry("Gt", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Gt", "4"))),
		Entry("Lt", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Lt", "6"))),
		Entry("Gte", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Gte", "5"))),
		Entry("Lte", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Lte", "5"))),
		Entry("a label of the pool's template", one("In", "5"), claimDemands(requirement(customLabel, "Exists")),
			editPool(func(p *rotation.Pool) { p.TemplateLabels = map[string]string{customLabel: "5"} })),
		Entry("requirements on other keys", one("In", "5"), labelled(customLabel, "5"), poolDemands(requirement(zoneLabel, "In", "b"))),

		Entry("a claim that enumerates nothing", all(expr(customLabel, "Exists")), claimDemands(requirement(customLabel, "Exists"))),
		Entry("NotIn on both sides", all(expr(customLabel, "NotIn", "4", "5"), expr(customLabel, "NotIn", "6")),
			claimDemands(requirement(customLabel, "NotIn", "5", "4")), poolDemands(requirement(customLabel, "NotIn", "6"))),
		Entry("the same on both sides, said once", all(expr(customLabel, "NotIn", "4")),
			claimDemands(requirement(customLabel, "NotIn", "4")), poolDemands(requirement(customLabel, "NotIn", "4"))),
		Entry("bounds, in a Pod's terms", all(expr(customLabel, "Gt", "2"), expr(customLabel, "Lt", "9")),
			claimDemands(requirement(customLabel, "Gte", "3"), requirement(customLabel, "Lte", "8"))),
		Entry("bounds that a Pod states too", all(expr(customLabel, "Gt", "3"), expr(customLabel, "Lt", "8")),
			claimDemands(requirement(customLabel, "Gt", "3"), requirement(customLabel, "Lt", "8"))),
		Entry("at least zero, which Karpenter takes from no Pod", all(expr(customLabel, "Exists")), claimDemands(requirement(customLabel, "Gte", "0"))),
		Entry("at most the largest number", all(expr(customLabel, "Exists")), claimDemands(requirement(customLabel, "Lte", "9223372036854775807"))),
		Entry("DoesNotExist", all(expr(customLabel, "DoesNotExist")), claimDemands(requirement(customLabel, "DoesNotExist"))),
	)

	DescribeTable("become what the pool allows where it allows the candidate's own value no longer",
		func(expected []corev1.NodeSelectorRequirement, departed string, changes ...change) {
			got, err := replica(customLabel, changes...)
			Expect(err).NotTo(HaveOccurred())
			Expect(got.Expressions).To(Equal(expected))
			Expect(got.Departed).To(Equal(departed))
		},
		Entry("other values", one("In", "6", "7"), "5", labelled(customLabel, "5"), poolDemands(requirement(customLabel, "In", "7", "6"))),
		Entry("an excluded value", all(expr(customLabel, "NotIn", "5")), "5", labelled(customLabel, "5"), poolDemands(requirement(customLabel, "NotIn", "5"))),
		Entry("a bound", all(expr(customLabel, "Gt", "5")), "5", labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Gt", "5"))),
		Entry("a bound on a label that is no number", all(expr(customLabel, "Lt", "6")), "v5", labelled(customLabel, "v5"), poolDemands(requirement(customLabel, "Lt", "6"))),
		Entry("no label at all", all(expr(customLabel, "DoesNotExist")), "5", labelled(customLabel, "5"), poolDemands(requirement(customLabel, "DoesNotExist"))),
		Entry("another label in the template", one("In", "6"), "5", labelled(customLabel, "5"),
			editPool(func(p *rotation.Pool) { p.TemplateLabels = map[string]string{customLabel: "6"} })),
	)

	It("are none where the pool allows nothing at all: it can launch no node either way", func() {
		got, err := replica(customLabel, labelled(customLabel, "5"),
			poolDemands(requirement(customLabel, "In", "6"), requirement(customLabel, "In", "7")))
		Expect(err).NotTo(HaveOccurred())
		Expect(got.Expressions).To(BeEmpty())
	})

	DescribeTable("are an error that names object, key and fault where a requirement cannot be honoured",
		func(message string, changes ...change) {
			_, err := replica(customLabel, changes...)
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("an unknown operator of the pool", `NodePool api: its requirement on example.com/generation has the unknown operator "Near"`,
			labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Near", "5"))),
		Entry("an unknown operator of the claim", `NodeClaim old: its requirement on example.com/generation has the unknown operator ""`,
			claimDemands(requirement(customLabel, "", "5"))),
		Entry("a bound that is no number", `NodePool api: its requirement on example.com/generation compares by Gt with "five"`,
			labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Gt", "five"))),
		Entry("a bound that is missing", `compares by Lte with ""`, labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Lte"))),
		Entry("two bounds in one", `compares by Lt with "5,6"`, labelled(customLabel, "5"), poolDemands(requirement(customLabel, "Lt", "5", "6"))),
	)

	It("are not troubled by an unknown operator on a key that is not replicated", func() {
		_, err := replica(customLabel, labelled(customLabel, "5"), poolDemands(requirement(zoneLabel, "Near", "b")))
		Expect(err).NotTo(HaveOccurred())
	})

	It("never include the host name", func() {
		_, err := replica(corev1.LabelHostname)
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring("RotationPolicy policy"), ContainSubstring("kubernetes.io/hostname"))))
	})

	It("refuse the host name as a preference too", func() {
		_, _, err := rotation.Replicas(surging(replicating(nil, []v1alpha1.LabelKey{corev1.LabelHostname})))
		Expect(err).To(HaveOccurred())
	})
})

func one(operator string, values ...string) []corev1.NodeSelectorRequirement {
	return all(expr(customLabel, operator, values...))
}

func all(expressions ...corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	return expressions
}

// §3.3: a host that the expressions admit is one that claim and pool admit both, and the other way round.
func TestReplicatedExpressionsMeanWhatClaimAndPoolDemand(t *testing.T) {
	operators := []string{"In", "NotIn", "Exists", "Gt", "Lt", "Gte", "Lte"}
	demands := rapid.Custom(func(t *rapid.T) rotation.Requirement {
		r := rotation.Requirement{Key: customLabel, Operator: rapid.SampledFrom(operators).Draw(t, "operator")}
		number := rapid.Map(rapid.IntRange(0, 6), strconv.Itoa)
		switch r.Operator {
		case "In", "NotIn":
			r.Values = rapid.SliceOfN(number, 1, 4).Draw(t, "values")
		case "Gt", "Lt", "Gte", "Lte":
			r.Values = []string{number.Draw(t, "bound")}
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		claim := rapid.SliceOfN(demands, 1, 3).Draw(t, "claim")
		pool := rapid.SliceOfN(demands, 0, 3).Draw(t, "pool")
		got, err := replica(customLabel, claimDemands(claim...), poolDemands(pool...))
		if err != nil {
			t.Fatal(err)
		}
		both := slices.Concat(claim, pool)
		satisfiable := slices.ContainsFunc(numbers(), func(v int) bool { return meets(v, both) })
		if !satisfiable {
			return
		}
		if got.Departed != "" {
			t.Fatalf("%v and %v leave values, yet the pool's alone are taken: %v", claim, pool, got.Expressions)
		}
		for _, v := range numbers() {
			if meets(v, both) != podAdmits(v, got.Expressions) {
				t.Fatalf("%d: claim %v and pool %v became %v", v, claim, pool, got.Expressions)
			}
		}
	})
}

func numbers() []int { return []int{0, 1, 2, 3, 4, 5, 6, 7} }

// meets is the meaning of Karpenter's requirements on a label that is a number.
func meets(v int, requirements []rotation.Requirement) bool {
	for _, r := range requirements {
		if !compares(v, r.Operator, r.Values) {
			return false
		}
	}
	return true
}

// podAdmits is the meaning of a Pod's node affinity on a label that is a number.
func podAdmits(v int, expressions []corev1.NodeSelectorRequirement) bool {
	for _, e := range expressions {
		if !compares(v, string(e.Operator), e.Values) {
			return false
		}
	}
	return true
}

func compares(v int, operator string, values []string) bool {
	bound := 0
	if len(values) > 0 {
		bound, _ = strconv.Atoi(values[0])
	}
	switch operator {
	case "In":
		return slices.Contains(values, fmt.Sprint(v))
	case "NotIn":
		return !slices.Contains(values, fmt.Sprint(v))
	case "Gt":
		return v > bound
	case "Lt":
		return v < bound
	case "Gte":
		return v >= bound
	case "Lte":
		return v <= bound
	default:
		return true
	}
}
