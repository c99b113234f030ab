// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
		var asked []string
		for _, write := range succeeded {
			asked = append(asked, write.Verb+" "+write.ObjectRef.Resource)
		}
		Expect(asked).To(Equal([]string{
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
		}))
		Expect(rejected).To(BeEmpty())
	}, SpecTimeout(patience))
})
