// SPDX-License-Identifier: Apache-2.0

// Package values turns a commented values.yaml into the table of the chart's README.
package values

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Markers stand in the README around the table.
const (
	Begin = "<!-- values: generated from values.yaml -->"
	End   = "<!-- end of values -->"
)

// Value is one documented key.
type Value struct {
	// Key with its parents, joined by dots.
	Key string
	// Default as JSON.
	Default string
	// About is the comment above the key, on one line.
	About string
}

// Read lists the keys of a values.yaml in its order. A key with a comment is listed and stands for all beneath it; one
// without must be a mapping whose keys are documented. The error names every key that is not.
func Read(content []byte) ([]Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, fmt.Errorf("values.yaml is not YAML: %w", err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("values.yaml is not a mapping")
	}
	return readMapping("", document.Content[0])
}

func readMapping(parent string, mapping *yaml.Node) ([]Value, error) {
	var all []Value
	var problems []error
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := parent + key.Value
		switch {
		case key.HeadComment != "":
			one, err := readValue(name, key.HeadComment, value)
			all, problems = append(all, one), append(problems, err)
		case value.Kind == yaml.MappingNode && len(value.Content) > 0:
			below, err := readMapping(name+".", value)
			all, problems = append(all, below...), append(problems, err)
		default:
			problems = append(problems, fmt.Errorf("values.yaml:%d: %s has no comment that says what it is", key.Line, name))
		}
	}
	return all, errors.Join(problems...)
}

func readValue(name, comment string, value *yaml.Node) (Value, error) {
	var content any
	if err := value.Decode(&content); err != nil {
		return Value{}, fmt.Errorf("values.yaml:%d: %s cannot be decoded: %w", value.Line, name, err)
	}
	encoded, err := json.Marshal(content)
	if err != nil {
		return Value{}, fmt.Errorf("values.yaml:%d: %s has no JSON: %w", value.Line, name, err)
	}
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	return Value{Key: name, Default: string(encoded), About: strings.Join(lines, " ")}, nil
}

// Table writes the values as Markdown.
func Table(all []Value) string {
	var table strings.Builder
	table.WriteString("| key | default | what it is |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, value := range all {
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", value.Key, cell.Replace(value.Default), cell.Replace(value.About))
	}
	return table.String()
}

// Insert returns the README with the table between its markers.
func Insert(readme, table string) (string, error) {
	before, rest, begun := strings.Cut(readme, Begin)
	_, after, ended := strings.Cut(rest, End)
	if !begun || !ended {
		return "", fmt.Errorf("the README has no place for the values: it needs the lines %q and %q", Begin, End)
	}
	return before + Begin + "\n\n" + table + "\n" + End + after, nil
}
