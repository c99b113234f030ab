// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// policyFor describes a policy for the fleet alone under which every node is due at once, at any time of the day, and all
// pauses are short.
func policyFor(name string, changes ...func(*v1alpha1.RotationPolicySpec)) *v1alpha1.RotationPolicy {
	policy := &v1alpha1.RotationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "RotationPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RotationPolicySpec{
			NodePoolSelector:   metav1.LabelSelector{MatchLabels: map[string]string{labelFleet: name}},
			AgeThreshold:       "1s",
			MaintenanceWindows: always(),
			Surge: v1alpha1.Surge{
				ReadyTimeout:  seconds(90),
				CooldownAfter: seconds(1),
				FailurePause:  seconds(5),
				RetryBackoff:  seconds(5),
			},
		},
	}
	for _, change := range changes {
		change(&policy.Spec)
	}
	return policy
}

func always() []v1alpha1.MaintenanceWindow {
	return []v1alpha1.MaintenanceWindow{{
		Timezone: "UTC", Start: "00:00", End: "24:00",
		Days: []v1alpha1.Day{
			v1alpha1.Monday, v1alpha1.Tuesday, v1alpha1.Wednesday, v1alpha1.Thursday, v1alpha1.Friday, v1alpha1.Saturday, v1alpha1.Sunday,
		},
	}}
}

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// governs applies a policy, and has it removed with the scenario.
func (s *scenario) governs(ctx context.Context, policy *v1alpha1.RotationPolicy) {
	GinkgoHelper()
	s.policies = append(s.policies, policy.Name)
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": policy.APIVersion, "kind": policy.Kind, "metadata": policy.ObjectMeta, "spec": policy.Spec,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(shared.Apply(ctx, manifest)).To(Succeed())
}

func deletePolicy(ctx context.Context, name string) {
	GinkgoHelper()
	err := shared.Dynamic().Resource(policies).Delete(ctx, name, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// inMetadata is a merge patch of an object's metadata.
func inMetadata(meta metav1.ObjectMeta) []byte {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": meta.Annotations}})
	Expect(err).NotTo(HaveOccurred())
	return patch
}
