// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/laws"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The embedded table (§5.3)", func() {
	It("obeys every law, uses every registered guard and effect, and has nothing to warn of", func() {
		m, err := load(edited())
		Expect(err).NotTo(HaveOccurred())
		Expect(m.Laws()).To(HaveLen(5 + len(laws.All())))
		unusedGuards, unusedEffects := m.Unused()
		Expect(unusedGuards).To(BeEmpty())
		Expect(unusedEffects).To(BeEmpty())
		Expect(m.Warnings()).To(BeEmpty())
	})
})

var _ = Describe("The laws (architecture, The laws a table must obey)", func() {
	It("are these, each with a reason", func() {
		var names []string
		for _, law := range laws.All() {
			names = append(names, law.Name)
			Expect(law.Reason).To(MatchRegexp(`^[A-Z][^\n]*\.$`), law.Name)
		}
		Expect(names).To(Equal([]string{
			"anchor-first", "clear-last", "anchor-renewed", "mirror-before-delete", "state-written", "cleanup", "surge-first", "protected",
			"gated-start", "force-expiry-first", "freeze-holds", "gate-held", "no-orphan-state", "outcome-recorded", "handed-over", "derived-states",
		}))
	})

	It("speak of guards and effects that are registered", func() {
		registered := map[string][]string{}
		for _, g := range guards.All() {
			registered["guard"] = append(registered["guard"], g.Name)
		}
		for _, e := range effects.All() {
			registered["effect"] = append(registered["effect"], e.Name)
		}
		for constant, name := range words() {
			kind := "guard"
			if strings.HasPrefix(constant, "effect") {
				kind = "effect"
			}
			Expect(registered[kind]).To(ContainElement(name), "%s", constant)
		}
	})

	It("hold what an effect does, not what it is called", func() {
		purge := effects.Effect{Name: "purge", Writes: []string{rotation.WriteDelete},
			Apply: func(s *rotation.Snapshot) (*rotation.Snapshot, []effects.Action, error) { return s, nil, nil }}
		text := edited(putting("pending-wait", "do", "purge", ""))
		_, err := load(text, purge)
		Expect(err).To(MatchError(breach{"mirror-before-delete", "pending-wait", "do",
			"it deletes the claim on the way to pending, but a claim is deleted only on the way to draining; remove delete"}.in(text)))
	})
})

// words reads the constants of words.go, by the constant's name.
func words() map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "words.go", nil, 0)
	Expect(err).NotTo(HaveOccurred())
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			Expect(err).NotTo(HaveOccurred())
			found[spec.Names[0].Name] = value
		}
		return true
	})
	Expect(found).To(HaveLen(35))
	return found
}
