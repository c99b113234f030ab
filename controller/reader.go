// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Reader makes Snapshots from the cache. It never asks the API server. Safe for concurrent use.
type Reader struct {
	Cache    client.Reader
	Policies *Policies
	Settings rotation.Settings

	translations translations
}

// Snapshot reads everything that the rotation of the pool depends on, at one now. Pods are read only of the nodes that
// the rotation touches.
func (r *Reader) Snapshot(ctx context.Context, np *karpenterv1.NodePool, now time.Time) (rotation.Snapshot, error) {
	assessments, err := r.Policies.Assess(ctx, now)
	if err != nil {
		return rotation.Snapshot{}, err
	}
	s := rotation.Snapshot{Now: now, Settings: r.Settings, Pool: poolOf(np)}
	s.Governance = rotation.Govern(assessments, s.Pool.Labels)
	if s.Claims, err = r.claims(ctx, np.Name); err != nil {
		return s, err
	}
	s.Feasibility = r.translations.judge(&s)
	nodes := r.nodesOf(ctx, &s)
	// A claim that is not of age is judged without its Node. That is nearly every pass of nearly every pool.
	s.Selection = rotation.Select(&s, nodes.node)
	if s.Anchor() == "" && len(s.Selection.Due) == 0 {
		return s, nil
	}
	if s.SubjectName() != "" {
		if s, err = r.around(ctx, s); err != nil {
			return s, err
		}
	}
	s.Nodes, err = nodes.touched(&s)
	return s, err
}

func (r *Reader) claims(ctx context.Context, pool string) ([]*rotation.Claim, error) {
	if shelves, ok := r.Cache.(Shelves); ok {
		return r.translations.of(pool, shelves.NodeClaimsBy(indexPool, pool)), nil
	}
	var list karpenterv1.NodeClaimList
	if err := r.Cache.List(ctx, &list, client.MatchingFields{indexPool: pool}); err != nil {
		return nil, fmt.Errorf("the NodeClaims of NodePool %s cannot be listed: %w", pool, err)
	}
	byName := make([]*karpenterv1.NodeClaim, len(list.Items))
	for i := range list.Items {
		byName[i] = &list.Items[i]
	}
	slices.SortFunc(byName, func(a, b *karpenterv1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	return r.translations.of(pool, byName), nil
}

// around adds the Pods and budgets that the subject's rotation depends on.
func (r *Reader) around(ctx context.Context, s rotation.Snapshot) (rotation.Snapshot, error) {
	var err error
	if s.Placeholders, err = r.placeholders(ctx, indexSurgeFor, s.SubjectName()); err != nil {
		return s, err
	}
	s.PodsByNode = map[string][]*corev1.Pod{}
	for _, node := range emptied(&s) {
		if s.PodsByNode[node], err = r.pods(ctx, indexNode, node); err != nil {
			return s, err
		}
	}
	if s.Anchor() == "" {
		return s, nil
	}
	if s.Unbound, err = r.pods(ctx, indexNode, unbound); err != nil {
		return s, err
	}
	if subject, exists := s.Subject(); exists && subject.Deleting() {
		s.Budgets, err = r.budgets(ctx)
	}
	return s, err
}

// placeholders looks up those of this installation by an index. Without a namespace they are looked for in every one.
func (r *Reader) placeholders(ctx context.Context, index, value string) ([]*corev1.Pod, error) {
	found, err := r.pods(ctx, index, value, client.InNamespace(r.Settings.Namespace))
	var own []*corev1.Pod
	for _, pod := range found {
		within := r.Settings.Namespace == "" || pod.Namespace == r.Settings.Namespace
		if within && rotation.IsPlaceholder(pod) {
			own = append(own, pod)
		}
	}
	return own, err
}

// emptied names the nodes whose Pods the rotation asks about: the old one, the placeholder's, and those of the claims
// that the attempt may have induced.
func emptied(s *rotation.Snapshot) []string {
	var nodes []string
	add := func(node string) {
		if node != "" && !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	subject, exists := s.Subject()
	if exists {
		add(subject.NodeName)
	}
	for _, p := range s.Placeholders {
		add(p.Spec.NodeName)
	}
	if induced, found := s.Claim(subject.Annotations[rotation.KeySurgeClaim]); found {
		add(induced.NodeName)
	}
	return nodes
}

// pods looks Pods up by an index. Shelves may hand out more than is asked for within it.
func (r *Reader) pods(ctx context.Context, index, value string, within ...client.ListOption) ([]*corev1.Pod, error) {
	if shelves, ok := r.Cache.(Shelves); ok {
		return shelves.PodsBy(index, value), nil
	}
	var list corev1.PodList
	if err := r.Cache.List(ctx, &list, append(within, client.MatchingFields{index: value})...); err != nil {
		return nil, fmt.Errorf("Pods cannot be listed: %w", err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return pods, nil
}

func (r *Reader) budgets(ctx context.Context) ([]*policyv1.PodDisruptionBudget, error) {
	if shelves, ok := r.Cache.(Shelves); ok {
		return shelves.Budgets(), nil
	}
	var list policyv1.PodDisruptionBudgetList
	if err := r.Cache.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("PodDisruptionBudgets cannot be listed: %w", err)
	}
	budgets := make([]*policyv1.PodDisruptionBudget, len(list.Items))
	for i := range list.Items {
		budgets[i] = &list.Items[i]
	}
	return budgets, nil
}
