// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/scripts"
)

func newTableTestCommand() *cobra.Command {
	var directory string
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Replay the scenario scripts on a table, and show the traces that differ",
		Long: "Replay the scenario scripts on the table in FILE, or on the built-in one, and show where a trace is not the one in\n" +
			"the script: \"-\" stands before what the script has, \"+\" before what came. The exit status is 1 when one differs.",
		Example: "  noderotation table test my-transitions.yaml\n" +
			"  noderotation table test my-transitions.yaml --scenarios sim/scripts/testdata",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := controllerFlags{transitions: strings.Join(args, "")}
			machine, err := flags.table()
			if err != nil {
				return err
			}
			return replay(cmd.OutOrStdout(), machine, flags.tableName(), directory)
		},
	}
	cmd.Flags().StringVar(&directory, "scenarios", "", "directory with the scripts, *.txt; default: those that are built in")
	return cmd
}

// replay runs the scripts of a directory on a table. The error says how many came out differently.
func replay(out io.Writer, machine *controller.Machine, table, directory string) error {
	files, name := scripts.Library(), "built-in"
	if directory != "" {
		files, name = os.DirFS(directory), directory
	}
	all, err := scripts.ReadAll(files, name)
	if err != nil {
		return err
	}
	differing := 0
	for _, script := range all {
		differences := replayed(script, machine)
		if len(differences) == 0 {
			continue
		}
		differing++
		if _, err := fmt.Fprintf(out, "%s (%s)\n%s\n\n", script.Title, strings.Join(script.Sections, ", "), strings.Join(differences, "\n")); err != nil {
			return err
		}
	}
	if differing > 0 {
		return fmt.Errorf("%d of %d scenarios come out differently on the table %s", differing, len(all), table)
	}
	_, err = fmt.Fprintf(out, "all %d scenarios come out as written on the table %s\n", len(all), table)
	return err
}

// replayed is what differs in one script. That a step cannot be made any more is a difference like any other.
func replayed(script *scripts.Script, machine *controller.Machine) []string {
	ran, err := script.Run(machine)
	var told []string
	if ran != nil {
		for _, difference := range script.Differences(ran.Document) {
			told = append(told, difference.String())
		}
	}
	if err != nil {
		told = append(told, "the scenario ends early: "+err.Error())
	}
	return told
}
