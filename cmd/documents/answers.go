// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// answer is what a command writes for programs.
type answer struct {
	// Command is its words, Output what its help says of the flag.
	Command, Output string
	Fields          []member
}

// member is a field at the top of an answer.
type member struct {
	Name, Type string
	// Optional fields are absent where there is nothing to say.
	Optional bool
}

// goType is a type by where it is declared. It is looked up in the source: the commands are a program, and no package that
// could be imported.
type goType struct{ Directory, Name string }

// answerTypes has the type of what each command writes as JSON.
func answerTypes() map[string]goType {
	const commands, inspect = "cmd/noderotation", "cmd/noderotation/inspect"
	return map[string]goType{
		"status":     {inspect, "Status"},
		"why":        {inspect, "Why"},
		"freeze":     {inspect, "Held"},
		"unfreeze":   {inspect, "Held"},
		"history":    {inspect, "History"},
		"simulate":   {"sim/simulate", "Result"},
		"table lint": {commands, "lint"},
		"table diff": {"machine/diff", "Difference"},
		"table test": {commands, "replay"},
		"table show": {commands, "tableView"},
	}
}

// readAnswers lists what the commands write as JSON. The error names every command that does and has no type here, and
// every one that has a type and does not.
func readAnswers(h help) ([]answer, error) {
	open := answerTypes()
	var all []answer
	var problems []error
	for _, command := range slices.Sorted(maps.Keys(h)) {
		output := h.output(command)
		if !strings.Contains(output, "json") {
			continue
		}
		declared, known := open[command]
		if !known {
			problems = append(problems, fmt.Errorf("`noderotation %s` writes JSON: say in cmd/documents/answers.go of which type it is", command))
			continue
		}
		delete(open, command)
		fields, err := declared.fields()
		problems = append(problems, err)
		all = append(all, answer{command, output, fields})
	}
	for command := range open {
		problems = append(problems, fmt.Errorf("cmd/documents/answers.go has a type for `noderotation %s`, which writes no JSON: drop it", command))
	}
	return all, errors.Join(problems...)
}

// fields are the fields of the type's JSON, in the order of the source.
func (t goType) fields() ([]member, error) {
	types, err := typesIn(t.Directory)
	if err != nil {
		return nil, err
	}
	structure, is := types[t.Name].(*ast.StructType)
	if !is {
		return nil, fmt.Errorf("%s has no struct %s", t.Directory, t.Name)
	}
	var all []member
	for _, field := range structure.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: the tag %s cannot be read: %w", t.Directory, t.Name, field.Tag.Value, err)
		}
		name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if name == "-" {
			continue
		}
		kind := types.inJSON(field.Type)
		if name == "" || kind == "" {
			return nil, fmt.Errorf("%s.%s: it cannot be told what the field with the tag %s is in JSON", t.Directory, t.Name, field.Tag.Value)
		}
		all = append(all, member{name, kind, strings.Contains(options, "omit")})
	}
	return all, nil
}

// goTypes are the types of one package, by their names.
type goTypes map[string]ast.Expr

func typesIn(directory string) (goTypes, error) {
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return nil, err
	}
	types := goTypes{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", path, err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if declared, is := n.(*ast.TypeSpec); is {
				types[declared.Name.Name] = declared.Type
			}
			return true
		})
	}
	return types, nil
}

// inJSON is what a value of the type is in JSON, in the words of the fields of a policy; empty if that is not known.
func (t goTypes) inJSON(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return t.inJSON(e.X)
	case *ast.StructType:
		return "object"
	case *ast.ArrayType:
		if of := t.inJSON(e.Elt); of != "" {
			return "[]" + of
		}
	case *ast.SelectorExpr:
		if e.Sel.Name == "Time" {
			return "time"
		}
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "string"
		case "bool":
			return "boolean"
		case "int", "int32", "int64", "uint64":
			return "integer"
		}
		if declared, known := t[e.Name]; known {
			return t.inJSON(declared)
		}
	}
	return ""
}
