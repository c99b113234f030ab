// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine/graph"
)

func newTableGraphCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "graph [FILE]",
		Short: "Draw a table as a state diagram",
		Long: "Draw the table in FILE, - for standard input, or the built-in one: every state, and every row with its guards. A solid\n" +
			"line is an ordinary row; a dashed one with a triangle is a fallback, and a dotted one with a cross a failure or a way\n" +
			"back. The same table always gives the same drawing. A table that breaks a law is drawn all the same.\n\n" +
			"mermaid is for Markdown that renders it, such as GitHub's; dot for Graphviz; svg is a picture that needs no other\n" +
			"program, legible in light and dark." + orRevision,
		Example: "  noderotation table graph\n" +
			"  noderotation table graph my-transitions.yaml -o svg > transitions.svg\n" +
			"  noderotation table graph -o dot | dot -Tpdf -o transitions.pdf",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := newTableSource(cmd.InOrStdin()).named(cmd.Context(), namedOrBuiltin(args))
			if err != nil {
				return err
			}
			model, err := modelOf(table)
			if err != nil {
				return err
			}
			return drawGraph(cmd.OutOrStdout(), graph.Of(model, effects.Drawing(model)), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "mermaid", "mermaid, dot or svg")
	return cmd
}

func drawGraph(out io.Writer, g graph.Graph, form string) error {
	var drawn string
	switch form {
	case "mermaid":
		drawn = g.Mermaid()
	case "dot":
		drawn = g.DOT()
	case "svg":
		drawn = g.SVG()
	default:
		return fmt.Errorf("--output is %q; set it to mermaid, dot or svg", form)
	}
	_, err := io.WriteString(out, drawn)
	return err
}
