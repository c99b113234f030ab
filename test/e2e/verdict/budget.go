// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"noderotation.io/noderotation/test/e2e/record"
)

// BudgetKept judges that once all the replicas that the budget speaks of were Ready, never fewer of them are Ready and staying than
// its spec allows. It is worked out from the Pods themselves; what the budget's status says counts for nothing.
func BudgetKept(recording record.Recording, budget types.NamespacedName, replicas int) []string {
	var found breaches
	whole := false
	recording.Replay(func(event record.Event, world record.World) {
		pdb := world.Budgets[budget]
		if pdb == nil {
			return
		}
		ready := readyUnder(pdb, world)
		whole = whole || ready == replicas
		if least := leastReady(pdb, replicas); whole && ready < least {
			found.add(event.Revision, "%d of %d Pods under %s are Ready, at least %d must be", ready, replicas, budget, least)
		}
	})
	if !whole {
		found.add(0, "the %d Pods under %s were never Ready all at once", replicas, budget)
	}
	return found
}

func readyUnder(pdb *policyv1.PodDisruptionBudget, world record.World) (ready int) {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		return 0
	}
	for _, pod := range world.Pods {
		if pod.Namespace == pdb.Namespace && selector.Matches(labels.Set(pod.Labels)) && record.PodReady(pod) {
			ready++
		}
	}
	return ready
}

// leastReady is how many of the replicas must be Ready. Fractions are rounded up, of what may be missing as well as of
// what must be there, as the eviction API does.
func leastReady(pdb *policyv1.PodDisruptionBudget, replicas int) int {
	scaled := func(value *intstr.IntOrString) int {
		n, _ := intstr.GetScaledValueFromIntOrPercent(value, replicas, true)
		return n
	}
	if pdb.Spec.MinAvailable != nil {
		return scaled(pdb.Spec.MinAvailable)
	}
	if pdb.Spec.MaxUnavailable != nil {
		return max(0, replicas-scaled(pdb.Spec.MaxUnavailable))
	}
	return 0
}
