// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/audit"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
)

const (
	// rehearser is who runs dry: somebody whom no permission keeps from writing.
	rehearser = "rehearser"
	// rehearsalLease is what it holds.
	rehearsalLease = "noderotation-dry-run"
)

var _ = Describe("A dry run", func() {
	It("says what a controller would do, beside one that does it, and writes nothing but its lease", func(ctx SpecContext) {
		s, f := begin(ctx), fleetOf("dry", 1)
		s.stands(ctx, f)
		dry := s.rehearses(ctx)
		s.governs(ctx, policyFor("dry"))

		By("alone: a start, action by action, once, and nothing comes of it")
		start := []string{
			"patch NodePool dry: noderotation.io/active-rotation=", "patch NodeClaim " + f.Originals[0] + ": ",
			"patch Node ", "create Pod " + manifests.Namespace + "/", "announce RotationStarted: ",
		}
		s.saysWouldDo(ctx, start...)
		s.isPassedOver(ctx, dry, f)
		Expect(s.wouldDo("start")).To(HaveExactElements(beginnings(start)...), "said once")

		By("beside a controller that acts")
		s.controllerRuns(ctx)
		s.rotatesOnce(ctx, f)
		s.saysWouldDo(ctx, "delete NodeClaim "+f.Originals[0])
		Expect(dry.Stop()).To(Succeed())
		Expect(s.controller.Stop()).To(Succeed())

		recording := s.recording(ctx)
		ExpectOneByOne(recording, f)
		s.ExpectWrites(1)
		s.ExpectTransitions(f, "start", "drain", "drained")

		writes, err := audit.Of(shared.AuditLog(), rehearser, s.auditFrom)
		Expect(err).NotTo(HaveOccurred())
		Expect(writes).NotTo(BeEmpty())
		for _, write := range writes {
			Expect(write.ObjectRef.Resource).To(Equal("leases"), "%s", write)
			Expect(write.ObjectRef.Name).To(Or(Equal(rehearsalLease), BeEmpty()), "%s", write)
		}

		By("ending without a word of error")
		for _, log := range []string{s.logOf("dry"), s.log()} {
			Expect(errorsIn(log)).To(BeEmpty())
		}
	}, SpecTimeout(patience))
})

// rehearses starts a controller that runs dry.
func (s *scenario) rehearses(ctx context.Context) *process.Controller {
	GinkgoHelper()
	kubeconfig, err := shared.KubeconfigFor(rehearser, []string{"system:masters"})
	Expect(err).NotTo(HaveOccurred())
	controller, err := process.Start(ctx, process.Options{
		Binary: binary, Kubeconfig: kubeconfig, Namespace: manifests.Namespace, Log: s.logOf("dry"), LeaderElection: true,
		Flags: []string{"--dry-run"},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(controller.Kill)
	return controller
}

// saysWouldDo waits until the dry run has said these beginnings of actions, in this order.
func (s *scenario) saysWouldDo(ctx context.Context, actions ...string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		lines, err := process.Lines(s.logOf("dry"))
		g.Expect(err).NotTo(HaveOccurred())
		left := actions
		for _, line := range lines {
			if line.Message == "would do" && len(left) > 0 && strings.HasPrefix(line.Action, left[0]) {
				left = left[1:]
			}
		}
		g.Expect(left).To(BeEmpty(), "the dry run has not said yet")
	}).WithTimeout(30 * time.Second).WithPolling(200 * time.Millisecond).Should(Succeed())
}

// wouldDo are the actions of a row that the dry run has said so far.
func (s *scenario) wouldDo(row string) (actions []string) {
	GinkgoHelper()
	lines, err := process.Lines(s.logOf("dry"))
	Expect(err).NotTo(HaveOccurred())
	for _, line := range lines {
		if line.Message == "would do" && line.Row == row {
			actions = append(actions, line.Action)
		}
	}
	return actions
}

// beginnings match texts that begin like these.
func beginnings(prefixes []string) (matchers []any) {
	for _, prefix := range prefixes {
		matchers = append(matchers, HavePrefix("%s", prefix))
	}
	return matchers
}

// errorsIn are the lines of a log at the level of errors.
func errorsIn(log string) []process.Line {
	GinkgoHelper()
	lines, err := process.Lines(log)
	Expect(err).NotTo(HaveOccurred())
	var found []process.Line
	for _, line := range lines {
		if line.Level == "error" {
			found = append(found, line)
		}
	}
	return found
}
