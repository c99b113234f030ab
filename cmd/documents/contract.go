// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed" // the document's text
	"fmt"
	"strings"
	"text/template"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

const contractFile = "docs/contract.md"

//go:embed contract.md.tmpl
var text string

// contract is all that the document tells, as the product declares it.
type contract struct {
	Annotations       []rotation.Key
	PlaceholderName   string
	PlaceholderLabels map[string]string
	Lease             string
	RehearsalLease    string
	Series            []controller.Series
	Reasons           []effects.Reason
	Rules             []rotation.Rule
	Policy            policy
	Table             *machine.Table
	Guards            []guards.Guard
	Effects           []effects.Effect
	Flags             string
	Answers           []answer
	Rights            []right
}

// document is the contract in Markdown.
func document(h help) ([]byte, error) {
	c := contract{
		Annotations:       rotation.Keys(),
		PlaceholderName:   rotation.PlaceholderName("NODECLAIM"),
		PlaceholderLabels: rotation.PlaceholderLabels(),
		Lease:             controller.LeaseName,
		RehearsalLease:    controller.RehearsalLeaseName,
		Series:            controller.AllSeries(),
		Reasons:           effects.Reasons(),
		Rules:             rotation.Rules(),
		Guards:            guards.All(),
		Effects:           effects.All(),
	}
	var err error
	if c.Table, err = machine.Parse(noderotation.TransitionsFile, noderotation.Transitions); err != nil {
		return nil, err
	}
	if c.Policy, err = readPolicy(); err != nil {
		return nil, err
	}
	if c.Flags, err = h.flags("controller"); err != nil {
		return nil, err
	}
	if c.Answers, err = readAnswers(h); err != nil {
		return nil, err
	}
	if c.Rights, err = readRights(); err != nil {
		return nil, err
	}
	functions := template.FuncMap{"cell": cell, "code": code, "words": words, "lower": strings.ToLower}
	layout, err := template.New(contractFile).Funcs(functions).Parse(text)
	if err == nil {
		_, err = layout.Parse(annotationsText)
	}
	if err != nil {
		return nil, fmt.Errorf("the template cannot be read: %w", err)
	}
	var out bytes.Buffer
	if err = layout.Execute(&out, c); err != nil {
		return nil, fmt.Errorf("the template cannot be filled: %w", err)
	}
	return out.Bytes(), nil
}

// cell writes a text so that it stays within one cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// code writes names as code, with commas in between.
func code(names ...string) string { return "`" + strings.Join(names, "`, `") + "`" }

// words writes names with commas in between.
func words(names []string) string { return strings.Join(names, ", ") }
