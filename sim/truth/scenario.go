// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"noderotation.io/noderotation/sim/scripts"
)

// Scenario is what happens in both worlds, and the transitions that must come of it.
type Scenario struct {
	*scripts.Document
	// Setting has the pools, budgets, and policies, and how quick the cloud is. The start is the simulator's alone.
	Setting scripts.Setting

	deeds []deed
}

// Read reads a scenario. file is for messages. The error joins all that is wrong, each with its line.
func Read(file, text string) (*Scenario, error) {
	head, _, _ := strings.Cut(text, "\n>")
	setting, err := scripts.Parse(file, head)
	if err != nil {
		return nil, err
	}
	document, err := scripts.Read(file, text)
	if err != nil {
		return nil, err
	}
	s := &Scenario{Document: document, Setting: setting.Setting}
	var wrong scripts.Problems
	for _, step := range document.Steps {
		do, err := parse(step.Text)
		if err != nil {
			wrong = append(wrong, scripts.Problem{File: file, Line: step.Line, Message: err.Error()})
		}
		s.deeds = append(s.deeds, do)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return s, nil
}

//go:embed testdata/*.txt
var testdata embed.FS

// All are the scenarios that both worlds are held to.
func All() ([]*Scenario, error) {
	const folder = "testdata"
	entries, err := fs.ReadDir(testdata, folder)
	if err != nil {
		return nil, fmt.Errorf("the scenarios cannot be listed: %w", err)
	}
	var all []*Scenario
	var wrong []error
	for _, entry := range entries {
		text, err := fs.ReadFile(testdata, path.Join(folder, entry.Name()))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		scenario, err := Read(path.Join(folder, entry.Name()), string(text))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, scenario)
	}
	return all, errors.Join(wrong...)
}
