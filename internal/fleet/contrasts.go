// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// contrasts are pairs of pools that differ in what hardly any situation shows.
func contrasts() []Pair {
	return slices.Concat(contrastingSizes(), contrastingSurges(), contrastingDrains())
}

// contrastingSizes differ in what the placeholder asks for, and in the room for it.
func contrastingSizes() []Pair {
	old := func(facts ...ClaimFact) Fact { return AClaim("old", append([]ClaimFact{Aged(10 * Day)}, facts...)...) }
	small := func(c *rotation.Claim, _ time.Time) { c.Allocatable = Amounts("cpu=1") }
	special := func(c *rotation.Claim, _ time.Time) {
		c.Requirements = []rotation.Requirement{{Key: corev1.LabelArchStable, Operator: string(corev1.NodeSelectorOpIn), Values: []string{"arm64"}}}
	}
	pinned := func(s *rotation.Snapshot) {
		for _, pod := range s.PodsByNode["old-node"] {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "old-node"}
		}
	}
	tainted := PoolThat(func(p *rotation.Pool) {
		p.Taints = []corev1.Taint{{Key: "dedicated", Value: "shop", Effect: corev1.TaintEffectNoSchedule}}
	})
	load := WithWorkloadOn("old-node", "web", "cpu=4")
	limits := Limited([]string{"cpu=8"}, []string{"cpu=6"})
	return []Pair{
		{APool(old(), load, limits), APool(old(small))},
		{APool(old(), load, limits), APool(old(OnNode("")))},
		{APool(old(), load, limits, pinned), APool(old(), WithoutNode("old-node"))},
		{APool(old()), APool(old(), tainted)},
		{APool(old()), APool(old(special))},
		{APool(old(small), load), APool(old(small, PendingFor(time.Minute)), load)},
		{APool(old(small), load), APool(old(small, Failed(3, 2*Day)), load)},
	}
}

// contrastingSurges differ in what a rotation has induced so far.
func contrastingSurges() []Pair {
	pending := []Fact{Anchored("old"), AClaim("old", Aged(10*Day), PendingFor(time.Minute))}
	with := func(more ...Fact) rotation.Snapshot { return APool(slices.Concat(pending, more)...) }
	onNew := WithPlaceholderOn("new-node", corev1.PodRunning)
	unserved := WithPlaceholderOn("", corev1.PodPending, Unschedulable("no node fits"))
	// The replacement is launched and has no Node yet; a Pod of the shop could have asked for it as well.
	launched := []Fact{WithPlaceholderOn("", corev1.PodPending), AClaim("new", Aged(30*time.Second), OnNode(""))}
	rival := func(s *rotation.Snapshot) {
		s.Unbound = append(s.Unbound, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "shop", CreationTimestamp: metav1.NewTime(s.Now.Add(-time.Minute)),
		}})
	}
	repelling := PoolThat(func(p *rotation.Pool) {
		p.Taints = []corev1.Taint{{Key: "dedicated", Value: "shop", Effect: corev1.TaintEffectNoSchedule}}
	})
	elsewhere := APool(AClaim("old", Aged(10*Day), InState(rotation.StateFailed)), PoolAnnotated(rotation.KeyActiveRotation, "old"))
	unanchored := func(s *rotation.Snapshot) { delete(s.Pool.Annotations, rotation.KeyActiveRotation) }
	return []Pair{
		{with(onNew, AClaim("new")), with(onNew, AClaim("new", NotReady))},
		{with(unserved), APool(Anchored("old"), AClaim("old", PendingFor(time.Hour)))},
		{APool(Anchored("old"), AClaim("old", Failed(1, Day)), unserved), APool(Anchored("old"), AClaim("old", Failed(3, Day)))},
		{with(launched...), with(append(launched, rival)...)},
		{with(append(launched, rival)...), with(append(launched, rival, repelling)...)},
		{elsewhere, with()},
		{elsewhere, APool(Anchored("old"))},
		{APool(Anchored("old"), AClaim("old", Aged(10*Day)), AClaim("new"), onNew, unanchored), APool()},
	}
}

// contrastingDrains differ in what holds a drain.
func contrastingDrains() []Pair {
	held := func(s *rotation.Snapshot) {
		for _, pod := range s.PodsByNode["old-node"] {
			pod.Labels = map[string]string{"app": "web"}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		s.Budgets = []*policyv1.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}}
	}
	draining := []Fact{Anchored("old"), AClaim("old", Aged(10*Day), DrainingFor(2*time.Hour)), WithWorkloadOn("old-node", "web", "cpu=1")}
	return []Pair{
		{APool(append(draining, held)...), APool(draining...)},
		{APool(append(draining, held)...), APool(Anchored("old"), AClaim("old", Aged(10*Day), OnNode("")))},
	}
}
