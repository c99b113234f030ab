// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Resolution says which policy a pool belongs to (§5.4). It is finer than Governance: an Invalid policy wins its
// pools, and governs none of them.
type Resolution struct {
	// Winner is the most specific policy that selects the pool, valid or not; nil without one, and on a tie.
	Winner *v1alpha1.RotationPolicy
	// Invalid is true when the winner is: the pool is then stopped.
	Invalid bool
	// Tied names the policies that select the pool with the same, highest specificity, sorted; nil unless there are
	// two or more.
	Tied []string
	// Reason is a sentence that says why.
	Reason string

	winner *Assessment
}

// Resolve finds the policy of a pool by the pool's labels: of the policies that select it, the one with the most label
// constraints (§5.4). Its answer does not depend on the order of the assessments.
func Resolve(assessments []Assessment, poolLabels map[string]string) Resolution {
	var winner *Assessment
	var rivals []string
	for i := range assessments {
		a := &assessments[i]
		if !a.selector.matches(poolLabels) {
			continue
		}
		switch {
		case winner == nil || a.selector.specificity > winner.selector.specificity:
			winner, rivals = a, nil
		case a.selector.specificity == winner.selector.specificity:
			rivals = append(rivals, a.Policy.Name)
		}
	}
	if winner == nil {
		return Resolution{Reason: unselected(assessments)}
	}
	if len(rivals) > 0 {
		rivals = append(rivals, winner.Policy.Name)
		slices.Sort(rivals)
		return Resolution{Tied: rivals, Reason: fmt.Sprintf(
			"RotationPolicies %s select the NodePool with %s each; give one of them a further constraint, or narrow the others",
			enumerate(rivals), winner.constraints)}
	}
	r := Resolution{Winner: winner.Policy, Invalid: winner.Invalid(), winner: winner}
	if r.Invalid {
		r.Reason = "the RotationPolicy that selects the NodePool is Invalid: " + winner.Reason()
	} else {
		r.Reason = winner.governs
	}
	return r
}

// Govern resolves the policy of a pool and returns what the pool's snapshot carries. No policy, a tie and an Invalid
// winner all leave the pool ungoverned (§3.8).
func Govern(assessments []Assessment, poolLabels map[string]string) Governance {
	r := Resolve(assessments, poolLabels)
	g := Governance{Reason: r.Reason, Conflict: len(r.Tied) > 0}
	switch {
	case r.winner == nil:
		return g
	case r.Invalid:
		g.Faults = r.winner.faults()
		return g
	}
	g.Policy, g.Terms = r.Winner, r.winner.Terms
	g.Windows, g.Survey = r.winner.Windows, r.winner.Survey
	return g
}

func unselected(assessments []Assessment) string {
	if len(assessments) == 0 {
		return "there is no RotationPolicy; create one whose nodePoolSelector matches the NodePool's labels"
	}
	return "no RotationPolicy selects the NodePool by its labels; label it, or create a policy with an empty nodePoolSelector"
}

// selector is a policy's nodePoolSelector, read once.
type selector struct {
	requirements []labels.Requirement
	specificity  int
}

// readSelector reads what can be read of a selector. A constraint that cannot be read makes the policy Invalid, and
// counts as met and as a constraint: the policy then stops every pool that it may have meant, where a reading as "not
// met" would hand those pools to a broader policy, under other windows.
func readSelector(from metav1.LabelSelector) (selector, []error) {
	s := selector{specificity: len(from.MatchLabels) + len(from.MatchExpressions)}
	var problems []error
	add := func(where, key string, operator selection.Operator, values []string) {
		requirement, err := labels.NewRequirement(key, operator, values)
		if err != nil {
			problems = append(problems, fmt.Errorf("spec.nodePoolSelector.%s cannot be read: %w", where, err))
			return
		}
		s.requirements = append(s.requirements, *requirement)
	}
	for _, key := range slices.Sorted(maps.Keys(from.MatchLabels)) {
		add("matchLabels["+strconv.Quote(key)+"]", key, selection.Equals, []string{from.MatchLabels[key]})
	}
	for i, e := range from.MatchExpressions {
		where := "matchExpressions[" + strconv.Itoa(i) + "]"
		operator, known := operators[e.Operator]
		if !known {
			problems = append(problems, fmt.Errorf(
				"spec.nodePoolSelector.%s has operator %q, which must be In, NotIn, Exists or DoesNotExist", where, e.Operator))
			continue
		}
		add(where, e.Key, operator, e.Values)
	}
	return s, problems
}

var operators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn:           selection.In,
	metav1.LabelSelectorOpNotIn:        selection.NotIn,
	metav1.LabelSelectorOpExists:       selection.Exists,
	metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

func (s selector) matches(set labels.Set) bool {
	for i := range s.requirements {
		if !s.requirements[i].Matches(set) {
			return false
		}
	}
	return true
}

// enumerate writes two or more names as "a, b and c".
func enumerate(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
