// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestBudgetKept(t *testing.T) {
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	three := []record.Object{budget(intstr.FromInt32(1)), workload("web-0", oldClaim), workload("web-1", oldClaim), workload("web-2", oldClaim)}
	unready := workload("web-1", oldClaim)
	unready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	another := workload("web-0", oldClaim)
	another.Labels = nil

	for name, story := range map[string]struct {
		events []record.Event
		breach string
	}{
		"one is missing":            {events: []record.Event{turns(0, pool()), goes(1, workload("web-0", oldClaim)), comes(2, workload("web-3", newClaim))}},
		"two are missing":           {events: []record.Event{turns(0, pool()), goes(1, workload("web-0", oldClaim)), goes(2, workload("web-1", oldClaim)), comes(3, workload("web-3", newClaim))}, breach: "1 of 3 Pods under default/web are Ready, at least 2 must be"},
		"one ends, one is unready":  {events: []record.Event{turns(0, pool()), turns(1, deleted(workload("web-0", oldClaim))), turns(2, unready), turns(3, workload("web-1", oldClaim))}, breach: "1 of 3 Pods"},
		"one is another's by then":  {events: []record.Event{turns(0, pool()), turns(1, another), goes(2, workload("web-1", oldClaim)), comes(3, workload("web-3", newClaim))}, breach: "1 of 3 Pods"},
		"the budget is tightened":   {events: []record.Event{turns(0, pool()), goes(1, workload("web-0", oldClaim)), turns(2, budget(intstr.FromInt32(0))), comes(3, workload("web-3", newClaim))}, breach: "2 of 3 Pods under default/web are Ready, at least 3 must be"},
		"a third, rounded up":       {events: []record.Event{turns(0, budget(intstr.FromString("30%"))), goes(1, workload("web-0", oldClaim)), comes(2, workload("web-3", newClaim))}},
		"never whole to begin with": {events: []record.Event{goes(1, workload("web-0", oldClaim))}, breach: "were never Ready all at once"},
	} {
		t.Run(name, func(t *testing.T) {
			judged(t, verdict.BudgetKept(record.NewRecording(three, story.events...), key, 3), story.breach)
		})
	}
}
