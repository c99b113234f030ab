// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// strictness is how a document is compared with its Go type, so that each thing that is wrong is told with its line.
type strictness struct {
	file string
	// unknown has an unknown key be wrong. What an API server printed may hold keys that this build does not know.
	unknown  bool
	problems *problems
}

// check compares a node with the type it will be decoded into.
func (s strictness) check(node *yaml.Node, t reflect.Type, path string) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Tag == "!!null" {
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		s.leaf(node, t, path)
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.check(node, t.Elem(), path)
	case reflect.Struct:
		if s.is(node, yaml.MappingNode, path, "a mapping") {
			s.fields(node, t, path)
		}
	case reflect.Map:
		if s.is(node, yaml.MappingNode, path, "a mapping") {
			for i := 0; i+1 < len(node.Content); i += 2 {
				s.check(node.Content[i+1], t.Elem(), path+"."+node.Content[i].Value)
			}
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return
		}
		if s.is(node, yaml.SequenceNode, path, "a list") {
			for i, item := range node.Content {
				s.check(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))
			}
		}
	default:
		s.leaf(node, t, path)
	}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (s strictness) is(node *yaml.Node, kind yaml.Kind, path, what string) bool {
	if node.Kind != kind {
		s.problems.add(s.at(node), "%s must be %s", named(path), what)
		return false
	}
	return true
}

func (s strictness) fields(node *yaml.Node, t reflect.Type, path string) {
	known := fieldsOf(t)
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		at := strings.TrimPrefix(path+"."+key.Value, ".")
		field, ok := known[key.Value]
		switch {
		case seen[key.Value]:
			s.problems.add(s.at(key), "%s stands here twice; remove one", at)
		case ok:
			s.check(node.Content[i+1], field, at)
		case s.unknown:
			s.problems.add(s.at(key), "%s is an unknown key%s", at, nearest(key.Value, known))
		}
		seen[key.Value] = true
	}
}

// leaf tries a value for itself.
func (s strictness) leaf(node *yaml.Node, t reflect.Type, path string) {
	var value any
	if err := node.Decode(&value); err != nil {
		s.problems.add(s.at(node), "%s cannot be read: %v", named(path), err)
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, reflect.New(t).Interface())
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
	case asTypeError(err, &wrong):
		s.problems.add(s.at(node), "%s is %s, which must be %s", named(path), node.Value, article(wrong.Type))
	default:
		s.problems.add(s.at(node), "%s: %v", named(path), err)
	}
}

func asTypeError(err error, wrong **json.UnmarshalTypeError) bool {
	found, is := err.(*json.UnmarshalTypeError) //nolint:errorlint // json.Unmarshal returns it bare
	*wrong = found
	return is
}

func article(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text: put it in quotes"
	case reflect.Bool:
		return "true or false"
	default:
		return "a number"
	}
}

func (s strictness) at(node *yaml.Node) Place { return Place{s.file, node.Line} }

func named(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// fieldsOf are the JSON fields of a struct, with those of embedded ones.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			for key, inner := range fieldsOf(f.Type) {
				fields[key] = inner
			}
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}

// nearest suggests the key that was meant.
func nearest(key string, known map[string]reflect.Type) string {
	best, least := "", 4
	for candidate := range known {
		if d := distance(strings.ToLower(key), strings.ToLower(candidate)); d < least || (d == least && candidate < best) {
			best, least = candidate, d
		}
	}
	if best == "" || least > 3 {
		return "; remove it"
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is how many letters must be added, removed or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, corner+cost)
		}
	}
	return row[len(b)]
}
