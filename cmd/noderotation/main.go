// SPDX-License-Identifier: Apache-2.0

// Command noderotation replaces each Karpenter node before its expireAfter, inside the maintenance window that its owners
// chose, with the new capacity standing before the old node drains.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks the command to end, the next one ends it.
	context.AfterFunc(ctx, stop)
	name := commandName(os.Args[0])
	root := calledAs(newRoot(), name)
	root.SetIn(stoppable{ctx, os.Stdin})
	err := root.ExecuteContext(ctx)
	stop()
	os.Exit(exit(os.Stderr, name, err))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           product,
		Short:         "Replace Karpenter nodes before they expire, inside a maintenance window, replacement first",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionOf(),
	}
	root.SetVersionTemplate(versionLine())
	root.AddCommand(newControllerCommand(), newSimulateCommand(), newTableCommand(), newVersionCommand(),
		newStatusCommand(), newWhyCommand(), newFreezeCommand(), newUnfreezeCommand(), newHistoryCommand())
	addPluginCompletion(root)
	return grouping(root)
}
