// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// bounds are the stretch's two ends in a run.
func (s Stretch) bounds(o Options) (from, until time.Time) {
	from = s.From.in(o.Start)
	if s.For == nil {
		return from, o.end()
	}
	return from, from.Add(time.Duration(*s.For))
}

// script adds two happenings, at the ends of the stretch; the second is left out where the run ends before.
func (s Stretch) script(config *sim.Config, o Options, begins string, begin func(*sim.World), ends string, end func(*sim.World)) {
	from, until := s.bounds(o)
	config.Script = append(config.Script, sim.Happening{At: from, What: begins, Do: begin})
	if until.Before(o.end()) {
		config.Script = append(config.Script, sim.Happening{At: until, What: ends, Do: end})
	}
}

// befall adds all troubles to a world. What several of them say of one time is what the strongest says: the end of one
// ends no other.
func (in *Input) befall(config *sim.Config, o Options) {
	var drains, outages []spell
	freezes := map[string][]spell{}
	var frozen []string // pools, in the order of the input
	blockades := 0
	for _, t := range in.Troubles {
		t.impede(config, o)
		for _, s := range t.SlowDrains {
			drains = append(drains, s.spell(o, time.Duration(s.EndsAfter)))
		}
		for _, s := range t.Outages {
			outages = append(outages, s.spell(o, 1))
		}
		for _, f := range t.Freezes {
			if freezes[f.Pool] == nil {
				frozen = append(frozen, f.Pool)
			}
			_, until := f.bounds(o)
			freezes[f.Pool] = append(freezes[f.Pool], f.spell(o, until.Sub(o.Start)))
		}
		for _, b := range t.BlockingBudgets {
			b.befall(config, o, fmt.Sprintf("blocks-%d", blockades))
			blockades++
		}
	}
	slowDrains(config, turns(drains, o))
	stopController(config, o, turns(outages, o))
	for _, pool := range frozen {
		freeze(config, o, pool, turns(freezes[pool], o))
	}
}

// impede is what the cloud does.
func (t *Trouble) impede(config *sim.Config, o Options) {
	for _, s := range t.Shortages {
		from, until := s.bounds(o)
		config.Karpenter.Shortages = append(config.Karpenter.Shortages, sim.Shortage{Zone: s.Zone, From: from, Until: until, Chance: ptr.Deref(s.Chance, 0)})
	}
	for _, s := range t.SlowProvisioning {
		from, until := s.bounds(o)
		config.Karpenter.Slow = append(config.Karpenter.Slow, sim.Slowness{From: from, Until: until, Extra: time.Duration(s.Extra)})
	}
}

// spell is a stretch of trouble in a run, and how strong it is.
type spell struct {
	from, until time.Time
	strength    time.Duration
}

func (s Stretch) spell(o Options, strength time.Duration) spell {
	from, until := s.bounds(o)
	return spell{from, until, strength}
}

// turn is an instant from which on trouble is so strong; zero for none.
type turn struct {
	at       time.Time
	strength time.Duration
}

// turns are the instants of a run at which the strongest of some spells is another than before, in order.
func turns(spells []spell, o Options) []turn {
	instants := []time.Time{o.Start}
	for _, s := range spells {
		for _, t := range []time.Time{s.from, s.until} {
			if t.After(o.Start) && t.Before(o.end()) {
				instants = append(instants, t)
			}
		}
	}
	slices.SortFunc(instants, time.Time.Compare)
	var all []turn
	var before time.Duration
	for _, at := range instants {
		var strongest time.Duration
		for _, s := range spells {
			if !at.Before(s.from) && at.Before(s.until) {
				strongest = max(strongest, s.strength)
			}
		}
		if strongest != before {
			all = append(all, turn{at, strongest})
		}
		before = strongest
	}
	return all
}

func slowDrains(config *sim.Config, turns []turn) {
	for _, t := range turns {
		what := "has Pods end slowly"
		if t.strength == 0 {
			what = "has Pods end as usual"
		}
		config.Script = append(config.Script, sim.Happening{At: t.at, What: what, Do: func(w *sim.World) { w.SlowDown(t.strength) }})
	}
}

func stopController(config *sim.Config, o Options, turns []turn) {
	for _, t := range turns {
		h := sim.Happening{At: t.at, What: "loses the controller", Do: (*sim.World).StopController}
		if t.strength == 0 {
			h.What, h.Do = "has the controller back", (*sim.World).StartController
		}
		config.Script = append(config.Script, h)
		config.Controller.Absent = config.Controller.Absent || t.at.Equal(o.Start)
	}
}

// freeze holds a pool; each freeze ends by itself.
func freeze(config *sim.Config, o Options, pool string, turns []turn) {
	for _, t := range turns {
		if t.strength == 0 {
			continue
		}
		config.Script = append(config.Script, sim.Happening{
			At: t.at, What: "freezes NodePool " + pool, Do: func(w *sim.World) { w.Freeze(pool, o.Start.Add(t.strength)) },
		})
	}
}

// befall adds a budget of this name to each namespace.
func (b Blockade) befall(config *sim.Config, o Options, name string) {
	var namespaces []string
	for _, load := range config.Workloads {
		if b.Namespace == "" || load.Namespace == b.Namespace {
			namespaces = append(namespaces, load.Namespace)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		b.script(config, o,
			"creates PodDisruptionBudget "+namespace+"/"+name+", which allows nothing", func(w *sim.World) {
				budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
				budget.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(0))
				budget.Spec.Selector = &metav1.LabelSelector{}
				_ = w.Create(budget)
			},
			"deletes PodDisruptionBudget "+namespace+"/"+name, func(w *sim.World) {
				if budget := w.Budget(namespace, name); budget != nil {
					_ = w.Delete(budget, nil)
				}
			})
	}
}

// grantGrace raises the grace period of every Pod to what slow drains need: they say how long Pods take, and a grace
// period would cut that short.
func (in *Input) grantGrace(config *sim.Config, objects []client.Object) {
	var longest time.Duration
	for _, t := range in.Troubles {
		for _, s := range t.SlowDrains {
			longest = max(longest, time.Duration(s.EndsAfter))
		}
	}
	raise := func(spec *corev1.PodSpec) {
		if least := int64(longest / time.Second); ptr.Deref(spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds) < least {
			spec.TerminationGracePeriodSeconds = &least
		}
	}
	if longest == 0 {
		return
	}
	for i := range config.Workloads {
		raise(&config.Workloads[i].Template.Spec)
	}
	for _, object := range objects {
		if pod, is := object.(*corev1.Pod); is && !rotation.IsPlaceholder(pod) {
			raise(&pod.Spec)
		}
	}
}
