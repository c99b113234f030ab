// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// kind is one of the kinds that are recorded.
type kind struct {
	resource schema.GroupVersionResource
	new      func() Object
	of       func(World) []Object
}

var kinds = []kind{
	{
		resource: schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
		new:      func() Object { return &karpenterv1.NodePool{} },
		of:       func(w World) []Object { return objects(w.Pools) },
	},
	{
		resource: schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
		new:      func() Object { return &karpenterv1.NodeClaim{} },
		of:       func(w World) []Object { return objects(w.Claims) },
	},
	{
		resource: corev1.SchemeGroupVersion.WithResource("nodes"),
		new:      func() Object { return &corev1.Node{} },
		of:       func(w World) []Object { return objects(w.Nodes) },
	},
	{
		resource: corev1.SchemeGroupVersion.WithResource("pods"),
		new:      func() Object { return &corev1.Pod{} },
		of:       func(w World) []Object { return objects(w.Pods) },
	},
	{
		resource: policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
		new:      func() Object { return &policyv1.PodDisruptionBudget{} },
		of:       func(w World) []Object { return objects(w.Budgets) },
	},
}

func objects[K comparable, O Object](from map[K]O) []Object {
	found := make([]Object, 0, len(from))
	for object := range maps.Values(from) {
		found = append(found, object)
	}
	return found
}

// KindOf is the kind of the object, in one word.
func KindOf(object Object) string {
	switch object.(type) {
	case *karpenterv1.NodePool:
		return "NodePool"
	case *karpenterv1.NodeClaim:
		return "NodeClaim"
	case *corev1.Node:
		return "Node"
	case *corev1.Pod:
		return "Pod"
	default:
		return "PodDisruptionBudget"
	}
}
