// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"slices"
	"strings"
)

// Parse reads a script. file is for messages. The error is Problems: all that is wrong, each with its line.
func Parse(file, text string) (*Script, error) {
	p := parser{script: &Script{File: file}}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, stepMark) })
	if first < 0 {
		first = len(lines)
	}
	head := first
	for head > 0 && loose(lines[head-1]) {
		head--
	}
	p.head(lines[:head])
	p.steps(lines[head:], head)
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
		return nil, p.problems
	}
	return p.script, nil
}

type parser struct {
	script   *Script
	problems Problems
}

func (p *parser) problem(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{p.script.File, line, fmt.Sprintf(format, args...)})
}

// loose is a line that belongs to nothing: empty, or a comment.
func loose(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, commentMark)
}

// entry is a keyword of the head with its name and clauses: "policy weekly", and what is indented beneath.
type entry struct {
	line          int
	keyword, name string
	clauses       []clause
	// text has the indented lines as they stand.
	text []string
}

// clause is one property: its name and what follows.
type clause struct {
	line int
	key  string
	args []string
}

func (c clause) String() string { return strings.Join(append([]string{c.key}, c.args...), " ") }

func (p *parser) head(lines []string) {
	p.script.head = slices.Clone(lines)
	entries := p.entries(lines)
	for _, e := range entries {
		switch e.keyword {
		case "title":
			p.script.Title = e.name
		case "section":
			for _, section := range strings.Split(e.name, ",") {
				p.script.Sections = append(p.script.Sections, strings.TrimSpace(section))
			}
		case "about":
			p.script.About = strings.Join(append([]string{e.name}, e.text...), " ")
		default:
			p.setting(e)
		}
	}
	if p.script.Title == "" {
		p.problem(1, "the script has no title: begin it with a line `title What the scenario shows`")
	}
	if len(p.script.Sections) == 0 {
		p.problem(1, "the script names no section of the specification: add a line such as `section §3.1`")
	}
	if p.script.Setting.Start.IsZero() {
		p.problem(1, "the script has no start: add a line such as `start 2026-01-09 17:00 UTC`")
	}
}

func (p *parser) entries(lines []string) []entry {
	var entries []entry
	for i, line := range lines {
		switch {
		case loose(line):
		case line[0] != ' ' && line[0] != '\t':
			keyword, name, _ := strings.Cut(line, " ")
			entries = append(entries, entry{line: i + 1, keyword: keyword, name: strings.TrimSpace(name)})
		case len(entries) == 0:
			p.problem(i+1, "the line is indented, but nothing stands above that it could belong to")
		default:
			e := &entries[len(entries)-1]
			e.text = append(e.text, strings.TrimSpace(line))
			e.clauses = append(e.clauses, clausesOf(i+1, line)...)
		}
	}
	return entries
}

// clausesOf splits properties at semicolons.
func clausesOf(line int, text string) []clause {
	var clauses []clause
	for _, part := range strings.Split(text, ";") {
		if words := strings.Fields(part); len(words) > 0 {
			clauses = append(clauses, clause{line, words[0], words[1:]})
		}
	}
	return clauses
}

func (p *parser) steps(lines []string, before int) {
	var lead []string
	for i, line := range lines {
		switch n := len(p.script.Steps); {
		case strings.HasPrefix(line, stepMark):
			text := strings.TrimSpace(strings.TrimPrefix(line, stepMark))
			do, err := parseStep(text)
			if err != nil {
				p.problem(before+i+1, "%v", err)
			}
			p.script.Steps = append(p.script.Steps, Step{Line: before + i + 1, Text: text, lead: lead, do: do})
			lead = nil
		case loose(line):
			lead = append(lead, line)
		case n == 0 || len(lead) > 0:
			p.problem(before+i+1, "the line is no step: one begins with %q. A trace stands right below its step", stepMark)
		default:
			step := &p.script.Steps[n-1]
			step.Trace = append(step.Trace, strings.TrimRight(line, " "))
		}
	}
	p.script.tail = lead
}
