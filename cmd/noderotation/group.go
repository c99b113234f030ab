// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// grouping has each command that only holds others show its help, and refuse the name of a command that it has not: cobra
// looks at the arguments of those commands alone that do something.
func grouping(root *cobra.Command) *cobra.Command {
	root.InitDefaultHelpCmd()
	for _, cmd := range everyCommand(root) {
		switch {
		case cmd.HasSubCommands() && !cmd.Runnable():
			cmd.Args = noSuchCommand
			cmd.DisableFlagsInUseLine = true
			cmd.SuggestionsMinimumDistance = 2
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case cmd.Parent() == root && cmd.Name() == "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || !found.HasSubCommands() {
					return err
				}
				return noSuchCommand(found, rest)
			}
		}
	}
	return root
}

// noSuchCommand refuses what stands where a command's name should, with the names that it may have been meant for.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	advice := "it has " + strings.Join(namesOf(cmd), ", ")
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		advice = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], cmd.CommandPath(), advice)
}

func namesOf(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}
