// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Preflight fails fast, with a sentence for each thing that is missing, unless the cluster serves karpenter.sh/v1 with
// its NodeClaims and NodePools and the RotationPolicy CRD, lets us read them and all else that is watched (§5.1), and has
// the namespace that leases and placeholders are made in; elects says that a leader is elected there. That the objects decode
// into the v1 types confirms the wire schema; fields are not looked into.
func Preflight(ctx context.Context, config *rest.Config, namespace string, elects bool) error {
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("preflight: the API server cannot be addressed: %w", err)
	}
	if _, err := served.ServerVersion(); err != nil {
		return fmt.Errorf("preflight: the API server at %s does not answer; check the kubeconfig or the Pod's service account: %w", config.Host, err)
	}
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("preflight: the API server at %s cannot be reached; check the kubeconfig or the Pod's service account: %w", config.Host, err)
	}
	return errors.Join(
		serves(served, KarpenterGroupVersion, "install Karpenter v1 or later, or use a cluster that has it, such as EKS Auto Mode", "nodeclaims", "nodepools"),
		serves(served, v1alpha1.GroupVersion, "install the CRD of RotationPolicy", "rotationpolicies"),
		readable(ctx, reader, "nodeclaims.karpenter.sh", &karpenterv1.NodeClaimList{}),
		readable(ctx, reader, "nodepools.karpenter.sh", &karpenterv1.NodePoolList{}),
		readable(ctx, reader, "rotationpolicies.noderotation.io", &v1alpha1.RotationPolicyList{}),
		readable(ctx, reader, "nodes", &corev1.NodeList{}),
		readable(ctx, reader, "pods", &corev1.PodList{}),
		readable(ctx, reader, "poddisruptionbudgets.policy", &policyv1.PodDisruptionBudgetList{}),
		namespaced(ctx, config, namespace, elects),
	)
}

// namespaced checks that there is the namespace. To read namespaces takes a right of its own; but nothing is created where
// there is none, and a lease that is only rehearsed tells. Whose rights end at the namespace has none in one that is missing.
func namespaced(ctx context.Context, config *rest.Config, namespace string, elects bool) error {
	leases, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("preflight: the leases cannot be asked for: %w", err)
	}
	rehearsed := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: LeaseName + "-preflight"}}
	_, err = leases.Leases(namespace).Create(ctx, rehearsed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("preflight: there is no namespace %s for the lease and the placeholders: create it, or name another one with --namespace: %w", namespace, err)
	case apierrors.IsForbidden(err) && elects:
		return fmt.Errorf("preflight: RBAC does not let this service account create leases in namespace %s, by which the leader is elected; "+
			"create the namespace if it is missing, and grant get, create and update there, or name another one with --namespace: %w", namespace, err)
	default:
		return nil
	}
}

// serves checks that the cluster serves the resources of the group and version.
func serves(served discovery.DiscoveryInterface, gv schema.GroupVersion, remedy string, resources ...string) error {
	list, err := served.ServerResourcesForGroupVersion(gv.String())
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("preflight: the cluster does not serve %s: %s", gv, remedy)
	case err != nil:
		return fmt.Errorf("preflight: the cluster cannot be asked whether it serves %s: %w", gv, err)
	}
	have := map[string]bool{}
	for _, r := range list.APIResources {
		have[r.Name] = true
	}
	var missing []string
	for _, r := range resources {
		if !have[r] {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("preflight: the cluster serves %s without %s: %s", gv, strings.Join(missing, " and "), remedy)
	}
	return nil
}

// readable checks that RBAC lets us list, and that what is listed decodes. A resource that is not served has been
// reported already.
func readable(ctx context.Context, reader client.Client, resource string, list client.ObjectList) error {
	err := reader.List(ctx, list, client.Limit(1))
	switch {
	case err == nil || apierrors.IsNotFound(err) || isNoMatch(err):
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("preflight: RBAC does not let this service account list %s; grant list and watch: %w", resource, err)
	default:
		return fmt.Errorf("preflight: %s cannot be listed: %w", resource, err)
	}
}

func isNoMatch(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Reason == metav1.StatusReasonNotFound
	}
	return discovery.IsGroupDiscoveryFailedError(err) || meta.IsNoMatchError(err)
}
