// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Format is how an answer is written.
type Format string

// The formats. Wide is a table without an end to its right.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Formats are all that there are.
func Formats() []string { return []string{string(Table), string(Wide), string(JSON), string(YAML)} }

// ParseFormat reads a format; none is a table.
func ParseFormat(text string) (Format, error) {
	if text == "" {
		return Table, nil
	}
	if !slices.Contains(Formats(), text) {
		return "", fmt.Errorf("--output is %q; set it to %s", text, strings.Join(Formats(), ", "))
	}
	return Format(text), nil
}

// Answer is what a command tells: for people by Text, for programs by its exported fields.
type Answer interface {
	// Text is for a terminal or a pipe alike; wide asks for all there is on one line.
	Text(wide bool) string
}

// Write writes an answer in a format.
func Write(out io.Writer, answer Answer, format Format) error {
	var text []byte
	var err error
	switch format {
	case JSON:
		text, err = json.MarshalIndent(answer, "", "  ")
		text = append(text, '\n')
	case YAML:
		text, err = yaml.Marshal(answer)
	default:
		text = []byte(answer.Text(format == Wide))
	}
	if err != nil {
		return fmt.Errorf("the answer cannot be written as %s: %w", format, err)
	}
	_, err = out.Write(text)
	return err
}
