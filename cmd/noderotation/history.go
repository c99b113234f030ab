// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
)

func newHistoryCommand() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "history NODEPOOL",
		Short: "Tell what Events and annotations still know of past rotations",
		Long: "Tell what the Events of the controller and the annotations of the NodePool and its NodeClaims still know of past\n" +
			"rotations, the oldest first, and how far back that reaches. It only reads: list on events in the namespace default, and\n" +
			"on nodepools, nodeclaims and rotationpolicies.",
		Example: "  noderotation history api\n  noderotation history api -o json",
		Args:    oneName("no NodePool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd, flags, func(ctx context.Context, i *inspect.Inspector) (*inspect.History, error) {
				return i.History(ctx, args[0])
			})
		},
		ValidArgsFunction: flags.complete(true, 1),
	}
	flags.bind(cmd.Flags())
	flags.completeFlags(cmd)
	return cmd
}
