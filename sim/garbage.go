// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Kubernetes' garbage collector, as far as it meets a NodePool. Karpenter puts no finalizer of its own on one: whoever
// deletes it takes it out at once, and only then are its NodeClaims deleted, all of them in one go, whatever the
// NodePool's own disruption budgets said. With propagationPolicy Foreground it is the other way round: the NodePool stays, being
// deleted, until the last of its claims is gone. Either way each claim then ends as it does whoever deletes it.

// own has every claim that belongs to one of these NodePools say so, as Karpenter does when it creates one. A claim with an
// owner keeps it.
func own(objects []client.Object) {
	owners := map[string][]metav1.OwnerReference{}
	for _, o := range objects {
		if pool, is := o.(*karpenterv1.NodePool); is {
			if pool.UID == "" {
				pool.UID = types.UID("pool-" + pool.Name)
			}
			owners[pool.Name] = ownedBy(pool)
		}
	}
	for _, o := range objects {
		if claim, is := o.(*karpenterv1.NodeClaim); is && len(claim.OwnerReferences) == 0 {
			claim.OwnerReferences = owners[claim.Labels[rotation.LabelNodePool]]
		}
	}
}

func ownedBy(pool *karpenterv1.NodePool) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: new(true),
	}}
}

// DeleteInForeground has an operator delete a NodePool with propagationPolicy Foreground.
func (w *World) DeleteInForeground(pool string) {
	np := w.NodePool(pool)
	if np == nil || np.DeletionTimestamp != nil {
		return
	}
	cluster.Edit(w.Cluster, np, func(p *karpenterv1.NodePool) {
		p.Finalizers = append(slices.Clone(p.Finalizers), metav1.FinalizerDeleteDependents)
		p.DeletionTimestamp = new(metav1.NewTime(w.now.Truncate(time.Second)))
		p.Generation++
	})
}

// poolChanged calls the garbage collector for a NodePool that is gone, or that waits for its claims to go before it.
func (w *World) poolChanged(before, after *karpenterv1.NodePool) {
	w.call(Move{Verb: provision})
	switch {
	case after == nil:
		w.call(Move{collect, cluster.KeyOf(before), before.UID})
	case awaitsClaims(after) && (before == nil || !awaitsClaims(before)):
		w.call(Move{collect, cluster.KeyOf(after), after.UID})
	}
}

// claimGone calls the garbage collector for a NodePool that waits for its claims to go, and has Karpenter forget the claim.
func (w *World) claimGone(claim *karpenterv1.NodeClaim) {
	delete(w.disruption.left, claim.UID)
	if pool := w.NodePool(claim.Labels[rotation.LabelNodePool]); pool != nil && awaitsClaims(pool) {
		w.call(Move{collect, cluster.KeyOf(pool), pool.UID})
	}
}

func awaitsClaims(pool *karpenterv1.NodePool) bool {
	return pool.DeletionTimestamp != nil && slices.Contains(pool.Finalizers, metav1.FinalizerDeleteDependents)
}

// collect deletes the claims of a NodePool that is gone or wants to be, and lets the latter go once it has none left.
func (w *World) collect(move Move) {
	left := false
	for _, claim := range slices.Clone(w.NodeClaimsBy(byPool, move.On.Name)) {
		if !slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == move.UID }) {
			continue
		}
		left = true
		if claim.DeletionTimestamp == nil {
			w.tell("garbage collector", "deletes NodeClaim %s: its NodePool %s", claim.Name, w.fateOf(move))
			_ = w.Delete(claim, nil)
		}
	}
	if pool := w.NodePool(move.On.Name); !left && pool != nil && pool.UID == move.UID && awaitsClaims(pool) {
		w.tell("garbage collector", "lets NodePool %s go: it has no NodeClaim left", pool.Name)
		cluster.Edit(w.Cluster, pool, func(p *karpenterv1.NodePool) {
			p.Finalizers = slices.DeleteFunc(slices.Clone(p.Finalizers), func(f string) bool { return f == metav1.FinalizerDeleteDependents })
		})
	}
}

func (w *World) fateOf(move Move) string {
	if pool := w.NodePool(move.On.Name); pool != nil && pool.UID == move.UID {
		return "is being deleted and waits for that"
	}
	return "is gone"
}
