// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Kind is one of the kinds that a cluster holds.
type Kind uint8

// The kinds, in the order in which a cluster's state is told.
const (
	Policy Kind = iota
	NodePool
	NodeClaim
	Node
	Pod
	Budget
	numKinds
)

// kindInfo is what the API server knows of a kind beside its schema.
type kindInfo struct {
	name       string
	resource   schema.GroupResource
	namespaced bool
	// generations is true where a change of the spec counts in metadata.generation.
	generations bool
	// custom resources are updated with a resourceVersion or not at all.
	custom bool
}

var kinds = [numKinds]kindInfo{
	Policy:    {"RotationPolicy", schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "rotationpolicies"}, false, true, true},
	NodePool:  {"NodePool", schema.GroupResource{Group: "karpenter.sh", Resource: "nodepools"}, false, true, true},
	NodeClaim: {"NodeClaim", schema.GroupResource{Group: "karpenter.sh", Resource: "nodeclaims"}, false, true, true},
	Node:      {"Node", schema.GroupResource{Resource: "nodes"}, false, false, false},
	Pod:       {"Pod", schema.GroupResource{Resource: "pods"}, true, false, false},
	Budget:    {"PodDisruptionBudget", schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, true, true, false},
}

func (k Kind) String() string { return kinds[k].name }

// KindOf tells the kind of an object or of a list.
func KindOf(object runtime.Object) (Kind, error) {
	switch object.(type) {
	case *v1alpha1.RotationPolicy, *v1alpha1.RotationPolicyList:
		return Policy, nil
	case *karpenterv1.NodePool, *karpenterv1.NodePoolList:
		return NodePool, nil
	case *karpenterv1.NodeClaim, *karpenterv1.NodeClaimList:
		return NodeClaim, nil
	case *corev1.Node, *corev1.NodeList:
		return Node, nil
	case *corev1.Pod, *corev1.PodList:
		return Pod, nil
	case *policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList:
		return Budget, nil
	default:
		return 0, fmt.Errorf("the simulated cluster does not hold %T", object)
	}
}

// Key names an object within its kind.
type Key struct{ Namespace, Name string }

// KeyOf is the key of an object.
func KeyOf(o client.Object) Key { return Key{o.GetNamespace(), o.GetName()} }

func (k Key) less(other Key) int {
	switch {
	case k == other:
		return 0
	case k.Namespace < other.Namespace, k.Namespace == other.Namespace && k.Name < other.Name:
		return -1
	default:
		return 1
	}
}

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Name
	}
	return k.Namespace + "/" + k.Name
}

// shallow is a copy of the object that shares its maps and slices with it.
func shallow(o client.Object) client.Object {
	switch o := o.(type) {
	case *v1alpha1.RotationPolicy:
		return ptrTo(*o)
	case *karpenterv1.NodePool:
		return ptrTo(*o)
	case *karpenterv1.NodeClaim:
		return ptrTo(*o)
	case *corev1.Node:
		return ptrTo(*o)
	case *corev1.Pod:
		return ptrTo(*o)
	case *policyv1.PodDisruptionBudget:
		return ptrTo(*o)
	default:
		panic(fmt.Sprintf("sim: %T is not held", o))
	}
}

func ptrTo[V any](v V) *V { return &v }

// assign gives to what from holds, sharing maps and slices. Both are of one kind.
//
//nolint:errcheck // a panic is due where they are not
func assign(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.RotationPolicy:
		*to = *from.(*v1alpha1.RotationPolicy)
	case *karpenterv1.NodePool:
		*to = *from.(*karpenterv1.NodePool)
	case *karpenterv1.NodeClaim:
		*to = *from.(*karpenterv1.NodeClaim)
	case *corev1.Node:
		*to = *from.(*corev1.Node)
	case *corev1.Pod:
		*to = *from.(*corev1.Pod)
	case *policyv1.PodDisruptionBudget:
		*to = *from.(*policyv1.PodDisruptionBudget)
	}
}

// takeStatus gives to the status of from. Both are of one kind.
//
//nolint:errcheck // a panic is due where they are not
func takeStatus(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.RotationPolicy:
		to.Status = from.(*v1alpha1.RotationPolicy).Status
	case *karpenterv1.NodePool:
		to.Status = from.(*karpenterv1.NodePool).Status
	case *karpenterv1.NodeClaim:
		to.Status = from.(*karpenterv1.NodeClaim).Status
	case *corev1.Node:
		to.Status = from.(*corev1.Node).Status
	case *corev1.Pod:
		to.Status = from.(*corev1.Pod).Status
	case *policyv1.PodDisruptionBudget:
		to.Status = from.(*policyv1.PodDisruptionBudget).Status
	}
}

// sameSpec tells whether the specs of two objects of one kind are alike; of kinds without generations it is not asked.
//
//nolint:errcheck // a panic is due where they are not
func sameSpec(a, b client.Object) bool {
	switch a := a.(type) {
	case *v1alpha1.RotationPolicy:
		return equality.Semantic.DeepEqual(a.Spec, b.(*v1alpha1.RotationPolicy).Spec)
	case *karpenterv1.NodePool:
		return equality.Semantic.DeepEqual(a.Spec, b.(*karpenterv1.NodePool).Spec)
	case *karpenterv1.NodeClaim:
		return equality.Semantic.DeepEqual(a.Spec, b.(*karpenterv1.NodeClaim).Spec)
	case *policyv1.PodDisruptionBudget:
		return equality.Semantic.DeepEqual(a.Spec, b.(*policyv1.PodDisruptionBudget).Spec)
	default:
		return true
	}
}

// blank is an empty object of the kind.
func blank(kind Kind) client.Object {
	switch kind {
	case Policy:
		return &v1alpha1.RotationPolicy{}
	case NodePool:
		return &karpenterv1.NodePool{}
	case NodeClaim:
		return &karpenterv1.NodeClaim{}
	case Node:
		return &corev1.Node{}
	case Budget:
		return &policyv1.PodDisruptionBudget{}
	default:
		return &corev1.Pod{}
	}
}
