// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
)

var _ = Describe("Loading a table (architecture.md, the laws a table must obey)", func() {
	It("takes the product's own, and finds a use for every guard and effect", func() {
		table, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
		Expect(err).NotTo(HaveOccurred())
		guards, effects := table.Unused()
		Expect(guards).To(BeEmpty())
		Expect(effects).To(BeEmpty())
	})

	DescribeTable("refuses one that breaks a law, and names law, row and line", func(is, becomes, law, row, at string) {
		text := string(noderotation.Transitions)
		Expect(strings.Count(text, is)).To(Equal(1), "the scenario edits one place of the table")
		edited := strings.Replace(text, is, becomes, 1)
		_, err := controller.LoadTable("mine.yaml", []byte(edited))

		var problems machine.Problems
		Expect(errors.As(err, &problems)).To(BeTrue(), "%v", err)
		before, _, _ := strings.Cut(edited, at)
		line := strings.Count(before, "\n") + 1
		Expect(problems).To(ContainElement(SatisfyAll(
			HaveField("Law", law), HaveField("Row", row), HaveField("Line", line))))
		Expect(err.Error()).To(SatisfyAll(ContainSubstring("mine.yaml"), ContainSubstring(law), ContainSubstring(row)))
	},
		Entry("the delete before the mirror", "mirror, mark_draining, delete,\n       delete_placeholder, announce_surge_wait", "mark_draining, delete, mirror,\n       delete_placeholder, announce_surge_wait",
			"mirror-before-delete", "drain", "do: [renew_anchor, freeze, cordon, record_surge_claim, freeze_host"),
		Entry("a drain without its surge", "when: [surge_ready, surge_settled]", "when: [in_window]", "surge-first", "drain", "when: [in_window]"),
		Entry("a pass that sleeps too long", "requeue: 1m\n  about: Nothing may start now", "requeue: 2m\n  about: Nothing may start now",
			"requeue", "rest", "requeue: 2m"))

	It("says everything that is wrong at once", func() {
		text := strings.NewReplacer("when: [surge_ready, surge_settled]", "when: [surge_redy]", "mark_released, record_failure, clear_anchor]", "mark_released, record_failure, clear_ancor]").
			Replace(string(noderotation.Transitions))
		_, err := controller.LoadTable("mine.yaml", []byte(text))
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring("surge_redy"), ContainSubstring("clear_ancor"))))
	})

	It("says it at once also of a table that cannot be read wholly: what is no YAML, of the wrong kind, or names nothing", func() {
		text := strings.NewReplacer(
			"  do: [anchor, mark_pending, freeze, cordon, placeholder, announce_started]\n  requeue: 30s", "  do: [anchor, mark_pending, freeze, cordon, placeholder, announce_started]\n  requeue: 30",
			"when: [claim_gone]\n  do: [delete_placeholder, unfreeze, announce_expired, clear_anchor]", "when: [claim_gone\n  do: [delete_placeholder, unfreeze, announce_expired, clear_anchor]",
			"in_window, not frozen, cooldown_elapsed, failure_pause_elapsed,\n         backoff_elapsed", "in_window, not frozn, cooldown_elapsed, failure_pause_elapsed,\n         backoff_elapsed",
			"to: expired\n  do: [delete_placeholder", "to: expird\n  do: [delete_placehold").Replace(string(noderotation.Transitions))
		_, err := controller.LoadTable("mine.yaml", []byte(text))
		var problems machine.Problems
		Expect(errors.As(err, &problems)).To(BeTrue(), "%v", err)
		Expect(problems).To(HaveExactElements(
			SatisfyAll(HaveField("Row", "start"), HaveField("Law", ""), HaveField("Message", ContainSubstring("the number 30"))),
			SatisfyAll(HaveField("Law", ""), HaveField("Message", ContainSubstring("this is not YAML"))),
			SatisfyAll(HaveField("Row", "retry"), HaveField("Law", "known-names"), HaveField("Message", ContainSubstring(`did you mean "frozen"?`))),
			SatisfyAll(HaveField("Row", "expired-release"), HaveField("Law", "known-names"), HaveField("Message", ContainSubstring(`no state "expird"`))),
			SatisfyAll(HaveField("Row", "expired-release"), HaveField("Law", "known-names"), HaveField("Message", ContainSubstring("delete_placehold"))),
		))
	})

	It("refuses what is no table, with the line", func() {
		_, err := controller.LoadTable("mine.yaml", []byte("initial: idle\nstaets: {}\n"))
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring("mine.yaml:2"), ContainSubstring("staets"))))
	})
})
