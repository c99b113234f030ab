// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/sim/cluster"
)

// Karpenter's disruption controller. It looks at the cluster every few seconds for a node that it may end of its own accord:
// first for an empty one, then for one that has drifted, then for one whose Pods would fit on the others. A protected Node is
// no candidate, nor is one whose Pods cannot be evicted; a drifted one with a terminationGracePeriod is, whatever its Pods
// say. NodePools' disruption budgets bound how many go at a time. A candidate is looked at once: when it is chosen, and a
// consolidation's once more, validationDelay later. From then on nothing that befalls the Node calls it off.
//
// What is chosen is tainted, so that no Pod comes onto it. Its replacements are launched, and once they have initialized it is
// deleted. If one of them is lost, or they take longer than commandTimeout, it is let be, and may be chosen again.
const (
	disruptionPoll  = 10 * time.Second
	validationDelay = 15 * time.Second
	commandTimeout  = 10 * time.Minute
)

// disruption is what the disruption controller has in hand.
type disruption struct {
	commands []*command
	// plan is a consolidation that is looked at once more at its time: nothing else is begun meanwhile.
	plan *plan
	// next is when it looks at the cluster again; zero while there is no cause to.
	next time.Time
	// left is why a claim was left alone when it was last looked at, by UID: it is told once.
	left map[types.UID]string
	// stirred is when a Pod last came to a Node or left it.
	stirred map[string]time.Time
}

// command is a disruption under way: a node that goes once its replacements stand.
type command struct {
	name         string
	uid          types.UID
	reason       karpenterv1.DisruptionReason
	replacements []string
	begun        time.Time
}

// plan is a consolidation that has yet to be found valid.
type plan struct {
	name   string
	uid    types.UID
	reason karpenterv1.DisruptionReason
	at     time.Time
}

// Drift has Karpenter find a claim out of date, and replace it as soon as it may.
func (w *World) Drift(claim string) {
	c := w.NodeClaim(claim)
	if c == nil || c.DeletionTimestamp != nil {
		return
	}
	cluster.Edit(w.Cluster, c, func(c *karpenterv1.NodeClaim) {
		c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeDrifted)
	})
	w.lookAt(w.now)
}

// lookAt has the disruption controller look at the cluster then, unless it does so before.
func (w *World) lookAt(at time.Time) {
	d := &w.disruption
	if !d.next.IsZero() && !d.next.After(at) {
		return
	}
	d.next = at
	w.queue.add(Move{Verb: disrupt}, at)
}

// disrupt is one look at the cluster; a look that another one has replaced is let go.
func (w *World) disrupt() {
	d := &w.disruption
	if d.plan != nil && !d.plan.at.After(w.now) {
		w.validate()
	}
	if !d.next.Equal(w.now) {
		return
	}
	d.next = time.Time{}
	if d.plan != nil {
		w.lookAt(d.plan.at)
		return
	}
	if w.consolidate(karpenterv1.DisruptionReasonEmpty) {
		return
	}
	drifted := w.drifted()
	if slices.ContainsFunc(drifted, w.replace) { // the first that may go
		w.lookAt(w.now.Add(time.Second))
		return
	}
	if w.consolidate(karpenterv1.DisruptionReasonUnderutilized) {
		return
	}
	if len(drifted) > 0 {
		w.lookAt(w.now.Add(disruptionPoll))
	}
}

// drifted are the claims that are out of date and not yet on their way, the empty ones first, then by when they drifted.
func (w *World) drifted() []*karpenterv1.NodeClaim {
	var drifted []*karpenterv1.NodeClaim
	since := map[string]time.Time{}
	for _, claim := range w.NodeClaims() {
		if claim.DeletionTimestamp != nil || !isTrue(claim, karpenterv1.ConditionTypeDrifted) || w.commanded(claim.UID) {
			continue
		}
		drifted = append(drifted, claim)
		for _, c := range claim.Status.Conditions {
			if c.Type == karpenterv1.ConditionTypeDrifted {
				since[claim.Name] = c.LastTransitionTime.Time
			}
		}
	}
	guests := func(claim *karpenterv1.NodeClaim) int {
		if node := w.Node(claim.Status.NodeName); node == nil || w.empty(node) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(drifted, func(a, b *karpenterv1.NodeClaim) int {
		return cmp.Or(cmp.Compare(guests(a), guests(b)), since[a.Name].Compare(since[b.Name]))
	})
	return drifted
}

func (w *World) commanded(claim types.UID) bool {
	return slices.ContainsFunc(w.disruption.commands, func(c *command) bool { return c.uid == claim })
}

// replace begins to replace a drifted claim, if it may go now.
func (w *World) replace(claim *karpenterv1.NodeClaim) bool {
	const reason = karpenterv1.DisruptionReasonDrifted
	why := w.obstacle(claim, reason)
	if why == "" && w.allowed(claim, reason) == 0 {
		why = "its NodePool's budgets allow no disruption now"
	}
	if why != "" {
		w.leave(claim, reason, why)
		return false
	}
	m := w.rehouse(w.Node(claim.Status.NodeName))
	drafts, housed := w.draftsFor(claim, m.homeless)
	switch {
	case !housed:
		w.leave(claim, reason, "its Pods would find no place")
		return false
	case m.early:
		w.leave(claim, reason, "its Pods would go to a Node that has not initialized")
		return false
	}
	w.begin(claim, reason, drafts)
	return true
}

// leave tells why a claim is left alone, where that is news.
func (w *World) leave(claim *karpenterv1.NodeClaim, reason karpenterv1.DisruptionReason, why string) {
	d := &w.disruption
	if d.left == nil {
		d.left = map[types.UID]string{}
	}
	if d.left[claim.UID] != why {
		d.left[claim.UID] = why
		w.tell("karpenter", "leaves NodeClaim %s (%s): %s", claim.Name, strings.ToLower(string(reason)), why)
	}
}

// begin takes a node out of use and launches what its Pods need; it is deleted once that stands, or at once if that is
// nothing.
func (w *World) begin(claim *karpenterv1.NodeClaim, reason karpenterv1.DisruptionReason, drafts []*draft) {
	delete(w.disruption.left, claim.UID)
	c := &command{name: claim.Name, uid: claim.UID, reason: reason, begun: w.now}
	if len(drafts) > 0 {
		w.tell("karpenter", "replaces NodeClaim %s (%s): its Node takes no new Pods, and goes once the replacement is Ready", claim.Name, strings.ToLower(string(reason)))
	}
	w.taintDisrupted(w.Node(claim.Status.NodeName), true)
	cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeDisruptionReason)
	})
	for _, draft := range drafts {
		if w.launchDraft(draft) {
			c.replacements = append(c.replacements, draft.claim.Name)
		}
	}
	w.disruption.commands = append(w.disruption.commands, c)
	w.recount(poolOf(claim, nil))
	w.queue.add(Move{Verb: conclude}, w.now.Add(commandTimeout+time.Second))
	w.conclude()
}

// conclude goes through the commands: what has its replacements is deleted, and what can no longer get them is let be.
func (w *World) conclude() {
	if len(w.disruption.commands) == 0 {
		return
	}
	commands := w.disruption.commands
	w.disruption.commands = nil
	for _, c := range commands {
		claim := w.NodeClaim(c.name)
		if claim == nil || claim.UID != c.uid || claim.DeletionTimestamp != nil {
			continue // somebody else was first
		}
		switch ready, lost := w.standing(c.replacements); {
		case ready:
			w.tell("karpenter", "disrupts NodeClaim %s: %s", c.name, strings.ToLower(string(c.reason)))
			_ = w.Delete(claim, nil)
		case lost || w.now.Sub(c.begun) > commandTimeout:
			w.tell("karpenter", "no longer replaces NodeClaim %s (%s): the replacement does not come", c.name, strings.ToLower(string(c.reason)))
			w.letBe(claim)
		default:
			w.disruption.commands = append(w.disruption.commands, c)
		}
	}
}

// standing tells whether all replacements have initialized, and whether one of them is gone.
func (w *World) standing(replacements []string) (ready, lost bool) {
	ready = true
	for _, name := range replacements {
		claim := w.NodeClaim(name)
		lost = lost || claim == nil
		ready = ready && claim != nil && isTrue(claim, karpenterv1.ConditionTypeInitialized)
	}
	return ready, lost
}

// letBe takes back what begin did to a node.
func (w *World) letBe(claim *karpenterv1.NodeClaim) {
	if node := w.Node(claim.Status.NodeName); node != nil {
		w.taintDisrupted(node, false)
	}
	cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.Status.Conditions = without(c.Status.Conditions, karpenterv1.ConditionTypeDisruptionReason)
	})
	w.recount(poolOf(claim, nil))
	w.lookAt(w.now.Add(disruptionPoll))
}

// taintDisrupted puts Karpenter's taint on a node that is going, or takes it off.
func (w *World) taintDisrupted(node *corev1.Node, going bool) {
	disrupted := karpenterv1.DisruptedNoScheduleTaint
	if going == slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) }) {
		return
	}
	cluster.Edit(w.Cluster, node, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) })
		if going {
			n.Spec.Taints = append(n.Spec.Taints, disrupted)
		}
	})
}

// going are the Nodes that are being deleted, and those of commands under way, which Karpenter counts with them.
func (w *World) going() []*corev1.Node {
	going := w.NodesBy(byDeletion, deleting)
	if len(w.disruption.commands) == 0 {
		return going
	}
	going = slices.Clone(going)
	for _, c := range w.disruption.commands {
		if claim := w.NodeClaim(c.name); claim != nil && claim.UID == c.uid {
			if node := w.Node(claim.Status.NodeName); node != nil && node.DeletionTimestamp == nil {
				going = append(going, node)
			}
		}
	}
	return going
}
