// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// KarpenterGroupVersion is the compatibility contract with Karpenter, whatever its release (§5.1).
var KarpenterGroupVersion = schema.GroupVersion{Group: "karpenter.sh", Version: "v1"}

// NewScheme knows every type that the controller reads or writes, and no other.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(KarpenterGroupVersion,
		&karpenterv1.NodePool{}, &karpenterv1.NodePoolList{},
		&karpenterv1.NodeClaim{}, &karpenterv1.NodeClaimList{})
	metav1.AddToGroupVersion(scheme, KarpenterGroupVersion)
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, policyv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("the scheme cannot be built: %w", err)
		}
	}
	return scheme, nil
}
