// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
)

func newTableLintCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "lint [FILE]",
		Short: "Check a table against the laws: all that is wrong, and what to do",
		Long: "Check the table in FILE, - for standard input, or the built-in one, as the controller does before it runs it: whether it\n" +
			"can be read, and whether it obeys every law. All that is wrong is told at once, each with its line, its row, the law,\n" +
			"and what to do; then why the law is there. A warning breaks no law.\n\n" +
			"Where something cannot be read, a key, a value or a whole row, the rest is still held to law known-names, in the same\n" +
			"answer: the guards, effects and states that it names, and that no two rows have one id, or one event from one state.\n" +
			"The other laws look at the whole of a table, and wait until it can be read.\n\n" +
			"The exit status is 1 if the table would be refused." + orRevision,
		Example: "  noderotation table lint transitions.yaml\n" +
			"  noderotation table lint transitions.yaml -o json | jq -r '.problems[].law'",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := linted(cmd, args)
			if err != nil {
				return err
			}
			if err := tellLint(cmd.OutOrStdout(), l, output); err != nil {
				return err
			}
			return l.verdict()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	return cmd
}

// lint is what was found in a table.
type lint struct {
	Table string `json:"table"`
	// Obeys is true when the controller would run it.
	Obeys bool `json:"obeys"`
	// States, Rows and Laws count what was looked at; zero if the table cannot be read.
	States   int       `json:"states"`
	Rows     int       `json:"rows"`
	Laws     int       `json:"laws"`
	Problems []problem `json:"problems"`
	Warnings []problem `json:"warnings"`
}

// problem is a machine.Problem for programs.
type problem struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Row   string `json:"row,omitempty"`
	State string `json:"state,omitempty"`
	// Law that is broken, and Reason, why it is there; empty for what cannot be read, and for a warning.
	Law     string `json:"law,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`

	text string
}

// linted reads and checks a table. The error is one that says nothing about it: it cannot be opened.
func linted(cmd *cobra.Command, args []string) (lint, error) {
	l := lint{Table: namedOrBuiltin(args), Problems: []problem{}, Warnings: []problem{}}
	table, err := newTableSource(cmd.InOrStdin()).named(cmd.Context(), l.Table)
	if wrong, is := errors.AsType[machine.Problems](err); is {
		l.Problems = problemsOf(wrong, controller.Laws())
		return l, nil
	}
	if err != nil {
		return l, err
	}
	model, err := modelOf(table)
	if err != nil {
		return l, err
	}
	laws := controller.Laws()
	l.States, l.Rows, l.Laws = len(table.States), len(table.Rows), len(laws)
	l.Problems = problemsOf(model.Check(laws), laws)
	l.Warnings = problemsOf(model.Warnings(), nil)
	l.Obeys = len(l.Problems) == 0
	return l, nil
}

// namedOrBuiltin is the table that the arguments name.
func namedOrBuiltin(args []string) string {
	if len(args) == 0 {
		return builtin
	}
	return args[0]
}

func problemsOf(all machine.Problems, laws []machine.Law) []problem {
	told := make([]problem, len(all))
	for i, p := range all {
		told[i] = problem{File: p.File, Line: p.Line, Row: p.Row, State: p.State, Law: p.Law, Message: p.Message, text: p.Error()}
		if j := slices.IndexFunc(laws, func(law machine.Law) bool { return law.Name == p.Law }); j >= 0 {
			told[i].Reason = laws[j].Reason
		}
	}
	return told
}

// verdict is the error that ends the command if the table would be refused.
func (l lint) verdict() error {
	var laws []string
	for _, p := range l.Problems {
		if p.Law != "" && !slices.Contains(laws, p.Law) {
			laws = append(laws, p.Law)
		}
	}
	switch {
	case l.Obeys:
		return nil
	case l.unread():
		return fmt.Errorf("the table %s cannot be read: %s", l.Table, counted(len(l.Problems), "problem"))
	default:
		return fmt.Errorf("the table %s breaks %s: %s", l.Table, counted(len(laws), "law"), counted(len(l.Problems), "problem"))
	}
}

// unread is true where the table could not be read wholly.
func (l lint) unread() bool {
	return slices.ContainsFunc(l.Problems, func(p problem) bool { return p.Law == "" })
}

// counted is a number with its noun: "1 law", "2 laws".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func tellLint(out io.Writer, l lint, form string) error {
	switch form {
	case "text":
		_, err := io.WriteString(out, l.text())
		return err
	case "json":
		return writeJSON(out, l)
	}
	return fmt.Errorf("--output is %q; set it to text or json", form)
}

// text has the problems and warnings, one on a line, and then the reasons of the laws that are broken.
func (l lint) text() string {
	var b strings.Builder
	var reasons []string
	for _, p := range l.Problems {
		b.WriteString(p.text + "\n")
		if reason := "  " + p.Law + ": " + p.Reason; p.Law != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, p := range l.Warnings {
		b.WriteString("warning: " + p.text + "\n")
	}
	if len(reasons) > 0 {
		b.WriteString("\nWhy:\n" + strings.Join(reasons, "\n") + "\n")
	}
	if l.unread() {
		b.WriteString("\nThe laws beside known-names are looked at once the table can be read.\n")
	}
	if l.Obeys {
		fmt.Fprintf(&b, "The table %s obeys all %s: %s, %s.\n", l.Table, counted(l.Laws, "law"), counted(l.States, "state"), counted(l.Rows, "row"))
	}
	return b.String()
}
