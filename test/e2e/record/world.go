// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// World is what exists at one instant. The objects are shared with the recording: read them only.
type World struct {
	Pools   map[string]*karpenterv1.NodePool
	Claims  map[string]*karpenterv1.NodeClaim
	Nodes   map[string]*corev1.Node
	Pods    map[types.NamespacedName]*corev1.Pod
	Budgets map[types.NamespacedName]*policyv1.PodDisruptionBudget
}

func newWorld() World {
	return World{
		Pools:   map[string]*karpenterv1.NodePool{},
		Claims:  map[string]*karpenterv1.NodeClaim{},
		Nodes:   map[string]*corev1.Node{},
		Pods:    map[types.NamespacedName]*corev1.Pod{},
		Budgets: map[types.NamespacedName]*policyv1.PodDisruptionBudget{},
	}
}

func (w World) clone() World {
	return World{maps.Clone(w.Pools), maps.Clone(w.Claims), maps.Clone(w.Nodes), maps.Clone(w.Pods), maps.Clone(w.Budgets)}
}

// set makes object exist as it is.
func (w World) set(object Object) {
	switch o := object.(type) {
	case *karpenterv1.NodePool:
		w.Pools[o.Name] = o
	case *karpenterv1.NodeClaim:
		w.Claims[o.Name] = o
	case *corev1.Node:
		w.Nodes[o.Name] = o
	case *corev1.Pod:
		w.Pods[keyOf(o)] = o
	case *policyv1.PodDisruptionBudget:
		w.Budgets[keyOf(o)] = o
	}
}

// unset makes object not exist.
func (w World) unset(object Object) {
	switch o := object.(type) {
	case *karpenterv1.NodePool:
		delete(w.Pools, o.Name)
	case *karpenterv1.NodeClaim:
		delete(w.Claims, o.Name)
	case *corev1.Node:
		delete(w.Nodes, o.Name)
	case *corev1.Pod:
		delete(w.Pods, keyOf(o))
	case *policyv1.PodDisruptionBudget:
		delete(w.Budgets, keyOf(o))
	}
}

// get returns the object of the same kind and name, or nil.
func (w World) get(like Object) Object {
	switch o := like.(type) {
	case *karpenterv1.NodePool:
		return orNil(w.Pools, o.Name)
	case *karpenterv1.NodeClaim:
		return orNil(w.Claims, o.Name)
	case *corev1.Node:
		return orNil(w.Nodes, o.Name)
	case *corev1.Pod:
		return orNil(w.Pods, keyOf(o))
	case *policyv1.PodDisruptionBudget:
		return orNil(w.Budgets, keyOf(o))
	default:
		return nil
	}
}

// orNil returns an interface that is nil where the map has nothing, not one that holds a nil pointer.
func orNil[K comparable, O Object](objects map[K]O, key K) Object {
	if object, found := objects[key]; found {
		return object
	}
	return nil
}

func keyOf(object Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// ClaimsOf are the NodeClaims of the pool.
func (w World) ClaimsOf(pool string) []*karpenterv1.NodeClaim {
	return ofPool(w.Claims, pool)
}

// NodesOf are the Nodes of the pool.
func (w World) NodesOf(pool string) []*corev1.Node {
	return ofPool(w.Nodes, pool)
}

func ofPool[O Object](objects map[string]O, pool string) []O {
	var found []O
	for _, object := range objects {
		if object.GetLabels()[karpenterv1.NodePoolLabelKey] == pool {
			found = append(found, object)
		}
	}
	return found
}

// PodsOn are the Pods bound to the Node, finished ones left out.
func (w World) PodsOn(node string) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range w.Pods {
		if pod.Spec.NodeName == node && node != "" && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			found = append(found, pod)
		}
	}
	return found
}

// NodeReady tells whether the Node's Ready condition is True.
func NodeReady(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// PodReady tells whether the Pod is Ready and not on its way out.
func PodReady(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
