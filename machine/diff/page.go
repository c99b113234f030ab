// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"
	"strings"
)

// page is a Difference as a person reads it, whatever it is written on.
type page struct {
	title, verdict string
	parts          []part
}

// part is a heading and what stands under it.
type part struct {
	heading string
	items   []item
}

// item is a line and what is indented beneath it.
type item struct {
	text  string
	items []item
}

// style is how words are set off in a text.
type style struct {
	// name sets off an id, a guard or any other name of a table.
	name func(string) string
	// and joins conditions.
	and string
}

var (
	plain    = style{name: func(s string) string { return s }, and: " and "}
	markdown = style{name: func(s string) string { return "`" + s + "`" }, and: " *and* "}
)

// names joins names: "a, b".
func (s style) names(names []string) string {
	set := make([]string, len(names))
	for i, n := range names {
		set[i] = s.name(n)
	}
	return strings.Join(set, ", ")
}

// Text writes the difference for a terminal or a pipe.
func (d Difference) Text(w io.Writer) error {
	p := teller{d, plain}.page()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", p.title, p.verdict)
	for _, part := range p.parts {
		fmt.Fprintf(&b, "\n%s\n", part.heading)
		writeItems(&b, part.items, "  ", "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes the difference for a comment on a change.
func (d Difference) Markdown(w io.Writer) error {
	p := teller{d, markdown}.page()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n**%s**\n", p.title, p.verdict)
	for _, part := range p.parts {
		fmt.Fprintf(&b, "\n#### %s\n\n", part.heading)
		writeItems(&b, part.items, "", "- ")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeItems(b *strings.Builder, items []item, indent, mark string) {
	for _, i := range items {
		fmt.Fprintf(b, "%s%s%s\n", indent, mark, i.text)
		writeItems(b, i.items, indent+"  ", mark)
	}
}
