// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
)

// ClaimFact is one thing that is so of a claim, at the snapshot's Now.
type ClaimFact func(c *rotation.Claim, now time.Time)

// AClaim is a Ready claim, a day old, with the template's expireAfter and terminationGracePeriod, on a Ready and empty
// Node called NAME-node. The facts change it, in order.
func AClaim(name string, facts ...ClaimFact) Fact {
	return func(s *rotation.Snapshot) {
		claim := rotation.Claim{
			Object: object(name), Labels: map[string]string{rotation.LabelNodePool: s.Pool.Name},
			Created: s.Now.Add(-Day), ExpireAfter: s.Pool.ExpireAfter, TerminationGracePeriod: s.Pool.TerminationGracePeriod,
			Ready: true, NodeName: name + "-node",
		}
		for _, fact := range facts {
			fact(&claim, s.Now)
		}
		s.Claims = append(s.Claims, &claim)
		slices.SortFunc(s.Claims, func(a, b *rotation.Claim) int { return strings.Compare(a.Name, b.Name) })
		if claim.NodeName != "" {
			ANode(claim.NodeName)(s)
		}
	}
}

// Aged was created so long ago.
func Aged(age time.Duration) ClaimFact {
	return func(c *rotation.Claim, now time.Time) { c.Created = now.Add(-age) }
}

// Expiring has an expireAfter of its own.
func Expiring(after time.Duration) ClaimFact {
	return func(c *rotation.Claim, _ time.Time) { c.ExpireAfter = &after }
}

// NeverExpiring has the expireAfter Never.
func NeverExpiring(c *rotation.Claim, _ time.Time) { c.ExpireAfter = nil }

// Graceful has a terminationGracePeriod of its own.
func Graceful(period time.Duration) ClaimFact {
	return func(c *rotation.Claim, _ time.Time) { c.TerminationGracePeriod = &period }
}

// NotReady has no Ready condition that is True.
func NotReady(c *rotation.Claim, _ time.Time) { c.Ready = false }

// OnNode has its Node under this name; the empty one for no Node yet.
func OnNode(name string) ClaimFact {
	return func(c *rotation.Claim, _ time.Time) { c.NodeName = name }
}

// BeingDeleted has a deletionTimestamp since so long ago.
func BeingDeleted(ago time.Duration) ClaimFact {
	return func(c *rotation.Claim, now time.Time) { c.Deleted = now.Add(-ago) }
}

// PendingFor is in an attempt that began so long ago.
func PendingFor(ago time.Duration) ClaimFact {
	return func(c *rotation.Claim, now time.Time) {
		InState(rotation.StatePending)(c, now)
		Annotated(rotation.KeyStartedAt, stamp(now.Add(-ago)))(c, now)
	}
}

// DrainingFor is in a drain that began so long ago, its attempt a minute before.
func DrainingFor(ago time.Duration) ClaimFact {
	return func(c *rotation.Claim, now time.Time) {
		PendingFor(ago+time.Minute)(c, now)
		InState(rotation.StateDraining)(c, now)
		BeingDeleted(ago)(c, now)
	}
}

// Failed has failed so many times, the last so long ago.
func Failed(times int, ago time.Duration) ClaimFact {
	return func(c *rotation.Claim, now time.Time) {
		InState(rotation.StateFailed)(c, now)
		Annotated(rotation.KeyFailedAt, stamp(now.Add(-ago)))(c, now)
		Annotated(rotation.KeyRetryCount, strconv.Itoa(times))(c, now)
	}
}

// InState has this state annotation.
func InState(state string) ClaimFact { return Annotated(rotation.KeyState, state) }

// SurgingOn records its surge claim.
func SurgingOn(claim string) ClaimFact { return Annotated(rotation.KeySurgeClaim, claim) }

// Annotated carries an annotation on the NodeClaim.
func Annotated(key, value string) ClaimFact {
	return func(c *rotation.Claim, _ time.Time) {
		c.Annotations = rotation.Annotate(c.Annotations, map[string]string{key: value})
	}
}

// NodeFact is one thing that is so of a Node.
type NodeFact func(*corev1.Node)

// ANode is a Ready Node of the pool in zone a; where the pool has it already, the facts change that one.
func ANode(name string, facts ...NodeFact) Fact {
	return func(s *rotation.Snapshot) {
		node := s.Nodes[name]
		if node == nil {
			node = &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1", Labels: map[string]string{
					rotation.LabelNodePool: s.Pool.Name, corev1.LabelHostname: name, corev1.LabelTopologyZone: "a",
				}},
				Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
			}
			s.Nodes[name] = node
		}
		if _, looked := s.PodsByNode[name]; !looked {
			s.PodsByNode[name] = nil
		}
		for _, fact := range facts {
			fact(node)
		}
	}
}

// WithoutNode knows no Node of this name: it has not shown up yet, or is gone already.
func WithoutNode(name string) Fact {
	return func(s *rotation.Snapshot) {
		delete(s.Nodes, name)
		delete(s.PodsByNode, name)
	}
}

// ProtectedByOperator carries an operator's do-not-disrupt.
func ProtectedByOperator(n *corev1.Node) {
	NodeAnnotated(rotation.KeyDoNotDisrupt, rotation.ValueTrue)(n)
}

// CordonedByOperator was cordoned by an operator.
func CordonedByOperator(n *corev1.Node) { n.Spec.Unschedulable = true }

// BeingReplaced has been chosen by Karpenter for drift or consolidation.
func BeingReplaced(n *corev1.Node) {
	n.Spec.Taints = append(slices.Clone(n.Spec.Taints), corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
}

// ProtectedFor is protected by a rotation, as ours.
func ProtectedFor(claim string) NodeFact {
	return func(n *corev1.Node) {
		NodeAnnotated(rotation.KeySurgeFor, claim)(n)
		NodeAnnotated(rotation.KeyDoNotDisrupt, rotation.ValueTrue)(n)
		NodeAnnotated(rotation.KeyDoNotDisruptOwned, rotation.ValueTrue)(n)
	}
}

// CordonedByUs was cordoned by a rotation.
func CordonedByUs(n *corev1.Node) {
	n.Spec.Unschedulable = true
	NodeAnnotated(rotation.KeyCordoned, rotation.ValueTrue)(n)
}

// GoingAway is a Node with a deletionTimestamp.
func GoingAway(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: Opening} }

// NodeNotReady is a Node whose kubelet is not heard of.
func NodeNotReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

// NodeAnnotated carries an annotation on the Node.
func NodeAnnotated(key, value string) NodeFact {
	return func(n *corev1.Node) { n.Annotations = rotation.Annotate(n.Annotations, map[string]string{key: value}) }
}
