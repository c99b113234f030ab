// SPDX-License-Identifier: Apache-2.0

package diff_test

import (
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/diff"
)

const doorTable = `initial: locked
states:
  locked: {about: The bolt is out.}
  closed: {about: The bolt is in and the door stands in its frame.}
  open:   {about: One can walk through.}
transitions:
- id: break-in
  about: Force goes through any lock.
  from: [locked, closed]
  event: force
  to: open
  when: [forced]
  do: [splinter, ring_bell]
  requeue: 30s
- id: unlock
  about: Who has the key may enter, but not at night.
  from: locked
  event: key
  to: closed
  when: [key_turned, not curfew]
  do: [draw_bolt, ring_bell]
  requeue: 30s
- id: stay-locked
  about: Nobody came.
  from: locked
  event: nothing
  to: locked
  requeue: 1m
- id: lock
  about: Who has the key may lock up.
  from: [closed, open]
  event: key
  to: locked
  when: [key_turned, not jammed]
  do: [throw_bolt, ring_bell]
  requeue: 30s
- id: push
  about: Somebody goes through.
  from: closed
  event: push
  to: open
  when: [pushed, not curfew]
  requeue: 30s
- id: stay-closed
  about: Nobody came.
  from: closed
  event: nothing
  to: closed
  requeue: 1m
- id: shut
  about: The spring pulls it shut.
  from: open
  event: let_go
  to: closed
  when: [not pushed]
  do: [pull]
  requeue: 30s
- id: stay-open
  about: Somebody stands in it.
  from: open
  event: nothing
  to: open
  do: [ring_bell]
  requeue: 1m
`

func doorGuards() []machine.GuardDecl {
	return []machine.GuardDecl{
		{Name: "key_turned", Phrase: "the key is turned", Denial: "nobody turns a key"},
		{Name: "pushed", Phrase: "somebody pushes", Denial: "nobody pushes"},
		{Name: "jammed", Phrase: "the bolt is jammed", Denial: "the bolt runs freely"},
		{Name: "curfew", Phrase: "there is a curfew", Denial: "there is no curfew"},
		{Name: "forced", Phrase: "somebody breaks in", Denial: "nobody breaks in",
			Implies: []machine.Condition{machine.Is("pushed"), machine.IsNot("key_turned")}},
		{Name: "whistled"},
	}
}

func doorEffects() []machine.EffectDecl {
	return []machine.EffectDecl{
		{Name: "draw_bolt", Writes: []string{"bolt"}}, {Name: "throw_bolt", Writes: []string{"bolt"}, Returns: true},
		{Name: "ring_bell"}, {Name: "splinter", Writes: []string{"door"}}, {Name: "pull"}, {Name: "oil", Writes: []string{"hinge"}},
	}
}

// door is a table seen through the door's declarations.
func door(name, text string) *machine.Model {
	table, err := machine.Parse(name, []byte(text))
	ExpectWithOffset(2, err).NotTo(HaveOccurred())
	return machine.NewModel(table, doorGuards(), doorEffects())
}

// edit replaces a piece of the door's table that must stand there once.
type edit struct{ piece, other string }

func edited(edits ...edit) string {
	text := doorTable
	for _, e := range edits {
		ExpectWithOffset(2, strings.Count(text, e.piece)).To(Equal(1), e.piece)
		text = strings.Replace(text, e.piece, e.other, 1)
	}
	return text
}

// compared is what becomes of the door by some edits.
func compared(edits ...edit) diff.Difference {
	return diff.Compare(door("old.yaml", doorTable), door("new.yaml", edited(edits...)), doorLaws())
}

func doorLaws() []machine.Law { return machine.GenericLaws(machine.Options{Bound: time.Minute}) }

// said is the difference as a terminal shows it, without the line of names.
func said(d diff.Difference) string {
	var out strings.Builder
	ExpectWithOffset(1, d.Text(&out)).To(Succeed())
	_, text, _ := strings.Cut(out.String(), "\n")
	return strings.TrimSpace(text)
}

// row is a row's text in the table.
func row(id string) string {
	start := strings.Index(doorTable, "- id: "+id+"\n")
	ExpectWithOffset(1, start).To(BeNumerically(">=", 0))
	if end := strings.Index(doorTable[start+1:], "- id: "); end >= 0 {
		return doorTable[start : start+1+end]
	}
	return doorTable[start:]
}
