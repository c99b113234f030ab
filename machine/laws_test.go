// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

const stayLocked = `- id: stay-locked
  from: locked
  event: nothing
  to: locked
  requeue: 1m
  about: Nobody came.
`

var _ = Describe("The generic laws (architecture: The laws a table must obey)", func() {
	It("find nothing wrong with the door", func() {
		_, err := compile(doorTable)
		Expect(err).NotTo(HaveOccurred())
	})

	It("have a name and a reason each", func() {
		var names []string
		for _, law := range genericLaws() {
			names = append(names, law.Name)
			Expect(law.Reason).NotTo(BeEmpty())
		}
		Expect(names).To(HaveExactElements("known-names", "total", "no-shadow", "reachable", "requeue"))
	})

	DescribeTable("refuse a table that breaks one, and say where and what to do",
		func(piece, other string, want ...string) {
			m, err := compile(with(piece, other))
			Expect(m).To(BeNil())
			Expect(messages(err)).To(Equal(want))
		},

		Entry("known-names: an initial state", "initial: locked", "initial: lockd",
			`door.yaml:1: the table breaks law known-names: initial names no state "lockd"; did you mean "locked"?`),
		Entry("known-names: a target state", "let-go\n  to: closed", "let-go\n  to: ajar",
			`door.yaml:45: row shut breaks law known-names: to names no state "ajar"; there are: locked, closed, open`),
		Entry("known-names: a source state", "[closed, open]", "[closed, open, ajar]",
			`door.yaml:22: row lock breaks law known-names: from names no state "ajar"; there are: locked, closed, open`),
		Entry("known-names: a guard", "[pushed, not curfew]", "[pushed, not cufrew]",
			`door.yaml:33: row push breaks law known-names: when names no guard "cufrew"; did you mean "curfew"?`),
		Entry("known-names: an effect", "[throw_bolt, ring_bell]", "[throw_bolt, whistle]",
			`door.yaml:26: row lock breaks law known-names: do names no effect "whistle"; there are: throw_bolt, draw_bolt, ring_bell`),
		Entry("known-names: an id twice", "- id: push", "- id: lock",
			`door.yaml:29: row lock breaks law known-names: line 21 has a row of the same id; give one of them another`),
		Entry("known-names: an event twice in a state", "event: let-go", "event: nothing",
			`door.yaml:51: row stay-open breaks law known-names: event nothing from state open is already that of row shut in line 42; name one of the two events differently`),

		Entry("total: a guarded last row", "  to: open\n  do: [ring_bell]", "  to: open\n  when: [jammed]\n  do: [ring_bell]",
			"door.yaml:53: row stay-open breaks law total: it is the last row of state open and is guarded, so a pass could find nothing to fire; end the state with a row without `when`"),
		Entry("total: a state without rows", "  open:   {about: One can walk through.}\n", "  open:   {about: One can walk through.}\n  ajar:   {about: Neither.}\n",
			"door.yaml:6: state ajar breaks law total: no row starts from it, so a pass would find nothing to fire; add one without `when`, or remove the state",
			"door.yaml:6: state ajar breaks law reachable: no sequence of rows leads from locked into it; add a row to it, or remove the state",
			"door.yaml:6: state ajar breaks law reachable: no sequence of rows leads from it back to locked; add a row that does"),

		Entry("no-shadow: a row behind an unguarded one", "  when: [not pushed]\n", "",
			"door.yaml:48: row stay-open breaks law no-shadow: it can never fire in state open, where lock or shut above it takes every case; move it up, guard what is above, or remove it"),
		Entry("no-shadow: a row whose cases are taken in part by each of two", "- id: push\n", `- id: barge
  from: closed
  event: barge
  to: open
  when: [not jammed, pushed]
  requeue: 30s
  about: In goes a shoulder.
- id: kick
  from: closed
  event: kick
  to: open
  when: [jammed, not key_turned]
  requeue: 30s
  about: In goes a foot.
- id: break-in
  from: closed
  event: break
  to: open
  when: [forced]
  requeue: 30s
  about: Being forced implies being pushed, and no key.
- id: push
`,
			"door.yaml:43: row break-in breaks law no-shadow: it can never fire in state closed, where barge or kick above it takes every case; move it up, guard what is above, or remove it"),
		Entry("no-shadow: a plain contradiction", "[key_turned, not jammed]", "[key_turned, jammed, not key_turned]",
			"door.yaml:25: row lock breaks law no-shadow: it can never fire, as its conditions contradict each other; remove one of them, or the row"),
		Entry("no-shadow: a declared contradiction", "[pushed, not curfew]", "[forced, not pushed]",
			"door.yaml:33: row push breaks law no-shadow: it can never fire, as its conditions contradict each other; remove one of them, or the row"),

		Entry("reachable: a state that nothing enters", "  to: open\n  when: [pushed", "  to: closed\n  when: [pushed",
			"door.yaml:5: state open breaks law reachable: no sequence of rows leads from locked into it; add a row to it, or remove the state"),

		Entry("requeue: left out", stayLocked, strings.Replace(stayLocked, "  requeue: 1m\n", "", 1),
			"door.yaml:15: row stay-locked breaks law requeue: it has no `requeue`; say how long the pass may sleep, at most 1m0s"),
		Entry("requeue: longer than the bound", stayLocked, strings.Replace(stayLocked, "1m", "61s", 1),
			"door.yaml:19: row stay-locked breaks law requeue: its requeue 1m1s is longer than 1m0s; shorten it"),
		Entry("requeue: zero", stayLocked, strings.Replace(stayLocked, "1m", "0s", 1),
			"door.yaml:19: row stay-locked breaks law requeue: its requeue 0s is not longer than zero; say how long the pass may sleep, at most 1m0s"),
		Entry("requeue: negative", stayLocked, strings.Replace(stayLocked, "1m", "-1s", 1),
			"door.yaml:19: row stay-locked breaks law requeue: its requeue -1s is not longer than zero; say how long the pass may sleep, at most 1m0s"),
	)
})

var _ = Describe("Law reachable and effects that return", func() {
	// In these doors locking up leaves the door where it is, in name.
	nameless := func() string {
		return with("  to: locked\n  when: [key_turned, not jammed]", "  to: open\n  when: [key_turned, not jammed]")
	}

	It("takes an effect that returns to the initial state for a way there", func() {
		_, err := compile(nameless())
		Expect(err).NotTo(HaveOccurred())
	})

	It("finds the states that lead nowhere without it", func() {
		_, err := compile(strings.Replace(nameless(), "[throw_bolt, ring_bell]", "[ring_bell]", 1))
		Expect(messages(err)).To(HaveExactElements(
			"door.yaml:4: state closed breaks law reachable: no sequence of rows leads from it back to locked; add a row that does",
			"door.yaml:5: state open breaks law reachable: no sequence of rows leads from it back to locked; add a row that does",
		))
	})
})

var _ = Describe("Compiling", func() {
	It("reports the breaches of all laws at once, in the order of their lines", func() {
		text := with("[throw_bolt, ring_bell]", "[throw_bolt, whistle]")
		text = strings.Replace(text, stayLocked, strings.Replace(stayLocked, "1m", "5m", 1), 1)
		text = strings.Replace(text, "  when: [not pushed]\n", "", 1)
		_, err := compile(text)
		Expect(messages(err)).To(HaveExactElements(
			ContainSubstring("door.yaml:19: row stay-locked breaks law requeue"),
			ContainSubstring("door.yaml:26: row lock breaks law known-names"),
			ContainSubstring("door.yaml:48: row stay-open breaks law no-shadow"),
		))
	})

	It("asks the laws that are handed to it, with what guards and effects declare", func() {
		quiet := machine.Law{Name: "quiet", Reason: "The neighbours sleep.", Check: func(m *machine.Model) []machine.Problem {
			var ps []machine.Problem
			for i := range m.Table().Rows {
				r := &m.Table().Rows[i]
				for _, name := range r.Do {
					if e, _ := m.Effect(name); e.Announces() && len(m.Writes(r)) == 0 {
						ps = append(ps, m.RowProblem(r, "it makes noise for nothing; let it"))
					}
				}
			}
			return append(ps, m.StateProblem("locked", "it is dark"))
		}}
		t, err := machine.Parse("door.yaml", []byte(doorTable))
		Expect(err).NotTo(HaveOccurred())
		_, err = machine.Compile(t, doorRegistry(), append(genericLaws(), quiet))
		Expect(messages(err)).To(HaveExactElements(
			"door.yaml:3: state locked breaks law quiet: it is dark",
			"door.yaml:49: row stay-open breaks law quiet: it makes noise for nothing; let it",
		))
	})

	It("shows laws every row, guard and effect", func() {
		m := door().Model()
		Expect(m.Table()).To(BeIdenticalTo(door().Table()))
		Expect(m.Guards()).To(HaveLen(5))
		Expect(m.Effects()).To(HaveLen(3))
		forced, ok := m.Guard("forced")
		Expect(ok).To(BeTrue())
		Expect(forced.Implies).To(HaveLen(2))
		_, ok = m.Effect("whistle")
		Expect(ok).To(BeFalse())

		lock := m.Rows("open")[0]
		Expect(lock.Does("throw_bolt")).To(BeTrue())
		Expect(lock.Does("draw_bolt")).To(BeFalse())
		Expect(lock.Has(machine.IsNot("jammed"))).To(BeTrue())
		Expect(lock.Has(machine.Is("jammed"))).To(BeFalse())
		Expect(lock.Leaves("open")).To(BeTrue())
		Expect(lock.Leaves("locked")).To(BeFalse())
		Expect(m.Writes(lock)).To(HaveExactElements(machine.Write{Effect: "throw_bolt", What: "bolt"}))
		Expect(m.Returns(lock)).To(BeTrue())
		Expect(m.Returns(m.Rows("locked")[0])).To(BeFalse())

		Expect(m.RowKeyProblem(lock, "do", "too loud").Error()).To(Equal("door.yaml:26: row lock: too loud"))
		Expect(m.RowKeyProblem(m.Rows("closed")[2], "do", "too quiet").Error()).To(
			Equal("door.yaml:36: row stay-closed: too quiet"), "a key that is absent has its row's line")
	})

	It("never runs without known-names, whatever laws it is handed", func() {
		t, err := machine.Parse("door.yaml", []byte(with("event: let-go", "event: nothing")))
		Expect(err).NotTo(HaveOccurred())
		_, err = machine.Compile(t, doorRegistry(), nil)
		Expect(messages(err)).To(HaveExactElements(ContainSubstring("row stay-open breaks law known-names")))
	})

	It("takes the bound of requeue from its options", func() {
		t, err := machine.Parse("door.yaml", []byte(doorTable))
		Expect(err).NotTo(HaveOccurred())
		_, err = machine.Compile(t, doorRegistry(), machine.GenericLaws(machine.Options{Bound: time.Hour}))
		Expect(err).NotTo(HaveOccurred())
	})

	It("knows what it was made of", func() {
		m := door()
		Expect(m.Table().Row("unlock").To).To(Equal("closed"))
		Expect(m.Registry().Guards()).To(HaveLen(5))
		Expect(m.Model().Rows("open")).To(HaveLen(3))
		Expect(m.Laws()).To(HaveLen(5))
	})

	It("does not list more names than help", func() {
		var many []machine.Effect[Door, Motion]
		for _, e := range doorEffects() {
			for _, room := range []string{"", "_hall", "_attic"} {
				e.Name += room
				many = append(many, e)
			}
		}
		r, err := machine.NewRegistry(doorGuards(), many)
		Expect(err).NotTo(HaveOccurred())
		t, err := machine.Parse("door.yaml", []byte(with("[throw_bolt, ring_bell]", "[throw_bolt, whistle]")))
		Expect(err).NotTo(HaveOccurred())
		_, err = machine.Compile(t, r, nil)
		Expect(messages(err)).To(HaveExactElements(
			`door.yaml:26: row lock breaks law known-names: do names no effect "whistle"; correct the name, or register it`))
	})

	It("lists unused names and repetitions as warnings, not errors", func() {
		m, err := compile(with("[key_turned, not jammed]", "[key_turned, key_turned]"))
		Expect(err).NotTo(HaveOccurred())
		guards, effects := m.Unused()
		Expect(guards).To(Equal([]string{"jammed", "forced"}))
		Expect(effects).To(BeEmpty())
		Expect(messages(m.Warnings())).To(HaveExactElements(
			"door.yaml: no row asks guard jammed; is that meant?",
			"door.yaml: no row asks guard forced; is that meant?",
			"door.yaml:25: row lock: it asks key_turned twice; once is enough",
		))
		m, err = compile(with("[draw_bolt, ring_bell]", "[]"))
		Expect(err).NotTo(HaveOccurred())
		Expect(messages(m.Warnings())).To(ContainElement("door.yaml: no row has effect draw_bolt; is that meant?"))
		m, err = compile(with("[throw_bolt, ring_bell]", "[throw_bolt, throw_bolt]"))
		Expect(err).NotTo(HaveOccurred())
		Expect(messages(m.Warnings())).To(ContainElement(
			"door.yaml:26: row lock: it has effect throw_bolt twice; effects are idempotent, so once is enough"))
	})
})
