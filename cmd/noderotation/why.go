// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
)

func newWhyCommand() *cobra.Command {
	flags := &clusterFlags{}
	cmd := &cobra.Command{
		Use:   "why NODEPOOL | NODECLAIM | NODE",
		Short: "Explain what is decided at this moment, row by row, and what it rests on",
		Long: "Explain what is decided about a NodePool at this moment: each row of the table for its state, what each guard says, the\n" +
			"row that fires and what it would do, and when that next changes by itself. Of a NodeClaim or Node, explain why it is, or\n" +
			"is not, the next to be rotated, and what would hold its drain. The decision is made here, by the controller's own code,\n" +
			"over what you may read: list on nodepools, nodeclaims, rotationpolicies, nodes, pods and poddisruptionbudgets. Where one\n" +
			"name means several things, write nodepool/NAME, nodeclaim/NAME or node/NAME.",
		Example: "  noderotation why api\n  noderotation why api-4xk2z\n  noderotation why node/ip-10-0-12-7.ec2.internal\n  noderotation why api --transitions mine.yaml",
		Args:    oneName("no NodePool, NodeClaim or Node"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd, flags, func(ctx context.Context, i *inspect.Inspector) (*inspect.Why, error) { return i.Why(ctx, args[0]) })
		},
		ValidArgsFunction: flags.complete(false, 1),
	}
	flags.bind(cmd.Flags())
	flags.bindTable(cmd.Flags())
	flags.completeFlags(cmd)
	return cmd
}
