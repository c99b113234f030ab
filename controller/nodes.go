// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/rotation"
)

// nodes finds the Nodes that a pass asks for, among those of its pool and any others that the anchored rotation has
// marked. Of a large pool a rotation touches a few. It is for one pass.
type nodes struct {
	reader       *Reader
	ctx          context.Context
	pool, anchor string
	// listed are all there are, once somebody has asked where there are no shelves to look at.
	listed map[string]*corev1.Node
	// found are those that were asked for.
	found map[string]*corev1.Node
	err   error
}

func (r *Reader) nodesOf(ctx context.Context, s *rotation.Snapshot) *nodes {
	return &nodes{reader: r, ctx: ctx, pool: s.Pool.Name, anchor: s.Anchor(), found: map[string]*corev1.Node{}}
}

// node finds one by name; nil when there is none.
func (n *nodes) node(name string) *corev1.Node {
	node, known := n.found[name]
	if known || name == "" {
		return node
	}
	if node = n.lookUp(name); node != nil {
		n.found[name] = node
	}
	return node
}

func (n *nodes) lookUp(name string) *corev1.Node {
	shelves, ok := n.reader.Cache.(Shelves)
	if !ok {
		n.list()
		return n.listed[name]
	}
	node, _ := shelves.Kept(kindNode.none(), client.ObjectKey{Name: name}).(*corev1.Node)
	if node == nil || (node.Labels[rotation.LabelNodePool] != n.pool && !n.marks(node)) {
		return nil
	}
	return node
}

// marks tells whether the anchored rotation has marked the Node.
func (n *nodes) marks(node *corev1.Node) bool {
	return n.anchor != "" && node.Annotations[rotation.KeySurgeFor] == n.anchor
}

func (n *nodes) list() {
	if n.listed != nil {
		return
	}
	n.listed = map[string]*corev1.Node{}
	for _, node := range append(n.by(indexPool, n.pool), n.marked()...) {
		n.listed[node.Name] = node
	}
}

func (n *nodes) marked() []*corev1.Node {
	if n.anchor == "" {
		return nil
	}
	return n.by(indexSurgeFor, n.anchor)
}

func (n *nodes) by(index, value string) []*corev1.Node {
	if shelves, ok := n.reader.Cache.(Shelves); ok {
		return shelves.NodesBy(index, value)
	}
	var list corev1.NodeList
	if err := n.reader.Cache.List(n.ctx, &list, client.MatchingFields{index: value}); err != nil {
		n.err = fmt.Errorf("the Nodes of NodePool %s cannot be listed: %w", n.pool, err)
	}
	all := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all
}

// touched are the Nodes that the rotation touches: those of claims that are of age and of the claim that the pass is
// about, the placeholder's, and those that are marked. The error is of any look at them.
func (n *nodes) touched(s *rotation.Snapshot) (map[string]*corev1.Node, error) {
	for name := range s.Selection.Due {
		claim, _ := s.Claim(name)
		n.node(claim.NodeName)
	}
	if subject, exists := s.Subject(); exists {
		n.node(subject.NodeName)
	}
	for _, placeholder := range s.Placeholders {
		n.node(placeholder.Spec.NodeName)
	}
	for _, node := range n.marked() {
		n.found[node.Name] = node
	}
	return n.found, n.err
}
