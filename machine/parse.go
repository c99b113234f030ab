// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The keys of a table, of a state and of a row; a row's may not be more.
var (
	tableKeys = []string{"initial", "states", "transitions"}
	stateKeys = []string{"about"}
	rowKeys   = []string{"id", "from", "event", "to", "when", "do", "requeue", "about"}
)

// Parse reads a table. name is the file's name, for the problems. Reading is
// strict: unknown and repeated keys, wrong types, missing fields and ill-formed
// names are errors. The error is Problems: all of them at once, each with its
// line. Whether names are known and laws are obeyed is Compile's to say.
func Parse(name string, data []byte) (*Table, error) {
	t, problems := parse(name, data)
	if err := problems.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// Read is Parse for who knows the guards and effects. Of a table that cannot be
// read wholly it tells in the same answer what law known-names finds in the
// rest of it, and nothing that only follows from what could not be read. A
// table that can be read is returned, whatever it names: that is Compile's to
// say, and so is every other law, since those need the whole of a table.
func Read(name string, data []byte, guards []GuardDecl, effects []EffectDecl) (*Table, error) {
	t, problems := parse(name, data)
	if len(problems) > 0 {
		return nil, append(problems, NewModel(t, guards, effects).Check([]Law{knownNames})...).err()
	}
	return t, nil
}

// parse reads as much of a table as can be read, and tells what is wrong with
// the rest.
func parse(name string, data []byte) (*Table, Problems) {
	p := &parser{file: name}
	t := &Table{Name: name}
	if root := p.document(data); root != nil {
		p.table(root, t)
	}
	t.partial = len(p.problems) > 0
	return t, p.problems
}

// parser walks YAML nodes and collects what is wrong on the way.
type parser struct {
	file     string
	problems Problems
	// row and state name what is being read, for the problems.
	row, state string
	// emptied are the lines of pieces that are no YAML, and of which that is said.
	emptied map[int]bool
}

func (p *parser) wrong(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{
		File: p.file, Line: line, Row: p.row, State: p.state, Message: fmt.Sprintf(format, args...),
	})
}

// document returns the root of the one YAML document, or nil.
func (p *parser) document(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	err := decoder.Decode(&first)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(first.Content) == 0:
		p.wrong(0, "the file is empty; write a table with the keys %s", list(tableKeys))
		return nil
	case err != nil:
		if rest, broken := withoutBroken(data); broken != nil {
			return p.rest(rest, broken)
		}
		p.malformed(err, 0)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.malformed(err, 0)
	default:
		p.wrong(second.Line, "a second YAML document begins; keep one table in a file")
	}
	return first.Content[0]
}

func (p *parser) table(root *yaml.Node, t *Table) {
	f := p.fields(root, "a table", tableKeys)
	if f == nil {
		return
	}
	if n := f.required("initial"); n != nil {
		t.Initial, t.InitialLine = p.name(n, "initial"), n.Line
	}
	t.statesUnread = true
	if n := f.required("states"); n != nil {
		t.States, t.statesUnread = p.states(n)
	}
	if n := f.required("transitions"); n != nil {
		t.Rows = p.rows(n)
	}
}

// states reads the states. It also tells whether there are some whose names could not be read.
func (p *parser) states(n *yaml.Node) (states []State, unread bool) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.wrong(n.Line, "states is %s; write each state's name, a colon, and {about: …}", kind(n))
		return nil, true
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		s := State{Name: p.name(key, "a state"), Line: key.Line}
		unread = unread || s.Name == ""
		if j := slices.IndexFunc(states, func(o State) bool { return o.Name == s.Name }); j >= 0 && s.Name != "" {
			p.wrong(key.Line, "state %s is already in line %d; rename or remove one", s.Name, states[j].Line)
			continue
		}
		p.state = key.Value
		if f := p.fields(value, "a state", stateKeys); f != nil {
			f.line = key.Line
			s.About = p.about(f)
		}
		p.state = ""
		states = append(states, s)
	}
	return states, unread
}

func (p *parser) rows(n *yaml.Node) []Row {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.wrong(n.Line, "transitions is %s; write a list of rows, each beginning with - id:", kind(n))
		return nil
	}
	var rows []Row
	for i, item := range n.Content {
		if p.isEmptied(item) {
			continue
		}
		p.row = rowName(item, i)
		row := p.readRow(item)
		row.called = p.row
		rows = append(rows, row)
		p.row = ""
	}
	return rows
}

// rowName is how problems call a row: its id, or its place in the list.
func rowName(n *yaml.Node, i int) string {
	if n.Kind == yaml.MappingNode {
		for j := 0; j < len(n.Content); j += 2 {
			if n.Content[j].Value == "id" && namePattern.MatchString(n.Content[j+1].Value) {
				return n.Content[j+1].Value
			}
		}
	}
	return fmt.Sprintf("#%d", i+1)
}

func (p *parser) readRow(n *yaml.Node) Row {
	r := Row{Line: n.Line}
	f := p.fields(n, "a row", rowKeys)
	if f == nil {
		return r
	}
	r.lines = f.lines
	if v := f.required("id"); v != nil {
		r.ID = p.name(v, "id")
	}
	if v := f.required("from"); v != nil {
		r.From = p.from(v)
	}
	if v := f.required("event"); v != nil {
		r.Event = p.line(v, "event")
	}
	if v := f.required("to"); v != nil {
		r.To = p.name(v, "to")
	}
	r.When = p.when(f.values["when"])
	r.Do = p.do(f.values["do"])
	if v := f.values["requeue"]; v != nil {
		r.Requeue = p.duration(v, "requeue")
	}
	r.About = p.about(f)
	return r
}

func (p *parser) from(n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		return []string{p.name(n, "from")}
	}
	if len(n.Content) == 0 {
		p.wrong(n.Line, "from is an empty list; name the states in which the row is tried")
	}
	var states []string
	for _, item := range n.Content {
		state := p.name(item, "from")
		if state != "" && slices.Contains(states, state) {
			p.wrong(item.Line, "from names %s twice; remove one", state)
			continue
		}
		states = append(states, state)
	}
	return states
}

func (p *parser) when(n *yaml.Node) []Condition {
	var conditions []Condition
	for _, item := range p.items(n, "when", "guards; leave the key out if the row always holds") {
		text, ok := p.text(item, "when")
		if !ok {
			continue
		}
		c, err := ParseCondition(text)
		if err != nil {
			p.wrong(item.Line, "when: %s", err)
			continue
		}
		conditions = append(conditions, c)
	}
	return conditions
}

func (p *parser) do(n *yaml.Node) []string {
	var effects []string
	for _, item := range p.items(n, "do", "effects; leave the key out if the row does nothing") {
		text, ok := p.text(item, "do")
		switch {
		case !ok:
		case !snakeCase.MatchString(text):
			p.wrong(item.Line, "do: %q is no effect's name; write a snake_case name", text)
		default:
			effects = append(effects, text)
		}
	}
	return effects
}

// items returns the entries of an optional list.
func (p *parser) items(n *yaml.Node, key, of string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		p.wrong(n.Line, "%s is %s; write a list of %s", key, kind(n), of)
		return nil
	}
	return n.Content
}

func (p *parser) about(f *fields) string {
	if n := f.required("about"); n != nil {
		return p.line(n, "about")
	}
	return ""
}

func (p *parser) duration(n *yaml.Node, key string) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		p.wrong(n.Line, "%s is %s; write a duration with its unit, such as 30s or 1m", key, kind(n))
	}
	return d
}

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// name reads the name of a state or a row.
func (p *parser) name(n *yaml.Node, key string) string {
	text, ok := p.text(n, key)
	if ok && !namePattern.MatchString(text) {
		p.wrong(n.Line, "%s: %q is no name; begin with a small letter and go on with small letters, digits, - and _", key, text)
		return ""
	}
	return text
}

// line reads one line of free text, with something in it. It is empty where it could not be read.
func (p *parser) line(n *yaml.Node, key string) string {
	text, ok := p.text(n, key)
	text = strings.TrimSpace(text)
	switch {
	case !ok:
	case text == "":
		p.wrong(n.Line, "%s is empty; write a few words", key)
	case strings.ContainsAny(text, "\n\r"):
		p.wrong(n.Line, "%s has several lines; say it in one", key)
		return ""
	}
	return text
}

func (p *parser) text(n *yaml.Node, key string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.wrong(n.Line, "%s is %s; write text", key, kind(n))
		return "", false
	}
	return n.Value, true
}

// fields are the values of a mapping by key.
type fields struct {
	parser *parser
	what   string
	line   int
	values map[string]*yaml.Node
	// lines are the keys' own.
	lines map[string]int
}

// fields reads a mapping whose keys are all known and different; nil if it is
// no mapping.
func (p *parser) fields(n *yaml.Node, what string, known []string) *fields {
	if n.Kind != yaml.MappingNode {
		p.wrong(n.Line, "%s is %s; write it with the keys %s", what, kind(n), list(known))
		return nil
	}
	f := &fields{parser: p, what: what, line: n.Line, values: map[string]*yaml.Node{}, lines: map[string]int{}}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch first, twice := f.lines[key.Value]; {
		case !slices.Contains(known, key.Value):
			p.wrong(key.Line, "unknown key %q; the keys of %s are %s", key.Value, what, list(known))
		case twice:
			p.wrong(key.Line, "key %q is already in line %d; remove one", key.Value, first)
		default:
			f.values[key.Value], f.lines[key.Value] = value, key.Line
		}
	}
	return f
}

// required returns the value of a key, or nil after saying that it is missing, or broken.
func (f *fields) required(key string) *yaml.Node {
	n := f.values[key]
	if n == nil {
		f.parser.wrong(f.line, "key %q is missing; %s needs it", key, f.what)
		return nil
	}
	if f.parser.isEmptied(n) {
		return nil
	}
	return n
}

// kind says in words what a value is.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "a YAML alias, which hides what the row says from its reader"
	case n.Kind == yaml.SequenceNode && len(n.Content) == 0:
		return "an empty list"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode && len(n.Content) == 0:
		return "an empty mapping"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.ShortTag() == "!!null":
		return "left empty"
	case n.ShortTag() == "!!int", n.ShortTag() == "!!float":
		return "the number " + n.Value
	case n.ShortTag() == "!!bool":
		return "the truth value " + n.Value
	}
	return strconv.Quote(n.Value)
}

// list joins names as a sentence does: "a, b and c".
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
