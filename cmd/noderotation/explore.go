// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/explore"
)

func newTableExploreCommand() *cobra.Command {
	explorer := explore.Explorer{Clock: clock.RealClock{}}
	replay := ""
	cmd := &cobra.Command{
		Use:   "explore [FILE]",
		Short: "Try everything that can happen to a rotation, and everything that can go wrong in a pass",
		Long: "Explore small clusters on the table in FILE, or on the built-in one: every move that their actors can make, and every\n" +
			"way in which a pass can be cut short, refused, overtaken or misled by its cache. In every state the invariants of a\n" +
			"rotation are checked, and that the cluster can be brought back to idle with nothing left behind. A breach is printed as\n" +
			"a script of a shortest path to it, and the exit status is then 1. Such a script is gone through again with --replay,\n" +
			"which tells what every step does.",
		Example: "  noderotation table explore\n" +
			"  noderotation table explore my-transitions.yaml --states 1000000 --for 10m\n" +
			"  noderotation table explore my-transitions.yaml --replay breach.txt",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := controllerFlags{transitions: strings.Join(args, "")}
			machine, err := flags.table()
			if err != nil {
				return err
			}
			if replay != "" {
				return retraced(cmd.OutOrStdout(), replay, machine)
			}
			if explorer.Most < 1 || explorer.Workers < 1 || explorer.For < 0 {
				return fmt.Errorf("--states is %d, --workers %d and --for %s; set the first two to 1 or more, and the last to no less than zero",
					explorer.Most, explorer.Workers, explorer.For)
			}
			explorer.Machine = machine
			return explored(cmd, explorer)
		},
	}
	cmd.Flags().IntVar(&explorer.Most, "states", 200_000, "how many states to explore")
	cmd.Flags().DurationVar(&explorer.For, "for", 0, "how long to explore at most; 0 for as long as it takes")
	cmd.Flags().StringVar(&replay, "replay", "", "a script to go through instead, as it is printed of a breach")
	cmd.Flags().IntVar(&explorer.Workers, "workers", runtime.GOMAXPROCS(0), "how many states to explore side by side")
	return cmd
}

// explored explores, and tells what was. The error is the breach, or what stopped it before it was done.
func explored(cmd *cobra.Command, explorer explore.Explorer) error {
	// Nearly all that an exploration makes is garbage at once, and what stays is small.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	bar := newProgress(cmd.ErrOrStderr(), explorer.Clock)
	explorer.Progress = func(_ string, whole explore.Result) bool {
		bar.show(float64(whole.States) / float64(explorer.Most))
		return cmd.Context().Err() == nil
	}
	begun := explorer.Clock.Now()
	result := explorer.Run()
	bar.clear()
	if err := tellExplored(cmd.OutOrStdout(), result, explorer.Clock.Since(begun), explorer.Machine); err != nil {
		return err
	}
	if breach := result.Breach; breach != nil {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "\na script that replays the breach\n\n%s", breach.Script()); err != nil {
			return err
		}
		return fmt.Errorf("an invariant breaks in the scene %q: %s", breach.Scene, breach.What)
	}
	if stopped := context.Cause(cmd.Context()); stopped != nil {
		return fmt.Errorf("no invariant breaks as far as was explored, and that was stopped before it was done: %w", stopped)
	}
	return nil
}

// retraced goes through the script in the file, and tells what comes of it. The error says that an invariant breaks.
func retraced(out io.Writer, file string, machine *controller.Machine) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--replay: the script cannot be read: %w", err)
	}
	script, err := explore.ReadScript(file, string(content))
	if err != nil {
		return err
	}
	text, breached, err := script.Play(machine, nil)
	if _, failed := io.WriteString(out, text); failed != nil {
		return failed
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	case breached:
		return fmt.Errorf("%s: an invariant breaks on this way", file)
	}
	return nil
}

func tellExplored(out io.Writer, result explore.Result, took time.Duration, machine *controller.Machine) error {
	text := fmt.Sprintf("%d states found in %s, %d of them expanded in every direction: %d steps, up to %d deep, and at most %d back to a clean cluster\n",
		result.States, took.Round(time.Second), result.Expanded, result.Steps, result.Depth, result.Return)
	rows := map[string]int{}
	for _, row := range machine.Table().Rows {
		rows[row.ID] = result.Coverage.Rows[row.ID]
	}
	for _, part := range []struct {
		title  string
		counts map[string]int
	}{{"rows fired", rows}, {"cut off after", result.Coverage.Cut}, {"went wrong", result.Coverage.Faults()}, {"moves", result.Coverage.Moves()}} {
		text += "\n" + part.title + "\n"
		for _, name := range slices.Sorted(maps.Keys(part.counts)) {
			text += fmt.Sprintf("  %10d  %s\n", part.counts[name], name)
		}
	}
	_, err := io.WriteString(out, text)
	return err
}
