// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/rotation"
)

// indexMarked finds, by pool, the Nodes and placeholders that carry a rotation's mark and are not going away.
const indexMarked = "noderotation/marked"

func nodeByMark(object client.Object) []string {
	annotations := object.GetAnnotations()
	marked := slices.ContainsFunc(rotation.NodeMarkers(), func(key string) bool { _, is := annotations[key]; return is })
	if !marked || object.GetDeletionTimestamp() != nil {
		return nil
	}
	return byPool(object)
}

func podByMark(object client.Object) []string {
	pod, ok := podOf(object)
	if !ok || !rotation.IsPlaceholder(pod) || pod.DeletionTimestamp != nil {
		return nil
	}
	if pool := pod.Spec.NodeSelector[rotation.LabelNodePool]; pool != "" {
		return []string{pool}
	}
	return nil
}

// leftover names something that says a rotation of the snapshot's pool is under way though none is anchored; empty where
// there is nothing. No crash leaves such a thing behind: somebody has replaced the NodePool or its annotations, or a leader
// that was overtaken had one more write under way.
func (r *Reader) leftover(ctx context.Context, s *rotation.Snapshot) (string, error) {
	if s.Anchor() != "" {
		return "", nil
	}
	if stray := s.Stray(); stray != "" {
		return "NodeClaim " + stray, nil
	}
	for _, key := range rotation.AnchorKeys() {
		if _, left := s.Pool.Annotations[key]; left {
			return key + " of the NodePool", nil
		}
	}
	nodes := r.nodesOf(ctx, s)
	switch marked := nodes.by(indexMarked, s.Pool.Name); {
	case nodes.err != nil:
		return "", nodes.err
	case len(marked) > 0:
		return "Node " + marked[0].Name, nil
	}
	placeholders, err := r.placeholders(ctx, indexMarked, s.Pool.Name)
	if err != nil || len(placeholders) == 0 {
		return "", err
	}
	return "Pod " + placeholders[0].Name, nil
}
