// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
)

// asEditorsSee judges a table by the schema, as an editor does.
func asEditorsSee(t *testing.T, schema []byte, table string) error {
	t.Helper()
	g := NewWithT(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	g.Expect(err).NotTo(HaveOccurred())
	compiler := jsonschema.NewCompiler()
	g.Expect(compiler.AddResource("transitions.schema.json", document)).To(Succeed())
	compiled, err := compiler.Compile("transitions.schema.json")
	g.Expect(err).NotTo(HaveOccurred())
	plain, err := yaml.YAMLToJSON([]byte(table))
	g.Expect(err).NotTo(HaveOccurred())
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	g.Expect(err).NotTo(HaveOccurred())
	return compiled.Validate(value)
}

func TestTheSchemaKnowsTheEmbeddedTable(t *testing.T) {
	documents, err := tableDocuments()
	if err != nil {
		t.Fatal(err)
	}
	if err := asEditorsSee(t, documents[schemaFile], string(noderotation.Transitions)); err != nil {
		t.Error(err)
	}
	if modeline := "# yaml-language-server: $schema=" + schemaFile + "\n"; !strings.HasPrefix(string(noderotation.Transitions), modeline) {
		t.Errorf("%s does not begin with %q: editors would not find the schema", noderotation.TransitionsFile, modeline)
	}
}

// What the schema refuses, the controller does too: an editor points out nothing that is right.
func TestTheSchemaRefusesWhatIsBroken(t *testing.T) {
	documents, err := tableDocuments()
	if err != nil {
		t.Fatal(err)
	}
	drain := "  when: [surge_ready, surge_settled]"
	for name, edit := range map[string][2]string{
		"a misspelt guard":               {drain, "  when: [surge_redy, surge_settled]"},
		"a misspelt guard behind a not":  {drain, "  when: [surge_ready, not frozn]"},
		"an expression":                  {drain, "  when: [surge_ready or surge_settled]"},
		"guards that are no list":        {drain, "  when: surge_ready"},
		"a misspelt key":                 {drain, "  whne: [surge_ready, surge_settled]"},
		"an unknown effect":              {"mirror, mark_draining, delete,", "mirror, mark_draining, destroy,"},
		"an effect that is a mapping":    {"mirror, mark_draining, delete,", "mirror, {delete: now},"},
		"an unknown state":               {"  event: surge_ready\n  to: draining", "  event: surge_ready\n  to: gone"},
		"a row from nowhere":             {"- id: drain\n  from: pending", "- id: drain\n  from: []"},
		"a row without an id":            {"- id: drain\n  from: pending", "- from: pending"},
		"an id with a space":             {"- id: drain\n", "- id: start the drain\n"},
		"a requeue without a unit":       {"requeue: 1m\n", "requeue: 60\n"},
		"a requeue beyond the bound":     {"requeue: 1m\n", "requeue: 2m\n"},
		"a requeue that is no duration":  {"requeue: 1m\n", "requeue: soon\n"},
		"a state without its line":       {"  idle:\n    about: No rotation is anchored on this NodePool.", "  idle: {}"},
		"a state that a pool is not in":  {"  expired:\n", "  lapsed:\n"},
		"an empty line for the reader":   {"about: Nothing may start now; the pass sleeps until a guard can next open.", "about: \"\""},
		"an initial state that is none":  {"initial: idle", "initial: asleep"},
		"a key beside the known ones":    {"initial: idle", "initial: idle\nversion: 2"},
		"a table without an initial one": {"initial: idle\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			table := string(noderotation.Transitions)
			g.Expect(table).To(ContainSubstring(edit[0]))
			broken := strings.Replace(table, edit[0], edit[1], 1)
			g.Expect(asEditorsSee(t, documents[schemaFile], broken)).NotTo(Succeed())
			_, err := controller.LoadTable(noderotation.TransitionsFile, []byte(broken))
			g.Expect(err).To(HaveOccurred())
		})
	}
}

// The names that there are come with what they mean.
func TestTheSchemaDescribesEveryName(t *testing.T) {
	g := NewWithT(t)
	t.Chdir("../..")
	schema, err := os.ReadFile(schemaFile)
	g.Expect(err).NotTo(HaveOccurred())
	r, err := readReference()
	g.Expect(err).NotTo(HaveOccurred())
	for _, guard := range r.Guards {
		g.Expect(string(schema)).To(ContainSubstring(`"const": "` + guard.Name + `"`))
		g.Expect(string(schema)).To(ContainSubstring(`"const": "not ` + guard.Name + `"`))
		g.Expect(string(schema)).To(ContainSubstring(`"description": "Not: ` + guard.About))
	}
	for _, effect := range r.Effects {
		g.Expect(string(schema)).To(ContainSubstring(`"const": "` + effect.Name + `"`))
	}
}
