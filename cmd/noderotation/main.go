// SPDX-License-Identifier: Apache-2.0

// Command noderotation replaces each Karpenter node before its expireAfter, inside the maintenance window that its owners
// chose, with the new capacity standing before the old node drains.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRoot().ExecuteContext(ctx)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "noderotation: %v\n", err)
		os.Exit(1)
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "noderotation",
		Short:         "Replace Karpenter nodes before they expire, inside a maintenance window, replacement first",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
	}
	root.AddCommand(newControllerCommand(), newSimulateCommand(), newTableCommand(), newVersionCommand())
	return root
}
