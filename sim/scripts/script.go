// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"

	"noderotation.io/noderotation/controller"
)

// Script is a scenario in a simulated cluster: a setting, and what happens in it.
type Script struct {
	*Document
	// Setting is what the cluster is made of at the start.
	Setting Setting

	actions []action
}

// New makes a script from its parts: setting has its lines as they stand in a file (start, policy, pool, …), steps their
// texts ("run 30m"). It has no traces until it is run. The error is Problems.
func New(title string, sections, setting, steps []string) (*Script, error) {
	return Parse("", compose(title, sections, setting, steps))
}

// Parse reads a script. file is for messages. The error is Problems: all that is wrong, each with its line.
func Parse(file, text string) (*Script, error) {
	document, err := Read(file, text)
	p := parser{script: &Script{Document: document}}
	errors.As(err, &p.problems)
	for _, e := range document.Entries {
		p.setting(e)
	}
	if p.script.Setting.Start.IsZero() && len(p.problems) == 0 {
		p.problem(1, "the script has no start: add a line such as `start 2026-01-09 17:00 UTC`")
	}
	for _, step := range document.Steps {
		do, err := parseStep(step.Text)
		if err != nil {
			p.problem(step.Line, "%v", err)
		}
		p.script.actions = append(p.script.actions, do)
	}
	if err := p.problems.err(); err != nil {
		return nil, err
	}
	return p.script, nil
}

// Run has the script happen under the table, from its start. The result is the same script with the traces that came
// of it; the receiver stays as it is. The error is a Problem with the line of what could not be made; the result then
// ends before it, and is nil where the setting could not be made.
func (s *Script) Run(machine *controller.Machine) (*Script, error) {
	r, err := begin(s, machine)
	if err != nil {
		return nil, err
	}
	defer r.end()
	next := 0
	played, err := s.Play(func(Step) ([]string, error) {
		do := s.actions[next]
		next++
		return r.make(do)
	})
	return &Script{played, s.Setting, s.actions}, err
}
