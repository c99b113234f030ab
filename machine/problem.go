// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a table, said to the person who
// edits it.
type Problem struct { //nolint:errname // it is a finding first, and an error to who asked for a table
	// File and Line say where; a line of 0 is the file as a whole.
	File string
	Line int
	// Row or State names what is wrong, where it can be named.
	Row, State string
	// Law is the law that is broken; empty if this could not be read.
	Law string
	// Message says what is wrong and what to do.
	Message string
}

// Error is the problem on one line:
//
//	transitions.yaml:42: row start: unknown key "whne"; …
//	transitions.yaml:42: row start breaks law no-shadow: it can never fire …
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	switch subject := p.subject(); {
	case p.Law != "":
		fmt.Fprintf(&b, "%s breaks law %s: ", cmp.Or(subject, "the table"), p.Law)
	case subject != "":
		b.WriteString(subject + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

func (p Problem) subject() string {
	switch {
	case p.Row != "":
		return "row " + p.Row
	case p.State != "":
		return "state " + p.State
	}
	return ""
}

// Problems is everything that is wrong with a table, sorted by line.
type Problems []Problem //nolint:errname // see Problem

// Error has one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes each problem visible to errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted orders the problems by line; those of one line keep their order.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return ps
}

// err is nil if there is no problem: a nil Problems in an error is not nil.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.sorted()
}
