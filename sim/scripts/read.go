// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"slices"
	"strings"
)

// reader reads a document.
type reader struct {
	document *Document
	problems Problems
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.document.File, line, fmt.Sprintf(format, args...)})
}

// loose is a line that belongs to nothing: empty, or a comment.
func loose(line string) bool {
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, commentMark)
}

// clause is one property: its name and what follows.
type clause struct {
	line int
	key  string
	args []string
}

func (c clause) String() string { return strings.Join(append([]string{c.key}, c.args...), " ") }

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

func (r *reader) head(lines []string) {
	d := r.document
	d.head = slices.Clone(lines)
	for _, e := range r.entries(lines) {
		switch e.Keyword {
		case "title":
			d.Title = e.Name
		case "section":
			for _, section := range strings.Split(e.Name, ",") {
				d.Sections = append(d.Sections, strings.TrimSpace(section))
			}
		case "about":
			d.About = strings.Join(append([]string{e.Name}, e.Text...), " ")
		default:
			d.Entries = append(d.Entries, e)
		}
	}
	if d.Title == "" {
		r.problem(1, "the script has no title: begin it with a line `title What the scenario shows`")
	}
	if len(d.Sections) == 0 {
		r.problem(1, "the script names no section of the specification: add a line such as `section §3.1`")
	}
}

func (r *reader) entries(lines []string) []Entry {
	var entries []Entry
	for i, line := range lines {
		switch {
		case loose(line):
		case line[0] != ' ' && line[0] != '\t':
			keyword, name, _ := strings.Cut(line, " ")
			entries = append(entries, Entry{Line: i + 1, Keyword: keyword, Name: strings.TrimSpace(name)})
		case len(entries) == 0:
			r.problem(i+1, "the line is indented, but nothing stands above that it could belong to")
		default:
			e := &entries[len(entries)-1]
			e.Text = append(e.Text, strings.TrimSpace(line))
			e.clauses = append(e.clauses, clausesOf(i+1, line)...)
		}
	}
	return entries
}

// steps reads what follows the head; before is how many lines that has.
func (r *reader) steps(lines []string, before int) {
	d := r.document
	var lead []string
	for i, line := range lines {
		switch n := len(d.Steps); {
		case strings.HasPrefix(line, stepMark):
			text := strings.TrimSpace(strings.TrimPrefix(line, stepMark))
			d.Steps = append(d.Steps, Step{Line: before + i + 1, Text: text, lead: lead})
			lead = nil
		case loose(line):
			lead = append(lead, line)
		case n == 0 || len(lead) > 0:
			r.problem(before+i+1, "the line is no step: one begins with %q. A trace stands right below its step", stepMark)
		default:
			d.Steps[n-1].Trace = append(d.Steps[n-1].Trace, strings.TrimRight(line, " "))
		}
	}
	d.tail = lead
}
