// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Operators of a Requirement. The last two are Karpenter's own: a Pod cannot state them.
const (
	opIn           = string(corev1.NodeSelectorOpIn)
	opNotIn        = string(corev1.NodeSelectorOpNotIn)
	opExists       = string(corev1.NodeSelectorOpExists)
	opDoesNotExist = string(corev1.NodeSelectorOpDoesNotExist)
	opGt           = string(corev1.NodeSelectorOpGt)
	opLt           = string(corev1.NodeSelectorOpLt)
	opGte          = "Gte"
	opLte          = "Lte"
)

// Replica is one node label that the placeholder takes over from the candidate (§3.3, Replicated values).
type Replica struct {
	Key string
	// Expressions say, together, which values of the label a host may have. There is none for a key that neither
	// the candidate's Node nor its claim has.
	Expressions []corev1.NodeSelectorRequirement
	// Departed is the candidate's own value where the pool has since been changed to allow it no longer; empty
	// otherwise. Expressions then state what the pool allows: Karpenter can launch nothing else, and a replacement
	// of the pool's present kind is better than a deadline without one.
	Departed string
}

// Replicas are the node labels that the placeholder requires and those that it prefers, in the policy's order
// (§3.3). The error names the object, the key and the operator that cannot be honoured.
func Replicas(s Snapshot) (required, preferred []Replica, err error) {
	if s.Governance.Policy == nil {
		return nil, nil, nil
	}
	for _, key := range s.Governance.Policy.RequiredKeys() {
		replica, err := replicate(s, string(key))
		if err != nil {
			return nil, nil, err
		}
		required = append(required, replica)
	}
	for _, key := range s.Governance.Policy.PreferredKeys() {
		replica, err := replicate(s, string(key))
		if err != nil {
			return nil, nil, err
		}
		preferred = append(preferred, replica)
	}
	return required, preferred, nil
}

// Unreplicated names the labels that the replacement of the subject is required to share, and of which neither the subject's
// Node nor its claim says a value, nor the pool the only one; none where the Node itself is not known.
func Unreplicated(s *Snapshot) (keys []string) {
	if s.Governance.Policy == nil || s.SubjectNode() == nil {
		return nil
	}
	for _, key := range s.Governance.Policy.RequiredKeys() {
		own, err := s.ownConstraint(string(key))
		only, enumerated := s.Pool.constraint(string(key)).values()
		if settled := enumerated && len(only) == 1; err == nil && len(own) == 0 && !settled {
			keys = append(keys, string(key))
		}
	}
	return keys
}

// replicate intersects what the candidate has under the key with what the pool allows.
func replicate(s Snapshot, key string) (Replica, error) {
	if key == corev1.LabelHostname {
		return Replica{}, fmt.Errorf("RotationPolicy %s: remove %s from surge.matchNodeRequirements: no replacement has the host name of the node it replaces",
			s.Governance.Policy.Name, key)
	}
	own, err := s.ownConstraint(key)
	if err != nil || len(own) == 0 {
		return Replica{Key: key}, err
	}
	pool := s.Pool.constraint(key)
	if err := pool.check("NodePool " + s.Pool.Name); err != nil {
		return Replica{}, err
	}
	both := slices.Concat(own, pool)
	switch {
	case !both.empty():
		return Replica{Key: key, Expressions: both.expressions(key)}, nil
	case !pool.empty():
		values, _ := own.values()
		return Replica{Key: key, Expressions: pool.expressions(key), Departed: strings.Join(values, ",")}, nil
	default:
		return Replica{Key: key}, nil
	}
}

// ownConstraint is what the candidate itself says of the key: the label of its Node, which wins because it is the
// one value that Karpenter settled on, else the requirements of its claim.
func (s *Snapshot) ownConstraint(key string) (constraint, error) {
	if node := s.SubjectNode(); node != nil {
		if value, labelled := node.Labels[key]; labelled {
			return constraint{{key, opIn, []string{value}}}, nil
		}
	}
	claim, _ := s.Subject()
	own := requirementsOn(key, claim.Requirements)
	return own, own.check("NodeClaim " + claim.Name)
}

// constraint is what the pool demands of the key, by its requirements and by the labels that it gives its Nodes.
func (p Pool) constraint(key string) constraint {
	c := requirementsOn(key, p.Requirements)
	if value, fixed := p.TemplateLabels[key]; fixed {
		c = append(c, Requirement{key, opIn, []string{value}})
	}
	if key == LabelNodePool {
		c = append(c, Requirement{key, opIn, []string{p.Name}})
	}
	return c
}

// constraint is a set of requirements on one key that must all hold.
type constraint []Requirement

func requirementsOn(key string, requirements []Requirement) constraint {
	var c constraint
	for _, r := range requirements {
		if r.Key == key {
			c = append(c, r)
		}
	}
	return c
}

// check tells whether every requirement can be honoured; owner is the object that a person has to correct.
func (c constraint) check(owner string) error {
	for _, r := range c {
		switch r.Operator {
		case opIn, opNotIn, opExists, opDoesNotExist:
		case opGt, opLt, opGte, opLte:
			if _, readable := r.bound(); !readable {
				return fmt.Errorf("%s: its requirement on %s compares by %s with %q, which must be one whole number; correct it",
					owner, r.Key, r.Operator, strings.Join(r.Values, ","))
			}
		default:
			return fmt.Errorf("%s: its requirement on %s has the unknown operator %q, so no placeholder can state it; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte",
				owner, r.Key, r.Operator)
		}
	}
	return nil
}

// values are the values that the constraint leaves, sorted. The second result is false when it does not enumerate
// them, because it has no In.
func (c constraint) values() ([]string, bool) {
	i := slices.IndexFunc(c, func(r Requirement) bool { return r.Operator == opIn })
	if i < 0 {
		return nil, false
	}
	var left []string
	for _, value := range c[i].Values {
		if c.admits(value) {
			left = append(left, value)
		}
	}
	slices.Sort(left)
	return slices.Compact(left), true
}

// empty tells whether the constraint enumerates its values and leaves none.
func (c constraint) empty() bool {
	values, enumerated := c.values()
	return enumerated && len(values) == 0
}

func (c constraint) admits(value string) bool {
	return !slices.ContainsFunc(c, func(r Requirement) bool { return !r.admits(value) })
}

// expressions states the constraint in a Pod's terms: one In where the values are enumerated, else its
// requirements one by one.
func (c constraint) expressions(key string) []corev1.NodeSelectorRequirement {
	if values, enumerated := c.values(); enumerated {
		return []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}
	}
	var out []corev1.NodeSelectorRequirement
	for _, r := range c {
		expression := r.expression()
		repeated := slices.ContainsFunc(out, func(e corev1.NodeSelectorRequirement) bool {
			return e.Operator == expression.Operator && slices.Equal(e.Values, expression.Values)
		})
		if !repeated {
			out = append(out, expression)
		}
	}
	return out
}

// admits tells whether a label of this value meets the requirement. An unknown operator rules nothing out: check
// is what refuses it.
func (r Requirement) admits(value string) bool {
	switch r.Operator {
	case opIn:
		return slices.Contains(r.Values, value)
	case opNotIn:
		return !slices.Contains(r.Values, value)
	case opDoesNotExist:
		return false
	case opGt, opLt, opGte, opLte:
		number, err := strconv.ParseInt(value, 10, 64)
		bound, readable := r.bound()
		return err == nil && readable && r.compares(number, bound)
	default:
		return true
	}
}

func (r Requirement) compares(number, bound int64) bool {
	switch r.Operator {
	case opGt:
		return number > bound
	case opLt:
		return number < bound
	case opGte:
		return number >= bound
	default:
		return number <= bound
	}
}

// bound is the number that the requirement compares with.
func (r Requirement) bound() (int64, bool) {
	if len(r.Values) != 1 {
		return 0, false
	}
	number, err := strconv.ParseInt(r.Values[0], 10, 64)
	return number, err == nil
}

// expression states the requirement in a Pod's terms. Pods have no Gte and Lte, and Karpenter refuses a Pod that
// compares with a negative number; no node label counts below zero, so "at least 0" is Exists.
func (r Requirement) expression() corev1.NodeSelectorRequirement {
	out := corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator)}
	bound, _ := r.bound()
	switch r.Operator {
	case opIn, opNotIn:
		out.Values = slices.Sorted(slices.Values(r.Values))
	case opGt, opLt:
		out.Values = []string{strconv.FormatInt(bound, 10)}
	case opGte:
		if bound <= 0 {
			out.Operator = corev1.NodeSelectorOpExists
			break
		}
		out.Operator, out.Values = corev1.NodeSelectorOpGt, []string{strconv.FormatInt(bound-1, 10)}
	case opLte:
		if bound == math.MaxInt64 {
			out.Operator = corev1.NodeSelectorOpExists
			break
		}
		out.Operator, out.Values = corev1.NodeSelectorOpLt, []string{strconv.FormatInt(bound+1, 10)}
	}
	return out
}

// welcomes tells whether a Pod with these constraints could be put on a node of the pool. It says no only where it
// is sure.
func (p Pool) welcomes(pod *corev1.Pod) bool {
	for _, taint := range p.Taints {
		if keepsAway(taint) && !tolerates(pod, taint) {
			return false
		}
	}
	for key, value := range pod.Spec.NodeSelector {
		if p.contradicts(Requirement{key, opIn, []string{value}}) {
			return false
		}
	}
	terms := requiredTerms(pod)
	return len(terms) == 0 || slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
			return p.contradicts(Requirement{e.Key, string(e.Operator), e.Values})
		})
	})
}

func (p Pool) contradicts(r Requirement) bool { return append(p.constraint(r.Key), r).empty() }

// requiredTerms are the alternatives of the Pod's required node affinity; none when it has no such affinity.
func requiredTerms(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// keepsAway tells whether Pods that do not tolerate the taint are kept off the Node, or taken off it.
func keepsAway(taint corev1.Taint) bool { return taint.Effect != corev1.TaintEffectPreferNoSchedule }

// tolerates tells whether the Pod tolerates the taint. A numeric comparison counts as tolerating.
func tolerates(pod *corev1.Pod, taint corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		if (t.Effect != "" && t.Effect != taint.Effect) || (t.Key != "" && t.Key != taint.Key) {
			return false
		}
		return (t.Operator != "" && t.Operator != corev1.TolerationOpEqual) || t.Value == taint.Value
	})
}
