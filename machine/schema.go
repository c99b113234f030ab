// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SchemaOptions are what Schema cannot read off guards and effects.
type SchemaOptions struct {
	// Title and Description are for the reader of the schema.
	Title, Description string
	// States are all that a table may have, and must.
	States []State
	// Bound is the longest `requeue`: at least a second.
	Bound time.Duration
}

// Schema is a JSON Schema (2020-12) of a table: it lets an editor complete a file with the names that there are, each
// with its description, and point out what Parse and law known-names would refuse. Its bytes depend on nothing but
// what is handed in. Laws that look at several places of a table are beyond it.
func Schema(guards []GuardDecl, effects []EffectDecl, o SchemaOptions) ([]byte, error) {
	defs := map[string]*schema{
		"state":   choice(o.States, func(s State) *schema { return constant(s.Name, s.About) }),
		"effect":  choice(effects, func(e EffectDecl) *schema { return constant(e.Name, e.About+" "+e.Section) }),
		"requeue": {Type: "string", Pattern: requeuePattern(o.Bound), Description: fmt.Sprintf("The longest that a pass may sleep after this row: whole seconds or minutes, at most %s.", o.Bound)},
		"line":    {Type: "string", Pattern: `^[^\r\n]*\S[^\r\n]*$`},
	}
	var conditions []*schema
	for _, g := range guards {
		conditions = append(conditions, constant(Is(g.Name).String(), g.About+" "+g.Section))
	}
	for _, g := range guards {
		conditions = append(conditions, constant(IsNot(g.Name).String(), "Not: "+g.About+" "+g.Section))
	}
	defs["condition"] = &schema{AnyOf: conditions}
	defs["row"] = rowSchema()
	states := object(nil, nil, map[string]*schema{})
	for _, s := range o.States {
		states.Properties[s.Name] = object(stateKeys, nil, map[string]*schema{"about": described(ref("line"), "One line for the reader.")})
		states.Properties[s.Name].Description = s.About
		states.Required = append(states.Required, s.Name)
	}
	root := object(tableKeys, nil, map[string]*schema{
		"initial":     described(ref("state"), "The state in which nothing is under way."),
		"states":      described(states, "The states, each with a line for the reader."),
		"transitions": {Type: "array", MinItems: 1, Items: ref("row"), Description: "The rows: in each state they are tried from top to bottom, and the first whose conditions all hold fires."},
	})
	root.Dialect, root.Title, root.Description, root.Defs = "https://json-schema.org/draft/2020-12/schema", o.Title, o.Description, defs
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("the schema cannot be written: %w", err)
	}
	return out.Bytes(), nil
}

func rowSchema() *schema {
	one := ref("state")
	several := &schema{Type: "array", MinItems: 1, UniqueItems: true, Items: ref("state")}
	return object(rowKeys, []string{"when", "do"}, map[string]*schema{
		"id":      {Type: "string", Pattern: namePattern.String(), Description: "Names the row for good: in logs, metrics, documents and diffs."},
		"from":    {AnyOf: []*schema{one, several}, Description: "The state in which the row is tried, or a list of them."},
		"event":   described(ref("line"), "What happened. No two rows of a state have the same."),
		"to":      described(ref("state"), "The state that the row leaves behind."),
		"when":    {Type: "array", UniqueItems: true, Items: ref("condition"), Description: "Guards, or `not` and a guard: all must hold. Left out: always."},
		"do":      {Type: "array", UniqueItems: true, Items: ref("effect"), Description: "Effects, carried out in this order; each is idempotent."},
		"requeue": ref("requeue"),
		"about":   described(ref("line"), "One line for the reader."),
	})
}

// schema is the part of JSON Schema that a table needs.
type schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type,omitempty"`
	Const       string             `json:"const,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	MinItems    int                `json:"minItems,omitempty"`
	UniqueItems bool               `json:"uniqueItems,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	// Closed objects have no property but these.
	Closed *bool              `json:"additionalProperties,omitempty"`
	Defs   map[string]*schema `json:"$defs,omitempty"`
}

func ref(name string) *schema { return &schema{Ref: "#/$defs/" + name} }

func constant(value, description string) *schema {
	return &schema{Const: value, Description: strings.TrimSpace(description)}
}

func described(s *schema, description string) *schema {
	s.Description = description
	return s
}

// choice is one of several values.
func choice[T any](values []T, of func(T) *schema) *schema {
	s := &schema{}
	for _, v := range values {
		s.AnyOf = append(s.AnyOf, of(v))
	}
	return s
}

// object is a mapping that has these keys and no other; all but the optional ones are required.
func object(keys, optional []string, properties map[string]*schema) *schema {
	s := &schema{Type: "object", Properties: properties, Closed: new(false)}
	for _, key := range keys {
		if !slices.Contains(optional, key) {
			s.Required = append(s.Required, key)
		}
	}
	return s
}

// requeuePattern matches whole seconds and whole minutes from one up to a bound.
func requeuePattern(bound time.Duration) string {
	forms := []string{upTo(int(bound/time.Second)) + "s"}
	if minutes := int(bound / time.Minute); minutes > 0 {
		forms = append(forms, upTo(minutes)+"m(0s)?")
	}
	return "^(" + strings.Join(forms, "|") + ")$"
}

// upTo matches the numbers from 1 to most, in decimal.
func upTo(most int) string {
	digits := strconv.Itoa(most)
	var forms []string
	for n := 1; n < len(digits); n++ {
		forms = append(forms, "[1-9]"+anyDigits(n-1))
	}
	for i, digit := range digits {
		lowest := '0'
		if i == 0 {
			lowest = '1'
		}
		if digit > lowest {
			forms = append(forms, fmt.Sprintf("%s[%c-%c]%s", digits[:i], lowest, digit-1, anyDigits(len(digits)-i-1)))
		}
	}
	return "(" + strings.Join(append(forms, digits), "|") + ")"
}

func anyDigits(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[0-9]{%d}", n)
}
