// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"slices"
	"strings"
)

// Document is the text of a script, whatever its world and its steps mean: title, section and about, the entries of its
// setting, and steps with their traces. A Script is one that happens in a sim.World; the explorer plays others.
type Document struct {
	// File that it was read from; messages begin with it.
	File string
	// Title says in a line what is shown, About why it must be so.
	Title, About string
	// Sections of the specification that it stands on: "§3.1".
	Sections []string
	// Entries of the setting, in order.
	Entries []Entry
	// Steps in order.
	Steps []Step

	// head has the lines before the first step as they stand; tail those after the last one's trace.
	head, tail []string
}

// Entry is a keyword of the setting with its name, and the lines that are indented beneath it: "policy weekly".
type Entry struct {
	Line          int
	Keyword, Name string
	// Text has the indented lines as they stand.
	Text []string

	clauses []clause
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
}

// The marks at the beginning of a line.
const (
	stepMark    = ">"
	commentMark = "#"
)

// Read reads a document. file is for messages. The error is Problems: all that is wrong, each with its line.
func Read(file, text string) (*Document, error) {
	r := reader{document: &Document{File: file}}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, stepMark) })
	if first < 0 {
		first = len(lines)
	}
	for first > 0 && loose(lines[first-1]) {
		first--
	}
	r.head(lines[:first])
	r.steps(lines[first:], first)
	return r.document, r.problems.err()
}

// Print writes the document as a file holds it: Read reads it back.
func (d *Document) Print() string {
	lines := slices.Clone(d.head)
	for _, step := range d.Steps {
		lines = append(lines, step.lead...)
		lines = append(lines, stepMark+" "+step.Text)
		lines = append(lines, step.Trace...)
	}
	lines = append(lines, d.tail...)
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Play has every step happen, in order. The result is the same document with the traces that came of them; the receiver
// stays as it is. The error is a Problem with the line of the step that could not be made; the result then ends before it.
func (d *Document) Play(do func(Step) (trace []string, err error)) (*Document, error) {
	played := *d
	played.Steps = slices.Clone(d.Steps)
	for i, step := range d.Steps {
		trace, err := do(step)
		if err != nil {
			played.Steps = played.Steps[:i]
			return &played, Problem{d.File, step.Line, err.Error()}
		}
		played.Steps[i].Trace = trace
	}
	return &played, nil
}

// compose writes a document from its parts.
func compose(title string, sections, setting, steps []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "title    %s\nsection  %s\n\n", title, strings.Join(sections, ", "))
	for _, line := range setting {
		text.WriteString(line + "\n")
	}
	for _, step := range steps {
		text.WriteString("\n" + stepMark + " " + step + "\n")
	}
	return text.String()
}

// NewDocument makes a document of its parts: setting has its lines as they stand in a file, steps their texts. It has no
// traces until it is played. The error is Problems.
func NewDocument(title string, sections, setting, steps []string) (*Document, error) {
	return Read("", compose(title, sections, setting, steps))
}

// Problem is one thing that is wrong with a script.
type Problem struct { //nolint:errname // it is a finding first, as in package machine
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
type Problems []Problem //nolint:errname // see Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].Error()
	}
	return strings.Join(lines, "\n")
}

// err is nil where there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return a.Line - b.Line })
	return p
}
