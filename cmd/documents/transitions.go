// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed" // the document's text
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/graph"
	"noderotation.io/noderotation/rotation"
)

// The documents about the table: the reference, the picture in it, and the schema by which editors check a table.
const (
	transitionsFile = "docs/transitions.md"
	pictureFile     = "docs/transitions.svg"
	schemaFile      = "docs/transitions.schema.json"
)

var (
	//go:embed transitions.md.tmpl
	transitionsText string
	// annotationsText is the table of annotations, which both documents have.
	//go:embed annotations.md.tmpl
	annotationsText string
)

// reference is all that the document about the table tells.
type reference struct {
	Table       *machine.Table
	States      []stateOfReference
	Guards      []machine.GuardDecl
	Effects     []machine.EffectDecl
	Laws        []machine.Law
	Annotations []rotation.Key
	Mermaid     string

	model *machine.Model
}

// stateOfReference is a state with its rows, in the order in which they are tried.
type stateOfReference struct {
	Name, About string
	Rows        []rowOfReference
}

// rowOfReference is a row with what only the specification says of it.
type rowOfReference struct {
	*machine.Row
	Section string
	Kind    graph.Kind
	// Then is the state that the rotation is in after To; empty if it stays there.
	Then string
}

// tableDocuments are the documents about the embedded table, by their files.
func tableDocuments() (map[string][]byte, error) {
	r, err := readReference()
	if err != nil {
		return nil, err
	}
	drawing := effects.Drawing(r.model)
	picture := graph.Of(r.model, drawing)
	r.Mermaid = picture.Mermaid()
	text, err := r.document()
	if err != nil {
		return nil, err
	}
	schema, err := machine.Schema(r.Guards, r.Effects, machine.SchemaOptions{
		Title:       "Transition table of noderotation",
		Description: "What can happen to the rotation of one NodePool, when, and what is then done. `noderotation table lint` checks the laws too.",
		States:      r.Table.States,
		Bound:       controller.RequeueBound,
	})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{transitionsFile: text, pictureFile: []byte(picture.SVG()), schemaFile: schema}, nil
}

func readReference() (reference, error) {
	table, err := machine.Parse(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		return reference{}, err
	}
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return reference{}, fmt.Errorf("guards and effects do not fit together: %w", err)
	}
	r := reference{
		Table: table, Guards: registry.GuardDecls(), Effects: registry.EffectDecls(), Laws: controller.Laws(), Annotations: rotation.Keys(),
	}
	r.model = machine.NewModel(table, r.Guards, r.Effects)
	if err := checkSections(table); err != nil {
		return reference{}, err
	}
	kind := effects.Drawing(r.model).Kind
	for _, s := range table.States {
		state := stateOfReference{Name: s.Name, About: s.About}
		for _, row := range r.model.Rows(s.Name) {
			told := rowOfReference{Row: row, Section: sections()[row.ID], Kind: kind(row)}
			if r.model.Returns(row) && row.To != table.Initial {
				told.Then = table.Initial
			}
			state.Rows = append(state.Rows, told)
		}
		r.States = append(r.States, state)
	}
	return r, nil
}

// checkSections names every row without a section, and every section without a row.
func checkSections(table *machine.Table) error {
	open := sections()
	var problems []error
	for i := range table.Rows {
		row := &table.Rows[i]
		if open[row.ID] == "" {
			problems = append(problems, fmt.Errorf("%s:%d: row %s: say in cmd/documents/sections.go where it is specified", table.Name, row.Line, row.ID))
		}
		delete(open, row.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		problems = append(problems, fmt.Errorf("cmd/documents/sections.go says where row %s is specified, and %s has no such row: drop it", id, table.Name))
	}
	return errors.Join(problems...)
}

func (r reference) document() ([]byte, error) {
	layout, err := template.New(transitionsFile).Funcs(template.FuncMap{
		"cell": cell, "code": code, "words": words, "asking": r.asking, "doing": r.doing, "writes": r.writes,
		"guards": guardLinks, "effects": effectLinks, "rows": rowLinks, "spell": rotation.Spell, "kind": kindOf,
	}).Parse(transitionsText)
	if err == nil {
		_, err = layout.Parse(annotationsText)
	}
	if err != nil {
		return nil, fmt.Errorf("the template cannot be read: %w", err)
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("the template cannot be filled: %w", err)
	}
	return out.Bytes(), nil
}

// asking are the rows that ask a guard, doing those that have an effect.
func (r reference) asking(guard string) []string {
	return r.rowsThat(func(row *machine.Row) bool { return row.Has(machine.Is(guard)) || row.Has(machine.IsNot(guard)) })
}

func (r reference) doing(effect string) []string {
	return r.rowsThat(func(row *machine.Row) bool { return row.Does(effect) })
}

func (r reference) rowsThat(has func(*machine.Row) bool) []string {
	var ids []string
	for i := range r.Table.Rows {
		if row := &r.Table.Rows[i]; has(row) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

// writes are what a row durably writes, in order, and by which effect.
func (r reference) writes(row rowOfReference) string {
	var all []string
	for _, w := range r.model.Writes(row.Row) {
		all = append(all, w.What)
	}
	if len(all) == 0 {
		return "nothing"
	}
	return code(all...)
}

func guardLinks(conditions []machine.Condition) string {
	links := make([]string, len(conditions))
	for i, c := range conditions {
		links[i] = fmt.Sprintf("[%s](#guard-%s)", code(c.String()), c.Guard)
	}
	return strings.Join(links, ", ")
}

func effectLinks(names []string) string { return linked("effect", names) }

func rowLinks(ids []string) string { return linked("row", ids) }

func linked(kind string, names []string) string {
	links := make([]string, len(names))
	for i, name := range names {
		links[i] = fmt.Sprintf("[%s](#%s-%s)", code(name), kind, name)
	}
	return strings.Join(links, ", ")
}

// kindOf says what a row is, unless it is ordinary.
func kindOf(k graph.Kind) string {
	switch k {
	case graph.Fallback:
		return " ▲ fallback"
	case graph.Failure:
		return " ✕ failure, or a way back"
	default:
		return ""
	}
}
