// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/simulate"
)

// readCluster takes in what the cluster of the current kubeconfig has. It only lists.
func (f *simulateFlags) readCluster(ctx context.Context, in *simulate.Input) error {
	config, err := restConfig(f.kubeconfig)
	if problem := missingKubeconfig(f.kubeconfig); err != nil && problem != nil {
		return fmt.Errorf("--from-cluster: no cluster to read: %w", problem)
	}
	if err != nil {
		return fmt.Errorf("--from-cluster: no cluster to read: name a kubeconfig with --kubeconfig or $KUBECONFIG: %w", err)
	}
	scheme, err := controller.NewScheme()
	if err != nil {
		return err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err == nil {
		err = listCluster(ctx, in, reader)
	}
	if err != nil {
		return fmt.Errorf("--from-cluster: %w", inspect.Explain("list", err))
	}
	return nil
}

// listCluster lists each kind. Rights that are missing are told together, and any other error by itself, since what comes
// after it would most often fail in the same way.
func listCluster(ctx context.Context, in *simulate.Input, reader client.Reader) error {
	var denied []controller.Denial
	for _, list := range []func() error{
		func() error {
			err := listed(ctx, in, reader, "RotationPolicies", &v1alpha1.RotationPolicyList{},
				func(l *v1alpha1.RotationPolicyList) []v1alpha1.RotationPolicy { return l.Items })
			if meta.IsNoMatchError(err) {
				return nil // a policy is tried before anything is installed
			}
			return err
		},
		func() error {
			return listed(ctx, in, reader, "NodePools", &karpenterv1.NodePoolList{},
				func(l *karpenterv1.NodePoolList) []karpenterv1.NodePool { return l.Items })
		},
		func() error {
			return listed(ctx, in, reader, "NodeClaims", &karpenterv1.NodeClaimList{},
				func(l *karpenterv1.NodeClaimList) []karpenterv1.NodeClaim { return l.Items })
		},
		func() error {
			return listed(ctx, in, reader, "Nodes", &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items })
		},
		func() error {
			return listed(ctx, in, reader, "Pods", &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items })
		},
		func() error {
			return listed(ctx, in, reader, "PodDisruptionBudgets", &policyv1.PodDisruptionBudgetList{},
				func(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items })
		},
	} {
		err := list()
		denial, is := controller.DenialOf("list", err)
		switch {
		case is:
			denied = append(denied, denial)
		case err != nil:
			return err
		}
	}
	if len(denied) > 0 {
		return &inspect.DeniedError{Denials: denied}
	}
	return nil
}

// listed lists one kind into the input; kinds is what people call several of it.
func listed[L client.ObjectList, T any, P interface {
	*T
	client.Object
}](ctx context.Context, in *simulate.Input, reader client.Reader, kinds string, list L, items func(L) []T) error {
	if err := reader.List(ctx, list); err != nil {
		return fmt.Errorf("the %s cannot be listed: %w", kinds, err)
	}
	all := items(list)
	for i := range all {
		in.Add(P(&all[i]))
	}
	return nil
}
