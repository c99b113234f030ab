// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// kind is one of the kinds that the controller writes.
type kind string

const (
	kindNodePool  kind = "NodePool"
	kindNodeClaim kind = "NodeClaim"
	kindNode      kind = "Node"
	kindPod       kind = "Pod"
)

// new is an empty object of the kind.
func (k kind) new() client.Object {
	switch k {
	case kindNodePool:
		return &karpenterv1.NodePool{}
	case kindNodeClaim:
		return &karpenterv1.NodeClaim{}
	case kindNode:
		return &corev1.Node{}
	default:
		return &corev1.Pod{}
	}
}

// none is a nil object of the kind.
func (k kind) none() client.Object {
	switch k {
	case kindNodePool:
		return (*karpenterv1.NodePool)(nil)
	case kindNodeClaim:
		return (*karpenterv1.NodeClaim)(nil)
	case kindNode:
		return (*corev1.Node)(nil)
	default:
		return (*corev1.Pod)(nil)
	}
}

func kindOf(object client.Object) kind {
	switch object.(type) {
	case *karpenterv1.NodePool:
		return kindNodePool
	case *karpenterv1.NodeClaim:
		return kindNodeClaim
	case *corev1.Node:
		return kindNode
	default:
		return kindPod
	}
}

// named is an object of the kind that carries only its identity: enough to address a request.
func (k kind) named(o rotation.Object) client.Object {
	object := k.new()
	object.SetName(o.Name)
	object.SetUID(o.UID)
	return object
}
