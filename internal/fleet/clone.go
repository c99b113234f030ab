// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

// Clone copies a snapshot down to the last pointer, so that a test can tell whether anything was changed in place. The
// windows are shared: a Schedule is immutable.
func Clone(s rotation.Snapshot) rotation.Snapshot {
	s.Pool = clonePool(s.Pool)
	s.Governance.Policy = s.Governance.Policy.DeepCopy()
	s.Governance.Terms.AgeThreshold = clonePointer(s.Governance.Terms.AgeThreshold)
	s.Governance.Terms.Required = slices.Clone(s.Governance.Terms.Required)
	s.Governance.Terms.Preferred = slices.Clone(s.Governance.Terms.Preferred)
	s.Claims = cloneAll(s.Claims, cloneClaim)
	s.Nodes = maps.Clone(s.Nodes)
	for name, node := range s.Nodes {
		s.Nodes[name] = node.DeepCopy()
	}
	s.PodsByNode = maps.Clone(s.PodsByNode)
	for name, pods := range s.PodsByNode {
		s.PodsByNode[name] = cloneEach(pods)
	}
	s.Placeholders = cloneEach(s.Placeholders)
	s.Unbound = cloneEach(s.Unbound)
	s.Budgets = cloneEach(s.Budgets)
	s.Cleared = maps.Clone(s.Cleared)
	s.Feasibility.Findings = slices.Clone(s.Feasibility.Findings)
	s.Selection.Due = maps.Clone(s.Selection.Due)
	return s
}

func clonePool(p rotation.Pool) rotation.Pool {
	p.Labels, p.Annotations, p.TemplateLabels = maps.Clone(p.Labels), maps.Clone(p.Annotations), maps.Clone(p.TemplateLabels)
	p.ExpireAfter, p.TerminationGracePeriod = clonePointer(p.ExpireAfter), clonePointer(p.TerminationGracePeriod)
	p.Taints = cloneAll(p.Taints, func(t corev1.Taint) corev1.Taint { return *t.DeepCopy() })
	p.Requirements = cloneAll(p.Requirements, cloneRequirement)
	p.Limits, p.Used = p.Limits.DeepCopy(), p.Used.DeepCopy()
	return p
}

func cloneClaim(of *rotation.Claim) *rotation.Claim {
	c := *of
	c.Labels, c.Annotations = maps.Clone(c.Labels), maps.Clone(c.Annotations)
	c.ExpireAfter, c.TerminationGracePeriod = clonePointer(c.ExpireAfter), clonePointer(c.TerminationGracePeriod)
	c.Allocatable = c.Allocatable.DeepCopy()
	c.Requirements = cloneAll(c.Requirements, cloneRequirement)
	return &c
}

func cloneRequirement(r rotation.Requirement) rotation.Requirement {
	r.Values = slices.Clone(r.Values)
	return r
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

func cloneAll[T any](values []T, clone func(T) T) []T {
	out := slices.Clone(values)
	for i, value := range out {
		out[i] = clone(value)
	}
	return out
}

func cloneEach[T interface{ DeepCopy() T }](values []T) []T {
	return cloneAll(values, T.DeepCopy)
}
