// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"slices"
	"strings"
)

// Script is a scenario: a setting, and what happens in it.
type Script struct {
	// File that it was read from; messages begin with it.
	File string
	// Title says in a line what is shown, About why it must be so.
	Title, About string
	// Sections of the specification that it stands on: "§3.1".
	Sections []string
	// Setting is what the cluster is made of at the start.
	Setting Setting
	// Steps in order.
	Steps []Step

	// head has the lines before the first step as they stand; tail those after the last one's trace.
	head, tail []string
}

// Step is one thing that happens, and the trace that came of it.
type Step struct {
	// Line of the step in its file.
	Line int
	// Text is the step as it stands, without its mark.
	Text string
	// Trace has the lines that it produced.
	Trace []string

	// lead has the comments and empty lines before the step.
	lead []string
	do   action
}

// The marks at the beginning of a line.
const (
	stepMark    = ">"
	commentMark = "#"
)

// New makes a script from its parts: setting has its lines as they stand in a file (start, policy, pool, …), steps their
// texts ("run 30m"). It has no traces until it is run. The error is Problems.
func New(title string, sections, setting, steps []string) (*Script, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "title    %s\nsection  %s\n\n", title, strings.Join(sections, ", "))
	for _, line := range setting {
		text.WriteString(line + "\n")
	}
	for _, step := range steps {
		text.WriteString("\n" + stepMark + " " + step + "\n")
	}
	return Parse("", text.String())
}

// Print writes the script as a file holds it: Parse reads it back.
func (s *Script) Print() string {
	lines := slices.Clone(s.head)
	for _, step := range s.Steps {
		lines = append(lines, step.lead...)
		lines = append(lines, stepMark+" "+step.Text)
		lines = append(lines, step.Trace...)
	}
	lines = append(lines, s.tail...)
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Problem is one thing that is wrong with a script.
type Problem struct {
	File    string
	Line    int
	Message string
}

func (p Problem) Error() string {
	if p.File == "" {
		return fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// Problems are all that is wrong with a script, by line.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}
