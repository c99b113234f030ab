// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

// newTableCommand holds the commands about the transition table as a document.
func newTableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Look at a transition table: what it means, and what a change to it would do",
	}
	cmd.AddCommand(newTableShowCommand(), newTableGraphCommand(), newTableLintCommand(), newTableDiffCommand(), newTableTestCommand(),
		newTableExploreCommand())
	return cmd
}
