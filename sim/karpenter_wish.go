// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// asWished labels a drafted claim with what the Pod asks of its node, as far as the pool's requirements leave the choice:
// of architectures, capacity types and the like Karpenter takes one that the Pod admits. The zone is chosen elsewhere.
func asWished(claim *karpenterv1.NodeClaim, pool *karpenterv1.NodePool, pod *corev1.Pod) {
	for key, values := range wished(pod) {
		_, known := claim.Labels[key]
		if !known || key == corev1.LabelTopologyZone || key == rotation.LabelNodePool || len(values) == 0 || slices.Contains(values, claim.Labels[key]) {
			continue
		}
		for _, value := range values {
			if allows(pool, key, value) {
				claim.Labels[key] = value
				break
			}
		}
	}
}

// wished are the values that the Pod requires of its node's labels: those of its selector, and of the first term of its
// required affinity.
func wished(pod *corev1.Pod) map[string][]string {
	wishes := map[string][]string{}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		if required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil && len(required.NodeSelectorTerms) > 0 {
			for _, e := range required.NodeSelectorTerms[0].MatchExpressions {
				if e.Operator == corev1.NodeSelectorOpIn {
					wishes[e.Key] = e.Values
				}
			}
		}
	}
	for key, value := range pod.Spec.NodeSelector {
		wishes[key] = []string{value}
	}
	return wishes
}

// allows tells whether the pool's template leaves this value open. A label that the template sets is settled.
func allows(pool *karpenterv1.NodePool, key, value string) bool {
	if _, set := pool.Spec.Template.Labels[key]; set {
		return false
	}
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && !slices.Contains(r.Values, value) {
			return false
		}
		if r.Key == key && r.Operator == corev1.NodeSelectorOpNotIn && slices.Contains(r.Values, value) {
			return false
		}
	}
	return true
}
