// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
)

// shown is what the controller shows to people: the passes' board, and the series of the process that runs.
type shown struct {
	board  *controller.Board
	series *prometheus.Registry
}

func newShown() *shown { return &shown{board: controller.NewBoard(), series: prometheus.NewRegistry()} }

// taken has the controller's processes show it here.
func (s *shown) taken() sim.Shown {
	return sim.Shown{Board: s.board, Registry: func() prometheus.Registerer {
		s.series = prometheus.NewRegistry()
		return s.series
	}}
}

// shownVerbs ask for what the controller shows.
func shownVerbs() []verb {
	asked := func(form string, answer func(*run, slots) error) verb {
		return verb{form, func(s slots) (action, error) {
			return func(r *run) error {
				r.take()
				return answer(r, s)
			}, nil
		}}
	}
	return []verb{
		asked("status of <policy>", (*run).status),
		asked("series of <pool>", func(r *run, s slots) error { return r.gather(s["pool"], "") }),
		asked("series <name> of <pool>", func(r *run, s slots) error { return r.gather(s["pool"], s["name"]) }),
	}
}

// status says what the product's status controller would write on the policy now.
func (r *run) status(s slots) error {
	policy := r.world.Policy(s["policy"])
	if policy == nil {
		return fmt.Errorf("there is no RotationPolicy %s", s["policy"])
	}
	now := r.world.Now()
	assessments, err := controller.NewPolicies(r.world.View).Assess(context.Background(), now)
	if err != nil {
		return err
	}
	pools := r.world.NodePools()
	listed := make([]karpenterv1.NodePool, len(pools))
	for i, pool := range pools {
		listed[i] = *pool
	}
	status, assessed := controller.PolicyStatus(policy, assessments, listed, r.shown.board, now)
	if !assessed {
		return fmt.Errorf("RotationPolicy %s is not assessed", policy.Name)
	}
	for _, c := range status.Conditions {
		r.say("%s=%s, %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	r.say("NodePools %d, rotating %d, next window %s", status.MatchedNodePools, status.RotatingNodePools, r.when(status.NextWindow))
	for _, pool := range status.NodePools {
		blocked := ""
		if pool.BlockedBy != "" {
			blocked = ", blocked by " + pool.BlockedBy
		}
		r.say("%s: %s, candidates %d%s, next window %s, next deadline %s", pool.Name, cmp.Or(pool.Phase, "no phase"), pool.Candidates, blocked,
			r.when(pool.NextWindow), r.when(pool.NextDeadline))
		r.say("  %s", pool.Message)
	}
	return nil
}

// when is an instant of a status, from the start.
func (r *run) when(at *metav1.Time) string {
	if at == nil {
		return "none"
	}
	return rotation.FormatStamp(at.Time)
}

// ownPrefix is that of every series of ours.
const ownPrefix = "noderotation_"

// gather lists the pool's series that are not zero, or the one of a name whatever it is; without our prefix, and with
// timestamps from the start.
func (r *run) gather(pool, name string) error {
	if !r.world.ControllerRuns() {
		return fmt.Errorf("no controller runs at %s whose series could be read", r.clock())
	}
	families, err := r.shown.series.Gather()
	if err != nil {
		return err
	}
	var told []string
	for _, family := range families {
		short := strings.TrimPrefix(family.GetName(), ownPrefix)
		if name != "" && short != strings.TrimPrefix(name, ownPrefix) {
			continue
		}
		for _, m := range family.GetMetric() {
			of, labels := labelsOf(m.GetLabel())
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			shown := r.value(short, value)
			if h := m.GetHistogram(); h != nil {
				value = float64(h.GetSampleCount())
				shown = fmt.Sprintf("%d, in all %s", h.GetSampleCount(), r.value(short, h.GetSampleSum()))
			}
			if of == pool && (name != "" || value != 0) {
				told = append(told, short+labels+" "+shown)
			}
		}
	}
	slices.Sort(told)
	for _, line := range told {
		r.say("%s", line)
	}
	if len(told) == 0 {
		r.say("no such series of NodePool %s", pool)
	}
	return nil
}

// labelPair is a label of a series, in whichever package its type is.
type labelPair interface {
	GetName() string
	GetValue() string
}

// labelsOf are the pool that a series is of, and its other label as it is written behind the name.
func labelsOf[L labelPair](pairs []L) (pool, other string) {
	for _, l := range pairs {
		if l.GetName() == "nodepool" {
			pool = l.GetValue()
		} else {
			other = fmt.Sprintf("{%s=%s}", l.GetName(), l.GetValue())
		}
	}
	return pool, other
}

// value writes a value as a person reads it.
func (*run) value(name string, value float64) string {
	if strings.HasSuffix(name, "_timestamp") && value != 0 && !math.IsInf(value, 0) {
		return rotation.FormatStamp(time.Unix(int64(value), 0))
	}
	if strings.HasSuffix(name, "_seconds") {
		return rotation.Spell(time.Duration(value * float64(time.Second)))
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
