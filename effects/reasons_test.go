// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// Every constant that names a reason is described, once, and nothing else is (§4.2 Events).
func TestEveryReasonIsDescribed(t *testing.T) {
	var described []string
	for _, reason := range effects.Reasons() {
		described = append(described, reason.Name)
		if len(reason.Kinds) == 0 || !strings.HasSuffix(reason.Meaning, ".") {
			t.Errorf("%s is described by kinds %v and the meaning %q", reason.Name, reason.Kinds, reason.Meaning)
		}
	}
	declared := reasonConstants(t)
	slices.Sort(declared)
	slices.Sort(described)
	if len(declared) == 0 || !slices.Equal(declared, described) {
		t.Errorf("the reasons that are declared\n%v\nare not those that are described\n%v", declared, described)
	}
}

// reasonConstants reads the values of the constants Reason… off the source.
func reasonConstants(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "announcement.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
		return true
	})
	return values
}

// What an effect tells is of the severity, and about the kind of object, that its reason is described with (§4.2 Events).
func TestEventsAreAsTheirReasonIsDescribed(t *testing.T) {
	described := map[string]effects.Reason{}
	for _, reason := range effects.Reasons() {
		described[reason.Name] = reason
	}
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		_, actions, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		for _, action := range actions {
			told, is := action.(effects.Announce)
			if !is || told.Reason == "" {
				continue
			}
			kinds := described[told.Reason].Kinds
			if _, exists := s.Subject(); !exists {
				kinds = append(slices.Clone(kinds), "NodePool")
			}
			if told.Severity != described[told.Reason].Severity || !slices.Contains(kinds, told.Target.Kind) {
				t.Errorf("%s tells %s (%s) about a %s, which is described as %+v",
					e.Name, told.Reason, told.Severity, told.Target.Kind, described[told.Reason])
			}
		}
	})
}
