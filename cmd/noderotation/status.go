// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
)

func newStatusCommand() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "status [NODEPOOL]",
		Short: "Tell how the rotation of every NodePool stands",
		Long: "Tell how the rotation of every NodePool stands: its policy and phase, its window, how many of its NodeClaims may be\n" +
			"rotated, when Karpenter expires the first one, the rotation under way, and the guard that it waits for. With a NodePool,\n" +
			"tell all of that one in sentences. It only reads: list on nodepools, nodeclaims, rotationpolicies, nodes and pods.",
		Example: "  noderotation status\n  noderotation status api\n  noderotation status -o wide\n  noderotation status -o json | jq '.nodePools[] | select(.blocked)'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return answer(cmd, flags, func(ctx context.Context, i *inspect.Inspector) (*inspect.Status, error) { return i.Status(ctx, name) })
		},
		ValidArgsFunction: flags.complete(true, 1),
	}
	flags.bind(cmd.Flags())
	flags.bindTable(cmd.Flags())
	flags.completeFlags(cmd)
	return cmd
}
