// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/diff"
)

func newTableDiffCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "diff OLD [NEW]",
		Short: "Tell what a change of a table means: in which cases something else happens, and what",
		Long: "Compare what two tables mean, not their texts: in which cases of which state another row fires, leads elsewhere or does\n" +
			"something else. Beside that it tells which ids and events have other names, what can be reached in one table only, and\n" +
			"which laws are broken or mended. A table that breaks a law is compared all the same.\n\n" +
			"OLD and NEW are each a file, - for standard input, builtin for the table in this binary, or a revision of git's: main is\n" +
			"transitions.yaml at the root of the repository as it is in main, and main:deploy/my.yaml another file. A file goes before\n" +
			"a revision of the same name. Without NEW it is transitions.yaml at the root of the repository that the working directory\n" +
			"is in, as it is now, and the built-in table where there is none.\n\n" +
			"The exit status is 0 if the meaning is the same, 1 if it changes, and 2 if the tables cannot be compared. Names, texts and\n" +
			"laws are no meaning: see `noderotation table lint` for the laws.",
		Example: "  noderotation table diff main\n" +
			"  noderotation table diff main feature -o markdown\n" +
			"  noderotation table diff builtin my-transitions.yaml",
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := compared(cmd.Context(), newTableSource(cmd.InOrStdin()), args)
			if err == nil {
				err = tellDifference(cmd.OutOrStdout(), d, output)
			}
			switch {
			case err != nil:
				return &statusError{Status: statusTrouble, Err: err}
			case d.Changed:
				return &statusError{Status: statusChanged}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, markdown or json")
	return judging(cmd)
}

// compared reads the tables and compares them.
func compared(ctx context.Context, source tableSource, names []string) (diff.Difference, error) {
	tables := make([]*machine.Table, 2)
	for i := range tables {
		var err error
		if i < len(names) {
			tables[i], err = source.named(ctx, names[i])
		} else {
			tables[i], err = source.current(ctx)
		}
		if err != nil {
			return diff.Difference{}, err
		}
	}
	old, err := modelOf(tables[0])
	if err != nil {
		return diff.Difference{}, err
	}
	now, err := modelOf(tables[1])
	if err != nil {
		return diff.Difference{}, err
	}
	return diff.Compare(old, now, controller.Laws()), nil
}

func tellDifference(out io.Writer, d diff.Difference, form string) error {
	switch form {
	case "text":
		return d.Text(out)
	case "markdown":
		return d.Markdown(out)
	case "json":
		return writeJSON(out, d)
	}
	return fmt.Errorf("--output is %q; set it to text, markdown or json", form)
}

// writeJSON writes a value for a program, and readable.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
