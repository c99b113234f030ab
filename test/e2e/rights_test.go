// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/manifests"
)

var _ = Describe("A controller whose API server is too old to stream a list into a watch", func() {
	It("lists what it watches, and finds its candidate (§4.3)", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("listed", 1)
		s.stands(ctx, f)
		freeze(ctx, f.Name)
		s.controllerRunsIn(ctx, []string{"KUBE_FEATURE_WatchListClient=false"})
		s.governs(ctx, policyFor("listed"))
		Eventually(ctx, func() float64 { return s.reads(ctx, f, "noderotation_candidates") }).Should(Equal(1.0))
	}, SpecTimeout(patience))
})

// suiteLedger is the folder in which each process enters what is judged over the whole suite.
type suiteLedger string

// entry is what the controllers of one process asked for, and what came of their undisturbed rotations.
type entry struct {
	Needed    []audit.Grant
	Forbidden []string
	Undisturbed
}

// enter writes down the grants that the controller has used on this process's cluster, what it was refused, and its
// undisturbed rotations.
func (l suiteLedger) enter(log string, process int, rotations Undisturbed) {
	GinkgoHelper()
	asked, err := audit.Requests(log, manifests.User)
	Expect(err).NotTo(HaveOccurred())
	one := entry{Undisturbed: rotations}
	seen := map[audit.Grant]bool{}
	for _, request := range asked {
		if need := request.Needs(); !request.Forbidden() && !seen[need] {
			seen[need] = true
			one.Needed = append(one.Needed, need)
		}
		if request.Forbidden() {
			one.Forbidden = append(one.Forbidden, request.String()+": "+request.ResponseStatus.Message)
		}
	}
	content, err := json.Marshal(one)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(l.page(process), content, 0o600)).To(Succeed())
}

func (l suiteLedger) page(process int) string {
	return filepath.Join(string(l), fmt.Sprintf("process-%d.json", process))
}

// sum is what all processes have entered.
func (l suiteLedger) sum() (all entry) {
	GinkgoHelper()
	pages, err := filepath.Glob(filepath.Join(string(l), "process-*.json"))
	Expect(err).NotTo(HaveOccurred())
	for _, page := range pages {
		content, err := os.ReadFile(page)
		Expect(err).NotTo(HaveOccurred())
		var one entry
		Expect(json.Unmarshal(content, &one)).To(Succeed())
		all.Needed, all.Forbidden = append(all.Needed, one.Needed...), append(all.Forbidden, one.Forbidden...)
		all.Rotations, all.Rejected = all.Rotations+one.Rotations, append(all.Rejected, one.Rejected...)
	}
	return all
}

// judge holds that nothing was forbidden in any process, that few writes were rejected, and, over a whole suite, that every
// verb that the chart grants was used.
func (l suiteLedger) judge(whole bool) {
	GinkgoHelper()
	granted, err := audit.Granted(manifests.Installed())
	Expect(err).NotTo(HaveOccurred())
	all := l.sum()
	Expect(all.Forbidden).To(BeEmpty(), "what the API server forbade the controller (§4.3)")
	GinkgoWriter.Printf("of the writes of %d undisturbed rotations were rejected: %v\n", all.Rotations, all.Rejected)
	Expect(len(all.Rejected)).To(BeNumerically("<=", all.mostRejected()), "%v, in %d undisturbed rotations", all.Rejected, all.Rotations)
	unused := audit.Unused(granted, all.Needed)
	if !whole {
		GinkgoWriter.Printf("only a part of the suite ran, which did not use %v\n", unused)
		return
	}
	Expect(unused).To(BeEmpty(), "granted by the chart, and never used (§4.3): drop it, or add the scenario that needs it")
}

// wholeSuite tells whether nothing narrows what is run.
func wholeSuite() bool {
	suite, _ := GinkgoConfiguration()
	return len(suite.FocusStrings)+len(suite.SkipStrings)+len(suite.FocusFiles)+len(suite.SkipFiles) == 0 && suite.LabelFilter == ""
}
