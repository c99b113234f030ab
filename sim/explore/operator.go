// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// makeOperators makes the moves of those who have a hand in the cluster.
func (s *Scene) makeOperators(of *State, move Move) {
	switch move.Verb {
	case Freeze:
		of.freeze(move.On, rotation.FormatStamp(of.now.Add(freezeFor)))
	case FreezeUnreadably:
		of.freeze(move.On, "for a while")
	case Unfreeze:
		of.freeze(move.On, "")
	case Cordon, Uncordon:
		of.cordon(move.On, move.Verb == Cordon)
	case Protect, Unprotect:
		of.protect(move.On, move.Verb == Protect)
	case DropPolicy:
		of.Remove(of.Policy(policyName))
	case RestorePolicy:
		if err := of.Load(s.policy()); err != nil {
			panic(err)
		}
	case DropPool:
		of.Remove(of.NodePool(move.On))
		for _, owned := range slices.Clone(of.NodeClaimsBy(byPool, move.On)) {
			if owned.DeletionTimestamp == nil {
				s.expire(of, owned)
			}
		}
	case Wipe:
		of.unanchor(move.On, karpentersOwn())
	case Unanchor:
		of.unanchor(move.On, rotation.Annotate(of.NodePool(move.On).Annotations, nil, rotation.KeyActiveRotation))
	case Renew:
		claim := of.NodeClaim(move.On)
		pool := claim.Labels[rotation.LabelNodePool]
		of.remove(claim)
		of.spawn(pool, move.On)
	case Replace:
		pod := of.Pod(namespace, move.On)
		of.Remove(pod)
		next := pod.DeepCopy()
		next.UID, next.ResourceVersion, next.Spec.NodeName, next.Status = "", "", "", corev1.PodStatus{Phase: corev1.PodPending}
		if err := of.Load(next); err != nil {
			panic(err)
		}
	default:
		panic("explore: nobody makes the move " + move.String())
	}
}

// unanchor leaves a NodePool with these annotations, as `kubectl replace` does, or `kubectl annotate`. It is noted on the
// pool, and on the claim whose rotation has so lost its anchor.
func (s *State) unanchor(pool string, left map[string]string) {
	np := s.NodePool(pool)
	if claim := s.NodeClaim(np.Annotations[rotation.KeyActiveRotation]); claim != nil {
		cluster.Edit(s.Cluster, claim, func(c *karpenterv1.NodeClaim) { annotate(c, notedStray, rotation.ValueTrue) })
	}
	cluster.Edit(s.Cluster, np, func(np *karpenterv1.NodePool) {
		np.Annotations = rotation.Annotate(left, map[string]string{notedStray: rotation.ValueTrue})
	})
}

func (s *State) freeze(pool, until string) {
	cluster.Edit(s.Cluster, s.NodePool(pool), func(np *karpenterv1.NodePool) { annotate(np, rotation.KeyFreeze, until) })
}

// cordon is noted where the cordon is the operator's. One who uncordons a node that we cordoned takes ours away, and our
// marker stays: an operator cannot own what carries it.
func (s *State) cordon(node string, cordoned bool) {
	noted := ""
	if cordoned {
		noted = rotation.ValueTrue
	}
	cluster.Edit(s.Cluster, s.Node(node), func(n *corev1.Node) {
		n.Spec.Unschedulable = cordoned
		annotate(n, notedCordoned, noted)
	})
}

func (s *State) protect(node string, protected bool) {
	value := ""
	if protected {
		value = rotation.ValueTrue
	}
	cluster.Edit(s.Cluster, s.Node(node), func(n *corev1.Node) { annotate(n, notedProtected, value, rotation.KeyDoNotDisrupt, value) })
}
