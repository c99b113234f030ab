// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/test/e2e/verdict"
)

var _ = Describe("Two pools under one policy", func() {
	It("rotate side by side, each serially, ten nodes within the bound on writes (§3.3; architecture.md, one pass)", func(ctx SpecContext) {
		const nodes = 5
		s := begin(ctx)
		left, right := fleetOf("left", nodes, withLargePods), fleetOf("right", nodes, withLargePods)
		s.stands(ctx, left)
		s.stands(ctx, right)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("both", func(spec *v1alpha1.RotationPolicySpec) {
			spec.NodePoolSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
				Key: labelFleet, Operator: metav1.LabelSelectorOpIn, Values: []string{"left", "right"},
			}}}
		}))
		s.rotatesOnce(ctx, left, right)

		recording := s.recording(ctx)
		Expect(verdict.SideBySide(recording, left.Name, right.Name)).To(BeTrue(), "both pools in a rotation at once")
		for _, f := range []*fleet{left, right} {
			ExpectOneByOne(recording, f)
			ExpectNeverMoreThan(recording, f, nodes+1)
		}
		s.ExpectWrites(2 * nodes)
	}, SpecTimeout(patience))
})
