// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// Whatever the fleet and its troubles, a run in which passes are left out that cannot differ has the trace of one in
// which every pass is made (architecture.md, one pass: requeue at the earliest moment at which a closed guard can open).
func TestAPassThatIsLeftOutIsNotMissed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawnStory(t)
		expectOneTrace(t, s.tell(false), s.tell(true))
	})
}

// The scheduler and Karpenter look only at pools of which something has changed. While a Pod waits that may be placed in any
// pool they look at all of them. One whose scheduling is gated must give the trace that one of a missing pool gives.
func TestAPoolThatIsNotLookedAtHasNothingToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawnStory(t)
		roams, waits := aFleetPod("waits", "nowhere", "1"), aFleetPod("waits", "nowhere", "1")
		roams.Spec.NodeSelector = nil
		for _, pod := range []*corev1.Pod{roams, waits} {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "never"}}
		}
		expectOneTrace(t, s.tell(true, roams), s.tell(true, waits))
	})
}

func expectOneTrace(t *rapid.T, expected, actual string) {
	one, other := strings.Split(expected, "\n"), strings.Split(actual, "\n")
	for i := range max(len(one), len(other)) {
		if i >= len(one) || i >= len(other) || one[i] != other[i] {
			t.Fatalf("the traces part at line %d\nexpected:\n%s\nactual:\n%s", i,
				strings.Join(one[max(0, i-3):min(len(one), i+5)], "\n"), strings.Join(other[max(0, i-3):min(len(other), i+5)], "\n"))
		}
	}
}

// story is a small fleet around one window, and what befalls it: plain values, so that it can be told twice.
type story struct {
	seed     uint64
	ages     map[string][]time.Duration
	lag      time.Duration
	fallback bool
	// settles is how long before Karpenter consolidates a node, also one that is not empty if underused; 0 for never.
	settles   time.Duration
	underused bool
	limited   bool
	// broken is every how many writes one is lost; 0 for none.
	broken     int
	shortage   sim.Shortage
	slow       sim.Slowness
	happenings []happening
}

// happening is something done to a pool or one of its nodes, so long after the window opens.
type happening struct {
	verb, pool, node string
	after, length    time.Duration
}

const (
	before = 20 * time.Minute
	beyond = 5 * time.Hour
)

func drawnStory(t *rapid.T) story {
	minutes := func(least, most int, label string) time.Duration {
		return time.Duration(rapid.IntRange(60*least, 60*most).Draw(t, label)) * time.Second
	}
	s := story{
		seed: rapid.Uint64Range(1, 1000).Draw(t, "seed"), ages: map[string][]time.Duration{},
		lag:      rapid.SampledFrom([]time.Duration{0, 0, time.Second, 4 * time.Second}).Draw(t, "lag"),
		fallback: rapid.Bool().Draw(t, "fallback"), limited: rapid.Bool().Draw(t, "limited"),
		settles: rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 10 * time.Minute}).Draw(t, "settles"), underused: rapid.Bool().Draw(t, "underused"),
		broken: rapid.SampledFrom([]int{0, 0, 3, 7}).Draw(t, "broken"),
	}
	pools := []string{"api", "web"}[:rapid.IntRange(1, 2).Draw(t, "pools")]
	for _, pool := range pools {
		for range rapid.IntRange(1, 3).Draw(t, "nodes") {
			age := rapid.SampledFrom([]time.Duration{day, 6*day - 90*time.Minute, 9 * day, 14*day - 100*time.Minute, 14*day - 30*time.Minute})
			s.ages[pool] = append(s.ages[pool], age.Draw(t, "age")+minutes(0, 60, "and"))
		}
	}
	if rapid.Bool().Draw(t, "short") {
		from := opening.Add(minutes(0, 60, "short from"))
		s.shortage = sim.Shortage{From: from, Until: from.Add(minutes(1, 60, "short for")), Chance: rapid.SampledFrom([]float64{0.5, 1}).Draw(t, "chance")}
	}
	if rapid.Bool().Draw(t, "slow") {
		s.slow = sim.Slowness{From: opening, Until: opening.Add(time.Hour), Extra: minutes(1, 20, "extra")}
	}
	for range rapid.IntRange(0, 4).Draw(t, "happenings") {
		pool := rapid.SampledFrom(pools).Draw(t, "pool")
		s.happenings = append(s.happenings, happening{
			verb: rapid.SampledFrom([]string{"freezes", "garbles", "protects", "cordons", "slows", "blocks", "stops", "deletes", "drifts", "drops", "edits", "unlabels", "strands", "breaks"}).Draw(t, "verb"),
			pool: pool, node: fmt.Sprintf("%s-%d", pool, rapid.IntRange(0, len(s.ages[pool])-1).Draw(t, "node")),
			after: minutes(-10, 120, "after"), length: minutes(1, 90, "length"),
		})
	}
	return s
}

// tell runs the story with these others in it, and returns its trace.
func (s story) tell(skip bool, others ...client.Object) string {
	config := aConfig()
	config.Start, config.Seed = opening.Add(-before), s.seed
	config.Controller.Skip, config.Controller.Lag = skip, s.lag
	if s.broken > 0 {
		count := 0
		config.Controller.Writes = func(c client.Client) client.Client { return unreliable{c, s.broken, s.seed%2 == 0, &count} }
	}
	config.Karpenter.Shortages, config.Karpenter.Slow = []sim.Shortage{s.shortage}, []sim.Slowness{s.slow}
	config.Karpenter.ConsolidateAfter, config.Karpenter.Underutilized = s.settles, s.underused
	for i, h := range s.happenings {
		begin, end := h.deeds(i)
		config.Script = append(config.Script, at(h.after, h.verb, begin), at(h.after+h.length, "ends what "+h.verb, end))
	}
	objects := []client.Object{aPolicy(func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ForcefulFallback.Enabled = s.fallback }), aBudget("api", 1)}
	objects = append(objects, others...)
	var fleets []sim.Fleet
	for _, pool := range []string{"api", "web"} {
		if ages := s.ages[pool]; len(ages) > 0 {
			fleet := aFleet(pool, ages...)
			if s.limited {
				fleet.Limits = corev1.ResourceList{"cpu": *quantity(fmt.Sprint(4*len(ages) + 4))}
			}
			fleets = append(fleets, fleet)
		}
	}
	w := aWorld(config, fleets, objects...)
	w.RunUntil(opening.Add(beyond))
	return config.Trace.String()
}

// deeds are what is done when the happening begins, and when it ends.
func (h happening) deeds(i int) (begin, end func(*sim.World)) {
	nothing := func(*sim.World) {}
	switch h.verb {
	case "freezes":
		return func(w *sim.World) { w.Freeze(h.pool, w.Now().Add(h.length+time.Minute)) }, func(w *sim.World) { w.Freeze(h.pool, time.Time{}) }
	case "garbles":
		return func(w *sim.World) { w.AnnotatePool(h.pool, rotation.KeyFreeze, "soon") }, func(w *sim.World) { w.AnnotatePool(h.pool, rotation.KeyFreeze, "") }
	case "protects":
		return func(w *sim.World) { w.Protect(h.node, true) }, func(w *sim.World) { w.Protect(h.node, false) }
	case "cordons":
		return func(w *sim.World) { w.Cordon(h.node, true) }, func(w *sim.World) { w.Cordon(h.node, false) }
	case "slows":
		return func(w *sim.World) { w.SlowDown(h.length) }, func(w *sim.World) { w.SlowDown(0) }
	case "stops":
		return (*sim.World).StopController, (*sim.World).StartController
	case "drifts":
		return func(w *sim.World) { w.Drift(h.node) }, nothing
	case "deletes":
		return func(w *sim.World) {
			if node := w.Node(h.node); node != nil {
				_ = w.Delete(node, nil)
			}
		}, nothing
	case "drops":
		return func(w *sim.World) {
			if np := w.NodePool(h.pool); np != nil {
				_ = w.Delete(np, nil)
			}
		}, nothing
	case "strands":
		return func(w *sim.World) { w.KeepFromRegistering(2) }, func(w *sim.World) { w.KeepFromRegistering(0) }
	case "breaks":
		return func(w *sim.World) { w.FailLaunches(true) }, func(w *sim.World) { w.FailLaunches(false) }
	case "blocks":
		name := fmt.Sprintf("blocks-%d", i)
		return func(w *sim.World) {
				budget := aBudget(h.pool, 100)
				budget.Name = name
				_ = w.Create(budget)
			}, func(w *sim.World) {
				if budget := w.Budget(h.pool, name); budget != nil {
					_ = w.Delete(budget, nil)
				}
			}
	case "edits":
		edit := func(d time.Duration) func(*sim.World) {
			return func(w *sim.World) {
				_ = w.EditPolicy("weekly", func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ReadyTimeout = &metav1.Duration{Duration: d} })
			}
		}
		return edit(h.length), edit(15 * time.Minute)
	default: // unlabels
		selecting := func(labels map[string]string) func(*sim.World) {
			return func(w *sim.World) {
				_ = w.EditPolicy("weekly", func(p *v1alpha1.RotationPolicy) { p.Spec.NodePoolSelector.MatchLabels = labels })
			}
		}
		return selecting(map[string]string{"no": "pool"}), selecting(nil)
	}
}
