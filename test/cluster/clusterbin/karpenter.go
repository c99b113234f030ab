// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/cloudprovider/overlay"
	"sigs.k8s.io/karpenter/pkg/controllers"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator"

	"noderotation.io/noderotation/test/cluster/clusterbin/provider"
)

// runKarpenter is Karpenter as it is, on its own kwok provider, with our trouble between the two.
//
// Trouble is read past the cache: what a test has written holds for the very next launch.
func runKarpenter() int {
	ctx, op := operator.NewOperator()
	instanceTypes, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		fmt.Fprintf(os.Stderr, "the kwok provider's instance types cannot be read: %v\n", err)
		return 1
	}
	registrar := provider.NewRegistrar(op.GetClient())
	troubled := provider.New(
		kwok.NewCloudProvider(ctx, registrar, instanceTypes),
		instanceTypes,
		registrar,
		provider.NewTroubleSource(op.GetAPIReader(), op.GetClient()),
	)
	decorated := overlay.Decorate(troubled, op.GetClient(), op.InstanceTypeStore)
	op.WithControllers(ctx, controllers.NewControllers(
		ctx,
		op.Manager,
		op.Clock,
		op.GetClient(),
		op.EventRecorder,
		decorated,
		troubled,
		state.NewCluster(op.Clock, op.GetClient(), decorated),
		op.InstanceTypeStore,
	)...).Start(ctx)
	return 0
}
