// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// State is a cluster at a moment. What a process remembers is no part of it: every pass is made by a process that has
// just started, but where a fault is about what one remembers.
type State struct {
	*cluster.Cluster
	now time.Time
}

// Now is the state's time.
func (s *State) Now() time.Time { return s.now }

// Since is how long ago t was at the state's time.
func (s *State) Since(t time.Time) time.Duration { return s.now.Sub(t) }

// clone is an independent state that is equal.
func (s *State) clone() *State {
	next := &State{now: s.now}
	next.Cluster = s.Clone(next)
	return next
}

// What the explorer notes on objects about who did something to them, where the product cannot tell by design. The
// product has no eyes for these annotations, and has to leave them alone like any other of somebody else's.
const (
	// notedProtected is on a Node that an operator protects, notedCordoned on one that an operator has cordoned.
	notedProtected = "operator.example/protected"
	notedCordoned  = "operator.example/cordoned"
	// notedForeign is on a NodeClaim that another hand than ours deleted, notedReaped on one that a rollback did.
	notedForeign = "operator.example/deleted"
	notedReaped  = "operator.example/reaped"
	// notedStray is on a NodeClaim whose rotation has lost its anchor to another hand, and on the NodePool that had it.
	notedStray = "operator.example/stray"
)

// Names of the indexes that the product registers.
const (
	byPool  = "noderotation/pool"
	byNode  = "noderotation/node"
	unbound = "<unbound>"
)

func indexes() []cluster.Index {
	var all []cluster.Index
	for _, i := range controller.Indexes() {
		kind, err := cluster.KindOf(i.Object)
		if err != nil {
			panic(err)
		}
		all = append(all, cluster.Index{Of: kind, Field: i.Field, Extract: i.Extract})
	}
	return all
}

// annotate changes annotations of an object, as its owner does. An empty value removes the key.
func annotate[P client.Object](object P, keysAndValues ...string) {
	set, remove := map[string]string{}, []string{}
	for i := 0; i < len(keysAndValues); i += 2 {
		if key, value := keysAndValues[i], keysAndValues[i+1]; value == "" {
			remove = append(remove, key)
		} else {
			set[key] = value
		}
	}
	object.SetAnnotations(rotation.Annotate(object.GetAnnotations(), set, remove...))
}

func claimReady(c *karpenterv1.NodeClaim) bool {
	for i := range c.Status.Conditions {
		if c.Status.Conditions[i].Type == "Ready" {
			return c.Status.Conditions[i].Status == "True"
		}
	}
	return false
}

func nodeReady(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			return n.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// placeholders of the pool, those that are ending included.
func placeholders(v *cluster.View, pool string) []*corev1.Pod {
	var found []*corev1.Pod
	for _, pod := range v.Pods() {
		if pod.Namespace == namespace && pod.Spec.NodeSelector[rotation.LabelNodePool] == pool {
			found = append(found, pod)
		}
	}
	return found
}

// claimOfNode finds the pool's claim that names the Node as its own.
func claimOfNode(v *cluster.View, pool, node string) *karpenterv1.NodeClaim {
	if node == "" {
		return nil
	}
	for _, c := range v.NodeClaimsBy(byPool, pool) {
		if c.Status.NodeName == node {
			return c
		}
	}
	return nil
}
