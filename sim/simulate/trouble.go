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
	if s.For == 0 {
		return from, o.end()
	}
	return from, from.Add(time.Duration(s.For))
}

// script adds two happenings, at the ends of the stretch; the second is left out where the run ends before.
func (s Stretch) script(config *sim.Config, o Options, begins string, begin func(*sim.World), ends string, end func(*sim.World)) {
	from, until := s.bounds(o)
	config.Script = append(config.Script, sim.Happening{At: from, What: begins, Do: begin})
	if until.Before(o.end()) {
		config.Script = append(config.Script, sim.Happening{At: until, What: ends, Do: end})
	}
}

// befall adds the trouble to a world.
func (t *Trouble) befall(config *sim.Config, o Options) {
	for _, s := range t.Shortages {
		from, until := s.bounds(o)
		config.Karpenter.Shortages = append(config.Karpenter.Shortages, sim.Shortage{Zone: s.Zone, From: from, Until: until, Chance: ptr.Deref(s.Chance, 0)})
	}
	for _, s := range t.SlowProvisioning {
		from, until := s.bounds(o)
		config.Karpenter.Slow = append(config.Karpenter.Slow, sim.Slowness{From: from, Until: until, Extra: time.Duration(s.Extra)})
	}
	for _, s := range t.SlowDrains {
		length := time.Duration(s.EndsAfter)
		s.script(config, o, "has Pods end slowly", func(w *sim.World) { w.SlowDown(length) },
			"has Pods end as usual", func(w *sim.World) { w.SlowDown(0) })
	}
	for _, s := range t.Outages {
		if from, _ := s.bounds(o); !from.After(o.Start) {
			config.Controller.Absent = true
		}
		s.script(config, o, "loses the controller", (*sim.World).StopController, "has the controller back", (*sim.World).StartController)
	}
	for _, f := range t.Freezes {
		from, until := f.bounds(o)
		config.Script = append(config.Script, sim.Happening{At: from, What: "freezes NodePool " + f.Pool, Do: func(w *sim.World) { w.Freeze(f.Pool, until) }})
	}
	for i, b := range t.BlockingBudgets {
		t.blockade(config, o, i, b)
	}
}

func (t *Trouble) blockade(config *sim.Config, o Options, i int, b Blockade) {
	var namespaces []string
	for _, load := range config.Workloads {
		if b.Namespace == "" || load.Namespace == b.Namespace {
			namespaces = append(namespaces, load.Namespace)
		}
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		name := fmt.Sprintf("blocks-%d", i)
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
