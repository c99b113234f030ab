// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine/diff"
)

func TestDiff(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "machine/diff: a door lock is changed")
}

// reads says that an edit is told in these lines.
func reads(lines []string, edits ...edit) {
	GinkgoHelper()
	Expect(strings.Split(said(compared(edits...)), "\n")).To(Equal(lines))
}

var _ = Describe("A change of the table", func() {
	It("that is none has nothing to tell", func() {
		reads([]string{"The meaning is the same."})
	})

	It("of what a row does is told once, in whichever states it fires, with the effects that came and went", func() {
		reads([]string{
			"The meaning changes in closed, open.",
			"",
			"What changes",
			"  lock: other effects",
			"    closed, open, whenever it fires",
			"      does throw_bolt, +oil, ring_bell",
			"",
			"Guards and effects",
			"  newly done: oil",
		}, edit{"do: [throw_bolt, ring_bell]", "do: [throw_bolt, oil, ring_bell]"})
	})

	It("of all that a row does is told as it was and as it is", func() {
		reads([]string{
			"The meaning changes in open.",
			"",
			"What changes",
			"  shut: other target, effects and requeue",
			"    open, whenever it fires",
			"      leads to locked, was closed",
			"      did pull",
			"      does throw_bolt, ring_bell",
			"      requeue 1m, was 30s",
			"",
			"Guards and effects",
			"  no longer done: pull",
			"",
			"Reach",
			"  lost ways: open → closed",
		}, edit{"to: closed\n  when: [not pushed]\n  do: [pull]\n  requeue: 30s", "to: locked\n  when: [not pushed]\n  do: [throw_bolt, ring_bell]\n  requeue: 1m"})
	})

	It("of several rows to the same end is told of all at once", func() {
		d := compared(edit{"to: locked\n  requeue: 1m", "to: locked\n  requeue: 20s"}, edit{"to: closed\n  requeue: 1m", "to: closed\n  requeue: 20s"})
		Expect(said(d)).To(ContainSubstring("\n  stay-locked, stay-closed: requeue 20s, was 1m"))
	})

	It("of the order is told by the cases that two rows both want, without what follows from the rest", func() {
		reads([]string{
			"The meaning changes in closed.",
			"",
			"What changes",
			"  push: other place in the order",
			"    closed, when somebody breaks in and there is no curfew: was break-in → open, now push → open, with other effects",
			"    closed, when the key is turned, the bolt runs freely, somebody pushes and there is no curfew: was lock → locked, now push → open",
		}, edit{row("push"), ""}, edit{"- id: break-in\n", row("push") + "- id: break-in\n"})
	})

	It("by a new row is one paragraph, whatever rows it takes the cases from", func() {
		reads([]string{
			"The meaning changes in closed.",
			"",
			"What changes",
			"  listen: a new row",
			"    closed, when somebody pushes, there is no curfew and whistled, unless an earlier row fires: was push → open, now listen → closed",
			"    closed, in each of these cases, unless an earlier row fires: was stay-closed → closed, now listen → closed, with other effects",
			"      when nobody pushes and whistled",
			"      when there is a curfew and whistled",
			"",
			"Guards and effects",
			"  newly asked: whistled",
		}, edit{"- id: push\n", "- id: listen\n  about: Drawn.\n  from: closed\n  event: whistle\n  to: closed\n  when: [whistled]\n  do: [ring_bell]\n  requeue: 1m\n- id: push\n"})
	})

	It("by a row that goes tells who takes its cases", func() {
		reads([]string{
			"The meaning changes in open.",
			"",
			"What changes",
			"  shut: the row is gone",
			"    open, wherever shut fired: was shut → closed, now stay-open → open",
			"",
			"Guards and effects",
			"  no longer done: pull",
			"",
			"Reach",
			"  lost ways: open → closed",
		}, edit{row("shut"), ""})
	})

	It("by a row in place of another is told once, with the row that is gone", func() {
		other := "- id: draw-shut\n  about: Drawn.\n  from: open\n  event: draw\n  to: locked\n  when: [not pushed, not forced]\n  requeue: 30s\n"
		Expect(said(compared(edit{row("shut"), other}))).To(SatisfyAll(
			ContainSubstring("  draw-shut: a new row; what comes of it is told with shut\n"),
			ContainSubstring("    open, wherever shut fired: was shut → closed, now draw-shut → locked"),
			Not(ContainSubstring("never fires"))))
	})

	It("of the guards tells only the cases that go elsewhere, and in which of them the row is not what it was", func() {
		reads([]string{
			"The meaning changes in locked.",
			"",
			"What changes",
			"  unlock: other guards",
			"    locked, when the key is turned and there is a curfew: was stay-locked → locked, now unlock → closed",
		}, edit{"when: [key_turned, not curfew]", "when: [key_turned]"})
	})

	It("of guards and effects of one row is one paragraph", func() {
		reads([]string{
			"The meaning changes in locked.",
			"",
			"What changes",
			"  unlock: other guards and effects",
			"    locked, where it fires as before",
			"      does draw_bolt, -ring_bell",
			"    locked, when the key is turned and there is a curfew: was stay-locked → locked, now unlock → closed",
		}, edit{"when: [key_turned, not curfew]\n  do: [draw_bolt, ring_bell]", "when: [key_turned]\n  do: [draw_bolt]"})
	})
})

var _ = Describe("A change that changes no case", func() {
	It("is said to be just that: renamed, reordered, asked otherwise, reworded", func() {
		d := compared(
			edit{"id: shut", "id: swing-shut"}, edit{"event: let_go", "event: released"},
			edit{row("unlock"), ""}, edit{"- id: break-in\n", row("unlock") + "- id: break-in\n"},
			edit{"when: [forced]", "when: [pushed, forced]"},
			edit{"One can walk through.", "It stands open."})
		Expect(d.Changed).To(BeFalse())
		Expect(strings.Split(said(d), "\n")).To(Equal([]string{
			"The meaning is the same.",
			"",
			"Names",
			"  shut is now called swing-shut; ids are public: logs, metrics and alerts name rows by them",
			"  the event of swing-shut is now called released, was let_go",
			"",
			"Same meaning",
			"  break-in asks other guards, and fires in the same cases",
			"  break-in stands elsewhere, and everything fires in the same cases",
			"  reworded: open",
		}))
	})

	It("is a name where another row of the same meaning fires", func() {
		d := compared(edit{"- id: stay-open\n", "- id: lean\n  about: Drawn.\n  from: open\n  event: lean\n  to: open\n  when: [curfew]\n  do: [ring_bell]\n  requeue: 1m\n- id: stay-open\n"})
		Expect(d.Changed).To(BeFalse())
		Expect(said(d)).To(ContainSubstring("Names\n  open, when there is a curfew, unless an earlier row fires: was stay-open → open, now lean → open"))
		Expect(json.Marshal(d.Edits)).To(ContainSubstring(`"changes":[]`))
	})

	It("tells a new row that never fires, and a row that can no longer", func() {
		never := "- id: never\n  about: Drawn.\n  from: open\n  event: never\n  to: open\n  when: [forced, key_turned]\n  requeue: 1m\n"
		d := compared(edit{"- id: stay-open\n", never + "- id: stay-open\n"})
		Expect(d.Changed).To(BeFalse())
		Expect(said(d)).To(SatisfyAll(
			ContainSubstring("never is a new row, and never fires"),
			ContainSubstring("new rows that can never fire: never"),
			ContainSubstring("The new table breaks a law and would be refused."),
			ContainSubstring("row never breaks law no-shadow")))

		d = compared(edit{"when: [pushed, not curfew]", "when: [pushed, forced]"})
		Expect(said(d)).To(ContainSubstring("rows that can no longer fire: push"))
	})
})

var _ = Describe("States", func() {
	It("that are called otherwise are one thing, not every row of theirs", func() {
		text := strings.NewReplacer("closed:", "ajar:", "to: closed", "to: ajar", "from: closed", "from: ajar", "closed,", "ajar,", "closed]", "ajar]").Replace(doorTable)
		d := diff.Compare(door("old.yaml", doorTable), door("new.yaml", text), nil)
		Expect(d.Changed).To(BeTrue())
		Expect(d.States.Renamed).To(Equal([]diff.Rename{{Old: "closed", New: "ajar"}}))
		Expect(strings.Split(said(d), "\n")).To(Equal([]string{
			"The meaning changes.", "", "States", "  closed is now called ajar: whatever holds the state must, too",
		}))
	})

	It("that come and go are named, with what can no longer be entered, and the laws that this breaks", func() {
		d := compared(
			edit{"  open:   {about: One can walk through.}", "  open:   {about: One can walk through.}\n  ajar:   {about: A chain holds it.}"},
			edit{"event: push\n  to: open", "event: push\n  to: ajar"},
			edit{"from: [locked, closed]", "from: ajar"})
		Expect(said(d)).To(SatisfyAll(
			ContainSubstring("States\n  ajar is new"),
			ContainSubstring("  break-in: other states\n"),
			ContainSubstring("    fires in ajar, which is new, and leads to open\n"),
			Not(ContainSubstring("to the same end")),
			ContainSubstring("lost ways: locked → open, closed → open"),
			ContainSubstring("row break-in breaks law total: it is the last row of state ajar"), // its guard leaves ajar without a row
			Not(ContainSubstring("states that can no longer be entered"))))
		Expect(d.Laws.Broken).To(HaveLen(1))

		d = compared(edit{"event: force\n  to: open", "event: force\n  to: locked"}, edit{"event: push\n  to: open", "event: push\n  to: closed"})
		Expect(said(d)).To(ContainSubstring("states that can no longer be entered: open"))
	})

	It("that only one of the tables has are told by the rows that fire there", func() {
		ajar := edit{"  open:   {about: One can walk through.}", "  open:   {about: One can walk through.}\n  ajar:   {about: A chain holds it.}"}
		chained := row("stay-open") + "- id: unchain\n  about: Drawn.\n  from: ajar\n  event: unchain\n  to: open\n  when: [pushed]\n  requeue: 1m\n" +
			"- id: never\n  about: Drawn.\n  from: ajar\n  event: never\n  to: open\n  when: [forced]\n  requeue: 1m\n" +
			"- id: stay-ajar\n  about: Drawn.\n  from: ajar\n  event: nothing\n  to: ajar\n  requeue: 1m\n"
		now := edited(ajar, edit{"from: [closed, open]", "from: [closed, open, ajar]"}, edit{row("stay-open"), chained})
		Expect(strings.Split(said(diff.Compare(door("old.yaml", doorTable), door("new.yaml", now), nil)), "\n")).To(Equal([]string{
			"The meaning changes.",
			"",
			"What changes",
			"  lock: other states",
			"    fires in ajar, which is new, and leads to locked",
			"  unchain: a new row",
			"    fires in ajar, which is new, and leads to open",
			"  stay-ajar: a new row",
			"    fires in ajar, which is new, and leads to ajar",
			"",
			"States",
			"  ajar is new",
			"",
			"Same meaning",
			"  never is a new row, and never fires",
			"",
			"Reach",
			"  new rows that can never fire: never",
		}))
		Expect(strings.Split(said(diff.Compare(door("old.yaml", now), door("new.yaml", doorTable), nil)), "\n")).To(Equal([]string{
			"The meaning changes.",
			"",
			"What changes",
			"  lock: other states",
			"    fired in ajar, which is gone, and led to locked",
			"  unchain: the row is gone",
			"    fired in ajar, which is gone, and led to open",
			"  stay-ajar: the row is gone",
			"    fired in ajar, which is gone, and led to ajar",
			"",
			"States",
			"  ajar is gone: nothing may be in it when the table changes",
			"",
			"Same meaning",
			"  never is gone, and never fired",
		}))
	})

	It("in which a machine begins are told", func() {
		Expect(said(compared(edit{"initial: locked", "initial: closed"}))).To(ContainSubstring("the initial state is closed, was locked"))
	})
})

var _ = Describe("Laws", func() {
	It("are told on either side, wherever the rows now stand", func() {
		long := edit{"to: locked\n  requeue: 1m", "to: locked\n  requeue: 2m"}
		longer := edit{"to: closed\n  requeue: 1m", "to: closed\n  requeue: 5m"}
		law := func(text, other string) diff.Laws {
			return diff.Compare(door("old.yaml", text), door("new.yaml", other), doorLaws()).Laws
		}
		laws := law(edited(long), "\n"+edited(long, longer))
		Expect(laws.Kept).To(HaveLen(1))
		Expect(laws.Broken).To(HaveLen(1))
		Expect(laws.Broken[0].String()).To(HavePrefix("new.yaml:50: row stay-closed breaks law requeue: "))
		Expect(law(edited(long), doorTable).Mended).To(HaveLen(1))
	})
})

var _ = Describe("A difference", func() {
	It("can be read by a program", func() {
		out, err := json.Marshal(compared(edit{"when: [key_turned, not curfew]", "when: [key_turned]"}))
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(MatchJSON(`{
			"old": "old.yaml", "new": "new.yaml", "changed": true,
			"states": {}, "guards": {}, "effects": {}, "reach": {}, "laws": {},
			"edits": [{"row": "unlock", "oldLine": 15, "newLine": 15, "what": ["when"], "cases": [{
				"states": ["locked"], "extent": "part", "changes": ["to", "do", "requeue"],
				"when": [["key_turned", "curfew"]],
				"old": {"row": "stay-locked", "event": "nothing", "to": "locked", "do": [], "requeue": "1m"},
				"new": {"row": "unlock", "event": "key", "to": "closed", "do": ["draw_bolt", "ring_bell"], "requeue": "30s"}
			}]}]
		}`))
	})

	It("can be put into a comment on a change", func() {
		var out strings.Builder
		Expect(compared(edit{"when: [key_turned, not curfew]", "when: [key_turned]"}).Markdown(&out)).To(Succeed())
		Expect(out.String()).To(Equal("`old.yaml` → `new.yaml`\n\n" +
			"**The meaning changes in `locked`.**\n\n" +
			"#### What changes\n\n" +
			"- `unlock`: other guards\n" +
			"  - `locked`, when the key is turned *and* there is a curfew: was `stay-locked` → `locked`, now `unlock` → `closed`\n"))
	})
})
