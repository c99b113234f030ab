// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

// readDoor reads a table with the door's guards and effects in mind.
func readDoor(text string) (*machine.Table, error) {
	return machine.Read("door.yaml", []byte(text), doorRegistry().GuardDecls(), doorRegistry().EffectDecls())
}

var _ = Describe("Reading a table of which something cannot be read (architecture: all errors at once)", func() {
	It("tells what is no YAML, what is of the wrong kind and what names nothing in one answer, in the order of lines", func() {
		text := strings.NewReplacer(
			"initial: locked", "initial: lokced",
			"requeue: 30s\n  about: Who has the key may enter", "requeue: 30\n  about: Who has the key may enter",
			"when: [key_turned, not jammed]", "when: [key_turned, not jamed]",
			"when: [pushed, not curfew]", "when: [pushed, not curfew",
			"to: closed\n  when: [not pushed]", "to: ajar\n  when: [not pushed]",
			"do: [ring_bell]\n  requeue: 1m", "do: [ring_bel]\n  requeue: 1m",
		).Replace(doorTable)
		_, err := readDoor(text)
		Expect(messages(err)).To(HaveExactElements(
			`door.yaml:1: the table breaks law known-names: initial names no state "lokced"; did you mean "locked"?`,
			`door.yaml:13: row unlock: requeue is the number 30; write a duration with its unit, such as 30s or 1m`,
			`door.yaml:25: row lock breaks law known-names: when names no guard "jamed"; did you mean "jammed"?`,
			`door.yaml:32: this is not YAML: did not find expected ',' or ']'; correct it at or near this line`,
			`door.yaml:45: row shut breaks law known-names: to names no state "ajar"; there are: locked, closed, open`,
			`door.yaml:53: row stay-open breaks law known-names: do names no effect "ring_bel"; did you mean "ring_bell"?`,
		))
	})

	It("returns a table that can be read, whatever it names", func() {
		t, err := readDoor(with("[pushed, not curfew]", "[pushed, not cufrew]"))
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Row("push").When).To(ContainElement(machine.IsNot("cufrew")))
	})

	It("finds ids and events that are taken", func() {
		text := strings.NewReplacer("requeue: 30s\n  about: Somebody", "requeue: soon\n  about: Somebody",
			"- id: push", "- id: lock", "event: let-go", "event: nothing").Replace(doorTable)
		_, err := readDoor(text)
		Expect(messages(err)).To(HaveExactElements(
			`door.yaml:29: row lock breaks law known-names: line 21 has a row of the same id; give one of them another`,
			`door.yaml:34: row lock: requeue is "soon"; write a duration with its unit, such as 30s or 1m`,
			`door.yaml:51: row stay-open breaks law known-names: event nothing from state open is already that of row shut in line 42; name one of the two events differently`,
		))
	})

	It("calls a row whose id cannot be read by its place, also where a row before it is no YAML", func() {
		text := strings.NewReplacer("when: [key_turned, not curfew]", "when: [key_turned, not curfew", "- id: lock\n", "- id: Lock\n",
			"[throw_bolt, ring_bell]", "[throw_blot, ring_bell]").Replace(doorTable)
		_, err := readDoor(text)
		Expect(messages(err)).To(HaveExactElements(
			`door.yaml:10: this is not YAML: did not find expected ',' or ']'; correct it at or near this line`,
			`door.yaml:21: row #3: id: "Lock" is no name; begin with a small letter and go on with small letters, digits, - and _`,
			`door.yaml:26: row #3 breaks law known-names: do names no effect "throw_blot"; did you mean "throw_bolt"?`,
		))
	})

	It("tells every piece that is no YAML", func() {
		text := strings.NewReplacer("when: [key_turned, not curfew]", "when: [key_turned, not curfew",
			"about: Somebody stands in it.", `about: "Somebody stands in it.`).Replace(doorTable)
		_, err := readDoor(text)
		Expect(messages(err)).To(HaveExactElements(
			HavePrefix("door.yaml:10: this is not YAML: "), HavePrefix("door.yaml:55: this is not YAML: ")))
	})

	It("tells of a piece that is no YAML in a line of its own, not in the row before", func() {
		_, err := readDoor(with("- id: push\n  from: closed", "- {id: push\n  from: closed"))
		Expect(messages(err)).To(HaveExactElements(HavePrefix("door.yaml:29: this is not YAML: ")))
	})

	DescribeTable("tells a mistake once, and nothing that only follows from it",
		func(piece, other string, want ...string) {
			_, err := readDoor(with(piece, other))
			Expect(messages(err)).To(Equal(want))
		},
		Entry("a state whose name cannot be read is no unknown state", "  closed: {", "  Closed: {",
			`door.yaml:4: a state: "Closed" is no name; begin with a small letter and go on with small letters, digits, - and _`),
		Entry("states under another key", "states:", "stats:",
			`door.yaml:1: key "states" is missing; a table needs it`,
			`door.yaml:2: unknown key "stats"; the keys of a table are initial, states and transitions`),
		Entry("states that are no YAML", "  closed: {about: The bolt is in and the door stands in its frame.}", "  closed: {about: The bolt is in",
			`door.yaml:3: this is not YAML: did not find expected ',' or '}'; correct it at or near this line`),
		Entry("an initial state that is no YAML", "initial: locked", "initial: [locked",
			`door.yaml:1: this is not YAML: did not find expected ',' or ']'; correct it at or near this line`),
		Entry("an initial state that is no name", "initial: locked", "initial: Locked",
			`door.yaml:1: initial: "Locked" is no name; begin with a small letter and go on with small letters, digits, - and _`),
		Entry("a state that a row cannot be read to begin in", "[closed, open]", "[Closed, open]",
			`door.yaml:22: row lock: from: "Closed" is no name; begin with a small letter and go on with small letters, digits, - and _`),
		Entry("a row that is text", stayLocked, "- stay-locked\n",
			`door.yaml:15: row #2: a row is "stay-locked"; write it with the keys id, from, event, to, when, do, requeue and about`),
		Entry("a row without id, event and to", "- id: shut\n  from: open\n  event: let-go\n  to: closed\n", "- from: open\n",
			`door.yaml:42: row #6: key "id" is missing; a row needs it`,
			`door.yaml:42: row #6: key "event" is missing; a row needs it`,
			`door.yaml:42: row #6: key "to" is missing; a row needs it`),
		Entry("an event of several lines", "event: push\n", "event: \"a\\nb\"\n",
			`door.yaml:31: row push: event has several lines; say it in one`),
		Entry("a guard and an effect of no form", "[throw_bolt, ring_bell]", "[throw-bolt, ring_bell]",
			`door.yaml:26: row lock: do: "throw-bolt" is no effect's name; write a snake_case name`),
		Entry("the only row that leads out of a state", "  when: [pushed, not curfew]\n", "  when: pushed\n",
			`door.yaml:33: row push: when is "pushed"; write a list of guards; leave the key out if the row always holds`),
		Entry("an event that is a number", "  event: nothing\n  to: locked\n", "  event: 1\n  to: locked\n",
			`door.yaml:17: row stay-locked: event is the number 1; write text`),
	)

	DescribeTable("holds two rows of which something cannot be read for no two of one kind",
		func(edits ...string) {
			_, err := readDoor(strings.NewReplacer(edits...).Replace(doorTable))
			Expect(messages(err)).To(HaveExactElements(Not(ContainSubstring("known-names")), Not(ContainSubstring("known-names"))))
		},
		Entry("ids", "- id: lock\n", "- id: Lock\n", "- id: push", "- id: Push"),
		Entry("events", "event: let-go", "event: 1", "event: nothing\n  to: open", "event: 2\n  to: open"),
		Entry("events of several lines", "event: let-go", `event: "a\nb"`, "event: nothing\n  to: open", `event: "a\nb"`+"\n  to: open"),
		Entry("the states that they begin in", "from: locked\n  event: nothing", "from: Locked\n  event: nothing", "from: open\n  event: nothing", "from: Open\n  event: nothing"),
	)

	It("calls the row that has an event already by its place, where its id cannot be read", func() {
		_, err := readDoor(strings.NewReplacer("- id: shut", "- id: Shut", "event: let-go", "event: nothing").Replace(doorTable))
		Expect(messages(err)).To(HaveExactElements(HavePrefix("door.yaml:42: row #6: id: "),
			`door.yaml:51: row stay-open breaks law known-names: event nothing from state open is already that of row #6 in line 42; name one of the two events differently`))
	})

	It("tells only that it is no YAML of a file that has no pieces", func() {
		_, err := readDoor("{initial: locked,\n states: {locked: {about: It is.}},\n transitions: [{id: stay, when: [nobody]]\n")
		Expect(messages(err)).To(HaveExactElements(HavePrefix("door.yaml:2: this is not YAML: ")))
	})

	It("tells no more than the first mistake where what is left without the broken pieces is no YAML either", func() {
		_, err := readDoor("version: [2\n" + with("when: [key_turned, not curfew]", "when: [key_turned, not curfew"))
		Expect(messages(err)).To(HaveExactElements(HavePrefix("door.yaml:1: this is not YAML: ")))
	})
})
