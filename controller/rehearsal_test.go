// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// rehearsing has the leader rehearse from now on, without hands, and returns what it logs: line by line, each as JSON.
func (w *world) rehearsing() (logged func() []string) {
	var lines []string
	p := w.leader
	p.ctx = log.IntoContext(p.ctx, funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
	p.reconciler.Applier, p.reconciler.Sweep = nil, nil
	p.reconciler.Rehearsal = controller.NewRehearsal()
	return func() []string {
		said := slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, `"msg":"would do`) })
		lines = nil
		return said
	}
}

var _ = Describe("A rehearsal (controller --dry-run)", func() {
	It("logs each action that a pass would take, with its row and its reason, and takes none", func() {
		w := aFleet()
		said := w.rehearsing()
		w.pass("api")
		lines := said()
		for i, action := range []string{
			"patch NodePool api: ", "patch NodeClaim old: ", "patch Node old: ", "create Pod " + namespace + "/surge-for-old", "announce RotationStarted: ",
		} {
			Expect(lines[i]).To(SatisfyAll(ContainSubstring(`"action":"`+action), ContainSubstring(`"row":"start"`), ContainSubstring(`"claim":"old"`)))
		}
		Expect(lines).To(HaveLen(5))
		Expect(w.server.writes).To(BeEmpty())
		Expect(w.shown()["NodePool api"]).To(BeEmpty())
		Expect(w.leader.people.heard()).To(BeEmpty())
	})

	It("says it again only when it would do something else, and never builds on what it did not do", func() {
		w := aFleet()
		said := w.rehearsing()
		w.pass("api")
		Expect(said()).To(HaveLen(5))
		for range 5 {
			w.clock.Step(20 * time.Minute)
			w.pass("api")
		}
		Expect(said()).To(BeEmpty(), "the rotation that nobody has started would still start, under later stamps")

		w.theOperatorAnnotates("api", rotation.KeyFreeze, "2026-02-01T00:00:00Z")
		w.pass("api")
		w.clock.Step(time.Minute)
		w.pass("api")
		Expect(said()).To(HaveExactElements(SatisfyAll(
			ContainSubstring("would do nothing"), ContainSubstring(`"why":"start waits for not frozen: NodePool api is frozen until`))))
	})

	It("follows a controller that acts", func() {
		w := aFleet()
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		said := w.rehearsing()
		w.pass("api")
		Expect(said()).To(ContainElement(SatisfyAll(ContainSubstring(`"row":"drain"`), ContainSubstring(`"action":"delete NodeClaim old"`))))
	})

	It("lets go of a pool that is gone, and sweeps nothing", func() {
		w := aFleet()
		w.pass("api")
		w.server.wrote()
		said := w.rehearsing()
		Expect(w.server.hand.Delete(w.ctx, w.pool("api"))).To(Succeed())
		w.pass("api")
		Expect(said()).To(BeEmpty())
		Expect(w.placeholder("old")).NotTo(BeNil())
	})
})
