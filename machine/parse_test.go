// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

var _ = Describe("Reading a table (architecture: transitions.yaml)", func() {
	It("keeps everything in file order, with lines", func() {
		t, err := machine.Parse("door.yaml", []byte(doorTable))
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Name).To(Equal("door.yaml"))
		Expect(t.Initial).To(Equal("locked"))
		Expect(t.StateNames()).To(Equal([]string{"locked", "closed", "open"}))
		Expect(t.States[2]).To(Equal(machine.State{Name: "open", About: "One can walk through.", Line: 5}))

		unlock := t.Row("unlock")
		Expect(unlock).To(BeIdenticalTo(&t.Rows[0]))
		Expect(unlock.From).To(Equal([]string{"locked"}))
		Expect(unlock.When).To(Equal([]machine.Condition{machine.Is("key_turned"), machine.IsNot("curfew")}))
		Expect(unlock.Do).To(Equal([]string{"draw_bolt", "ring_bell"}))
		Expect(unlock.Requeue).To(Equal(30 * time.Second))
		Expect(unlock.Line).To(Equal(7))
		Expect(unlock.LineOf("when")).To(Equal(11))
		Expect(unlock.String()).To(Equal("unlock: locked → closed on key"))
		Expect(t.Row("nobody")).To(BeNil())

		Expect(t.Row("lock").From).To(Equal([]string{"closed", "open"}))
		Expect(t.Row("stay-locked").When).To(BeEmpty())
		Expect(t.RowsFrom("open")).To(HaveExactElements(t.Row("lock"), t.Row("shut"), t.Row("stay-open")))
	})

	It("reads a `from` of one state and a list of it alike", func() {
		t, err := machine.Parse("door.yaml", []byte(with("from: locked\n  event: key", "from: [locked]\n  event: key")))
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Row("unlock").From).To(Equal([]string{"locked"}))
	})

	DescribeTable("is strict: a mistake is a sentence with its line",
		func(piece, other string, want ...string) {
			_, err := machine.Parse("door.yaml", []byte(with(piece, other)))
			Expect(messages(err)).To(Equal(want))
		},
		Entry("an unknown key of a row", "  when: [key_turned, not curfew]", "  whne: [key_turned, not curfew]",
			`door.yaml:11: row unlock: unknown key "whne"; the keys of a row are id, from, event, to, when, do, requeue and about`),
		Entry("an unknown key of a state", "{about: The bolt is out.}", "{about: The bolt is out., colour: red}",
			`door.yaml:3: state locked: unknown key "colour"; the keys of a state are about`),
		Entry("an unknown key of the table", "initial: locked", "version: 2\ninitial: locked",
			`door.yaml:1: unknown key "version"; the keys of a table are initial, states and transitions`),
		Entry("a repeated key", "  to: closed\n", "  to: closed\n  to: open\n",
			`door.yaml:11: row unlock: key "to" is already in line 10; remove one`),
		Entry("a repeated state", "  open:   {", "  locked: {",
			`door.yaml:5: state locked is already in line 3; rename or remove one`),
		Entry("a missing id", "- id: unlock\n  from", "- from",
			`door.yaml:7: row #1: key "id" is missing; a row needs it`),
		Entry("a missing from", "  from: locked\n  event: key", "  event: key",
			`door.yaml:7: row unlock: key "from" is missing; a row needs it`),
		Entry("a missing event", "  event: key\n  to: closed", "  to: closed",
			`door.yaml:7: row unlock: key "event" is missing; a row needs it`),
		Entry("a missing to", "  to: closed\n  when", "  when",
			`door.yaml:7: row unlock: key "to" is missing; a row needs it`),
		Entry("a missing about of a row", "  about: Who has the key may enter, but not at night.\n", "",
			`door.yaml:7: row unlock: key "about" is missing; a row needs it`),
		Entry("a missing about of a state", "{about: The bolt is out.}", "{}",
			`door.yaml:3: state locked: key "about" is missing; a state needs it`),
		Entry("an empty about", "{about: The bolt is out.}", `{about: " "}`,
			`door.yaml:3: state locked: about is empty; write a few words`),
		Entry("an about of several lines", "  about: Nobody came.\n- id: lock", "  about: |\n    Nobody\n    came.\n- id: lock",
			`door.yaml:20: row stay-locked: about has several lines; say it in one`),
		Entry("a missing initial", "initial: locked\n", "",
			`door.yaml:1: key "initial" is missing; a table needs it`),
		Entry("a state that is no mapping", "{about: The bolt is out.}", "out",
			`door.yaml:3: state locked: a state is "out"; write it with the keys about`),
		Entry("a guard expression", "[key_turned, not curfew]", "[key_turned && !curfew]",
			`door.yaml:11: row unlock: when: "key_turned && !curfew" is no condition: write a guard's snake_case name, or "not" and the name; deeper logic is a guard of its own`),
		Entry("a nested guard", "[key_turned, not curfew]", "[{any: [key_turned, curfew]}]",
			`door.yaml:11: row unlock: when is a mapping; write text`),
		Entry("a lone not", "[key_turned, not curfew]", "[key_turned, not]",
			`door.yaml:11: row unlock: when: "not" is no condition: write a guard's snake_case name, or "not" and the name; deeper logic is a guard of its own`),
		Entry("a when that is no list", "[key_turned, not curfew]", "key_turned",
			`door.yaml:11: row unlock: when is "key_turned"; write a list of guards; leave the key out if the row always holds`),
		Entry("a when left empty", "  when: [key_turned, not curfew]", "  when:",
			`door.yaml:11: row unlock: when is left empty; write a list of guards; leave the key out if the row always holds`),
		Entry("an effect of no snake_case", "[draw_bolt, ring_bell]", "[draw-bolt, ring_bell]",
			`door.yaml:12: row unlock: do: "draw-bolt" is no effect's name; write a snake_case name`),
		Entry("a do that is no list", "[draw_bolt, ring_bell]", "draw_bolt",
			`door.yaml:12: row unlock: do is "draw_bolt"; write a list of effects; leave the key out if the row does nothing`),
		Entry("a requeue without unit", "requeue: 30s", "requeue: 30",
			`door.yaml:13: row unlock: requeue is the number 30; write a duration with its unit, such as 30s or 1m`),
		Entry("a requeue that is a list", "requeue: 30s", "requeue: [30s]",
			`door.yaml:13: row unlock: requeue is a list; write a duration with its unit, such as 30s or 1m`),
		Entry("an event that is no text", "event: key", "event: true",
			`door.yaml:9: row unlock: event is the truth value true; write text`),
		Entry("a state's name with a capital", "  to: closed\n  when", "  to: Closed\n  when",
			`door.yaml:10: row unlock: to: "Closed" is no name; begin with a small letter and go on with small letters, digits, - and _`),
		Entry("an id with a blank", "- id: unlock", "- id: un lock",
			`door.yaml:7: row #1: id: "un lock" is no name; begin with a small letter and go on with small letters, digits, - and _`),
		Entry("a state twice in from", "[closed, open]", "[closed, closed]",
			`door.yaml:22: row lock: from names closed twice; remove one`),
		Entry("an empty from", "[closed, open]", "[]",
			`door.yaml:22: row lock: from is an empty list; name the states in which the row is tried`),
		Entry("an alias", "initial: locked\nstates:", "initial: &l locked\nstates: *l\nstate:",
			"door.yaml:2: states is a YAML alias, which hides what the row says from its reader; write each state's name, a colon, and {about: …}",
			`door.yaml:3: unknown key "state"; the keys of a table are initial, states and transitions`),
		Entry("a second document", "  about: Somebody stands in it.\n", "  about: Somebody stands in it.\n---\nmore: true\n",
			`door.yaml:56: a second YAML document begins; keep one table in a file`),
		Entry("a second document that is none", "  about: Somebody stands in it.\n", "  about: Somebody stands in it.\n---\n{ more\n",
			`door.yaml:56: this is not YAML: did not find expected ',' or '}'; correct it at or near this line`),
		Entry("a tab for indentation", "  event: key", "\tevent: key",
			`door.yaml:8: this is not YAML: found a tab character that violates indentation; correct it at or near this line`),
	)

	DescribeTable("says what a table is, to who hands it none",
		func(text, message string) {
			_, err := machine.Parse("door.yaml", []byte(text))
			Expect(messages(err)).To(Equal(strings.Split(message, "\n")))
		},
		Entry("nothing", "", "door.yaml: the file is empty; write a table with the keys initial, states and transitions"),
		Entry("a comment", "# later\n", "door.yaml: the file is empty; write a table with the keys initial, states and transitions"),
		Entry("a list", "- a\n", "door.yaml:1: a table is a list; write it with the keys initial, states and transitions"),
		Entry("empty lists", "initial: a\nstates: {}\ntransitions: []\n",
			"door.yaml:2: states is an empty mapping; write each state's name, a colon, and {about: …}\n"+
				"door.yaml:3: transitions is an empty list; write a list of rows, each beginning with - id:"),
		Entry("rows by name", "initial: a\nstates: {a: {about: A.}}\ntransitions: {go: {}}\n",
			"door.yaml:3: transitions is a mapping; write a list of rows, each beginning with - id:"),
		Entry("a row that is text", "initial: a\nstates: {a: {about: A.}}\ntransitions: [go]\n",
			`door.yaml:3: row #1: a row is "go"; write it with the keys id, from, event, to, when, do, requeue and about`),
	)

	It("reports all mistakes at once, in the order of their lines", func() {
		text := with("requeue: 30s", "requeue: soon")
		text = strings.Replace(text, "  locked: {about: The bolt is out.}", "  locked: {abuot: The bolt is out.}", 1)
		text = strings.Replace(text, "[pushed, not curfew]", "[pushed, never curfew]", 1)
		t, err := machine.Parse("door.yaml", []byte(text))
		Expect(t).To(BeNil())
		Expect(messages(err)).To(HaveExactElements(
			`door.yaml:3: state locked: unknown key "abuot"; the keys of a state are about`,
			`door.yaml:3: state locked: key "about" is missing; a state needs it`,
			`door.yaml:13: row unlock: requeue is "soon"; write a duration with its unit, such as 30s or 1m`,
			`door.yaml:33: row push: when: "never curfew" is no condition: write a guard's snake_case name, or "not" and the name; deeper logic is a guard of its own`,
		))
	})

	It("hands over each problem by its parts", func() {
		_, err := machine.Parse("door.yaml", []byte(with("requeue: 30s", "requeue: soon")))
		var p machine.Problem
		Expect(errors.As(err, &p)).To(BeTrue())
		Expect(p).To(Equal(machine.Problem{
			File: "door.yaml", Line: 13, Row: "unlock",
			Message: `requeue is "soon"; write a duration with its unit, such as 30s or 1m`,
		}))
	})
})
