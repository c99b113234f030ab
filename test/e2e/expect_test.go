// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

const (
	// mostWrites is how many writes one undisturbed rotation may take (architecture.md).
	mostWrites = 12
	// rotationsPerRejection is how many undisturbed rotations there are at least to each write that is rejected.
	rotationsPerRejection = 10
)

// Undisturbed rotations of several scenarios, and those of their writes that were rejected.
type Undisturbed struct {
	Rotations int
	Rejected  []string
}

// mostRejected is how many writes may have been rejected in all.
func (u Undisturbed) mostRejected() int {
	return (u.Rotations + rotationsPerRejection - 1) / rotationsPerRejection
}

// ExpectSerial holds that the pool never had two rotations, or two nodes on their way out, at once.
func ExpectSerial(recording record.Recording, f *fleet) {
	GinkgoHelper()
	Expect(verdict.Serial(recording, f.Name)).To(BeEmpty(), "serial")
}

// ExpectMakeBeforeBreak holds that each of n drains began with its surge standing and holding the room.
func ExpectMakeBeforeBreak(recording record.Recording, f *fleet, n int) {
	GinkgoHelper()
	replaced, breaches := verdict.MakeBeforeBreak(recording, f.Name)
	Expect(breaches).To(BeEmpty(), "make before break")
	Expect(replaced).To(Equal(n), "drains judged")
}

// ExpectBudgetNeverViolated holds that after no event were fewer Pods Ready than the fleet's PodDisruptionBudget asks for.
func ExpectBudgetNeverViolated(recording record.Recording, f *fleet) {
	GinkgoHelper()
	Expect(verdict.BudgetKept(recording, f.budget(), int(f.Workload.Replicas))).To(BeEmpty(), "budget")
}

// ExpectNeverMoreThan holds that the pool had at most n Nodes, and n NodeClaims, at every instant.
func ExpectNeverMoreThan(recording record.Recording, f *fleet, n int) {
	GinkgoHelper()
	Expect(verdict.NeverMoreThan(recording, f.Name, n)).To(BeEmpty(), "bound")
}

// ExpectAllRotated holds that every original was rotated, once, and nothing else.
func ExpectAllRotated(recording record.Recording, f *fleet) {
	GinkgoHelper()
	Expect(verdict.Rotated(recording, f.Name, f.Originals...)).To(BeEmpty(), "rotated")
}

// ExpectOneByOne holds that the originals of the fleet were replaced, one after the other, replacement first, with success and
// within the budget, and that nothing is left of it.
func ExpectOneByOne(recording record.Recording, f *fleet) {
	GinkgoHelper()
	ExpectSerial(recording, f)
	ExpectMakeBeforeBreak(recording, f, len(f.Originals))
	ExpectBudgetNeverViolated(recording, f)
	ExpectAllRotated(recording, f)
	ExpectEndings(recording, f, slices.Repeat([]verdict.Outcome{verdict.Success}, len(f.Originals))...)
	ExpectNothingOfOursLeft(recording)
	ExpectNobodyProtected(recording)
}

// ExpectNothingOfOursLeft holds that no marker, placeholder or anchor stands anywhere.
func ExpectNothingOfOursLeft(recording record.Recording) {
	GinkgoHelper()
	end := recording.End()
	Expect(verdict.Leftovers(end)).To(BeEmpty(), "leftovers")
}

// ExpectNobodyProtected holds that no Node is protected or cordoned: not by us, and in this scenario by nobody else.
func ExpectNobodyProtected(recording record.Recording) {
	GinkgoHelper()
	protected, cordoned := verdict.Protected(recording.End())
	Expect(protected).To(BeEmpty(), "protected Nodes")
	Expect(cordoned).To(BeEmpty(), "cordoned Nodes")
}

// ExpectTransitions holds that the pool's rotation changed its state by these rows, in this order, and by no others.
func (s *scenario) ExpectTransitions(f *fleet, rows ...string) {
	GinkgoHelper()
	transitions, err := process.Transitions(s.log())
	Expect(err).NotTo(HaveOccurred())
	var fired []string
	for _, transition := range transitions {
		if transition.NodePool == f.Name && transition.From != transition.To {
			fired = append(fired, transition.Row)
		}
	}
	Expect(fired).To(Equal(rows))
}

// writes are the rotation's writes that the API server was asked for in this scenario, by what came of them.
func (s *scenario) writes() (succeeded, rejected []audit.Record) {
	GinkgoHelper()
	all, err := audit.Of(shared.AuditLog(), manifests.User, s.auditFrom)
	Expect(err).NotTo(HaveOccurred())
	for _, record := range all {
		switch {
		case record.Forbidden():
			Fail("RBAC refused: " + record.String())
		case !record.Counts():
		case record.Succeeded():
			succeeded = append(succeeded, record)
		default:
			rejected = append(rejected, record)
		}
	}
	return succeeded, rejected
}

// ExpectWrites holds that n undisturbed rotations took at most 12 writes each. How many others were rejected is judged over
// the whole suite: in few rotations one is chance.
func (s *scenario) ExpectWrites(rotations int) {
	GinkgoHelper()
	succeeded, rejected := s.writes()
	undisturbed.Rotations += rotations
	for _, record := range rejected {
		undisturbed.Rejected = append(undisturbed.Rejected, record.String())
	}
	Expect(len(succeeded)).To(BeNumerically("<=", mostWrites*rotations), "%v", succeeded)
}
