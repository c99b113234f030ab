// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/laws"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

type rotationMachine = machine.Machine[*rotation.Snapshot, effects.Action]

// load compiles a table under the generic laws and the rotation's, with the registered guards and effects and more.
func load(text string, more ...effects.Effect) (*rotationMachine, error) {
	table, err := machine.Parse(noderotation.TransitionsFile, []byte(text))
	Expect(err).NotTo(HaveOccurred())
	registry, err := machine.NewRegistry(guards.All(), append(effects.All(), more...))
	Expect(err).NotTo(HaveOccurred())
	return machine.Compile(table, registry, append(machine.GenericLaws(machine.Options{Bound: time.Minute}), laws.All()...))
}

// breach is one message that a table should bring about.
type breach struct {
	law, row, key, message string
}

// in is the whole message, with its place in the text.
func (b breach) in(text string) string {
	subject := "row " + b.row
	if b.row == "" {
		subject = "the table"
	}
	return fmt.Sprintf("%s:%d: %s breaks law %s: %s", noderotation.TransitionsFile, lineOf(text, b.row, b.key), subject, b.law, b.message)
}

// illegal is a table that breaks laws: these breaches and no others. The first is of the law that it is about.
type illegal struct {
	what     string
	edits    []edit
	breaches []breach
}

// illegals are all the tables that break a law, by family.
func illegals() []illegal {
	return slices.Concat(illegalAnchors(), illegalWrites(), illegalTraces(), illegalStarts(), illegalGates(), illegalDrains())
}

var _ = Describe("A table that breaks a law is refused, with law, row, line and what to do (architecture, The laws a table must obey)", func() {
	for _, t := range illegals() {
		It(t.breaches[0].law+": "+t.what, func() {
			text := edited(t.edits...)
			_, err := load(text)
			var problems machine.Problems
			Expect(errors.As(err, &problems)).To(BeTrue())
			var said, expected []string
			for _, p := range problems {
				said = append(said, p.Error())
			}
			for _, b := range t.breaches {
				expected = append(expected, b.in(text))
			}
			Expect(said).To(ConsistOf(expected))
		})
	}

	It("is shown for every law", func() {
		var broken []string
		for _, t := range illegals() {
			broken = append(broken, t.breaches[0].law)
		}
		for _, law := range laws.All() {
			Expect(broken).To(ContainElement(law.Name))
		}
	})
})
