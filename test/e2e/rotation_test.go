// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/audit"
)

var _ = Describe("A rotation", func() {
	It("replaces a node, its replacement first, in twelve writes (§5.2, §5.3)", func(ctx SpecContext) {
		s, one := begin(ctx), fleetOf("one", 1)
		s.stands(ctx, one)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("one"))
		s.rotatesOnce(ctx, one)

		recording := s.recording(ctx)
		ExpectSerial(recording, one)
		ExpectMakeBeforeBreak(recording, one, 1)
		ExpectBudgetNeverViolated(recording, one)
		ExpectNeverMoreThan(recording, one, 2)
		ExpectAllRotated(recording, one)
		ExpectNothingOfOursLeft(recording)
		ExpectNobodyProtected(recording)
		s.ExpectTransitions(one, "start", "drain", "drained")

		succeeded, rejected := s.writes()
		Expect(rejected).To(BeEmpty())
		Expect(asked(succeeded)).To(Equal(theTwelve))
	}, SpecTimeout(patience))

	DescribeTable("replaces a whole fleet, one node after the other, and never violates a budget (§3.3, §5.2)",
		func(ctx SpecContext, name string, endDelay time.Duration) {
			const nodes = 3
			s, f := begin(ctx), fleetOf(name, nodes, func(f *fleet) { f.Workload.EndDelay = endDelay })
			s.stands(ctx, f)
			s.controllerRuns(ctx)
			s.governs(ctx, policyFor(name))
			s.rotatesOnce(ctx, f)

			recording := s.recording(ctx)
			ExpectSerial(recording, f)
			ExpectMakeBeforeBreak(recording, f, nodes)
			ExpectBudgetNeverViolated(recording, f)
			ExpectNeverMoreThan(recording, f, nodes+1)
			ExpectAllRotated(recording, f)
			ExpectNothingOfOursLeft(recording)
			ExpectNobodyProtected(recording)
			s.ExpectWrites(nodes)
		},
		Entry("whose Pods end at once", "fast", time.Duration(0), SpecTimeout(patience)),
		Entry("whose Pods are slow to end", "slow", 10*time.Second, SpecTimeout(patience)),
	)
})

// theTwelve are the writes of one undisturbed rotation (architecture.md).
var theTwelve = []string{
	"patch nodepools",   // the anchor
	"patch nodeclaims",  // pending
	"patch nodes",       // the old node is protected and cordoned
	"create pods",       // the placeholder
	"patch nodeclaims",  // the surge's claim is noted
	"patch nodes",       // the new node is protected
	"patch nodepools",   // the mirror
	"patch nodeclaims",  // draining
	"delete nodeclaims", // the drain begins
	"delete pods",       // the room is handed over
	"patch nodes",       // the new node is let go
	"patch nodepools",   // the success is recorded and the anchor cleared
}

// asked are writes in the words of RBAC.
func asked(writes []audit.Record) []string {
	var words []string
	for _, write := range writes {
		words = append(words, write.Verb+" "+write.ObjectRef.Resource)
	}
	return words
}
