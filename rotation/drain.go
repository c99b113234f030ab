// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Bounds of what a DrainStuck message names.
const (
	maxHolders      = 5
	maxPodsOfHolder = 3
)

// taintDisrupted is on a Node from the moment at which Karpenter has decided to replace or drain it.
const taintDisrupted = "karpenter.sh/disrupted"

// DrainHolders says, in sentences, what holds the drain of the subject's Node (§4.2, DrainStuck): Pods that must not be
// disrupted, PodDisruptionBudgets that allow no eviction, Pods that do not end. It names five at most, and how many
// there are beyond.
func DrainHolders(s Snapshot) []string {
	claim, _ := s.Subject()
	return HoldersOf(s, claim)
}

// HoldersOf says the same of any claim of the pool, also of one whose drain has not begun: what would hold it now. The
// snapshot has the Pods of the claim's Node and the budgets.
func HoldersOf(s Snapshot, claim Claim) []string {
	// Karpenter taints the Node before it drains it, and leaves the Pods that tolerate the taint in place.
	disrupted := corev1.Taint{Key: taintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	var evictable, overdue []*corev1.Pod
	var holders []string
	for _, pod := range byName(s.PodsByNode[claim.NodeName]) {
		switch {
		case Finished(pod), mirrored(pod), tolerates(pod, disrupted):
		case pod.DeletionTimestamp != nil:
			// The deletionTimestamp is when the grace period ends, not when it began.
			if s.Now.After(pod.DeletionTimestamp.Time) {
				overdue = append(overdue, pod)
			}
		case protectedFromDisruption(pod, s.Now):
			holders = append(holders, fmt.Sprintf("Pod %s/%s has %s=%q", pod.Namespace, pod.Name, KeyDoNotDisrupt, pod.Annotations[KeyDoNotDisrupt]))
		default:
			evictable = append(evictable, pod)
		}
	}
	holders = append(holders, budgetHolders(s.Budgets, evictable)...)
	for _, pod := range overdue {
		holders = append(holders, fmt.Sprintf("Pod %s/%s should have ended at %s%s",
			pod.Namespace, pod.Name, FormatStamp(pod.DeletionTimestamp.Time), finalizersOf(pod)))
	}
	return bounded(holders, maxHolders)
}

// protectedFromDisruption tells whether Karpenter leaves the Pod alone: its do-not-disrupt is "true", or a duration
// since the Pod's start that has not passed. Any other value protects nothing.
func protectedFromDisruption(pod *corev1.Pod, now time.Time) bool {
	value := pod.Annotations[KeyDoNotDisrupt]
	if value == ValueTrue {
		return true
	}
	length, err := time.ParseDuration(value)
	if err != nil || length <= 0 {
		return false
	}
	return pod.Status.StartTime == nil || now.Before(pod.Status.StartTime.Add(length))
}

// budgetHolders names the budgets that allow none of the Pods to be evicted. Of two budgets that select one Pod neither
// may allow a thing: the eviction is refused until one of them is gone.
func budgetHolders(budgets []*policyv1.PodDisruptionBudget, pods []*corev1.Pod) []string {
	var holders, doubled []string
	held := map[string][]string{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodPending {
			continue // evicted whatever a budget says
		}
		over := budgetsOver(pod, budgets)
		if len(over) > 1 {
			doubled = append(doubled, fmt.Sprintf("Pod %s/%s is selected by %d PodDisruptionBudgets (%s), and cannot be evicted under more than one",
				pod.Namespace, pod.Name, len(over), strings.Join(namesOf(over), ", ")))
			continue
		}
		for _, budget := range over {
			if refuses(budget, pod) {
				key := budget.Namespace + "/" + budget.Name
				held[key] = append(held[key], pod.Name)
			}
		}
	}
	for _, budget := range byName(budgets) {
		if names := held[budget.Namespace+"/"+budget.Name]; len(names) > 0 {
			holders = append(holders, fmt.Sprintf("PodDisruptionBudget %s/%s allows no disruption (%d of %d healthy, %d needed) of %s",
				budget.Namespace, budget.Name, budget.Status.CurrentHealthy, budget.Status.ExpectedPods, budget.Status.DesiredHealthy,
				strings.Join(bounded(names, maxPodsOfHolder), ", ")))
		}
	}
	return append(holders, doubled...)
}

func budgetsOver(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) []*policyv1.PodDisruptionBudget {
	var over []*policyv1.PodDisruptionBudget
	for _, budget := range byName(budgets) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			over = append(over, budget)
		}
	}
	return over
}

// refuses tells whether the eviction API turns the Pod's eviction down. A Pod that is not Ready does not count towards
// the budget, and may go where the budget's policy or its health lets it.
func refuses(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if budget.Status.DisruptionsAllowed > 0 {
		return false
	}
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if ready {
		return true
	}
	policy := budget.Spec.UnhealthyPodEvictionPolicy
	healthy := budget.Status.DesiredHealthy > 0 && budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy
	return !healthy && (policy == nil || *policy != policyv1.AlwaysAllow)
}

func finalizersOf(pod *corev1.Pod) string {
	if len(pod.Finalizers) == 0 {
		return ""
	}
	return fmt.Sprintf(" and has the finalizers %s", strings.Join(pod.Finalizers, ", "))
}

// bounded keeps the first few entries and counts the others.
func bounded(entries []string, most int) []string {
	if len(entries) <= most {
		return entries
	}
	return append(slices.Clone(entries[:most]), fmt.Sprintf("and %d more", len(entries)-most))
}

func namesOf(budgets []*policyv1.PodDisruptionBudget) []string {
	names := make([]string, len(budgets))
	for i, budget := range budgets {
		names[i] = budget.Name
	}
	return names
}

// byName is a copy sorted by namespace and name: the cache lists in no order.
func byName[O metav1.Object](objects []O) []O {
	return slices.SortedFunc(slices.Values(objects), func(a, b O) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}
