// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// replay looks for one step among all that can be taken from a state.
type replay struct {
	wanted   string
	possible []string
	// runs are all passes and sweeps made from the state so far.
	runs []*run
	// state that the wanted step leads to, nil until it is met, and what was run on the way.
	state *State
	step  Step
	of    []*run
}

func (r *replay) met(step Step, state *State) {
	text := step.String()
	r.possible = append(r.possible, text)
	if text == r.wanted && r.state == nil {
		r.state, r.step, r.of = state, step, r.runsOf(step)
	}
}

// runsOf are the runs of a step that has just been made. A process that is killed leaves what the whole run had written by
// then, so no run of its own was made for it; one that was overtaken ends after the other.
func (r *replay) runsOf(step Step) []*run {
	if step.Move.Verb > Restart {
		return nil
	}
	switch step.Fault {
	case Killed, KilledSweeping:
		for i := range slices.Backward(r.runs) {
			if r.runs[i].keep {
				return r.runs[i : i+1]
			}
		}
		return nil
	case TwoLeaders, Overtaken, Reborn, Unseen:
		return r.runs[len(r.runs)-2:]
	default:
		return r.runs[len(r.runs)-1:]
	}
}

// who makes the nth of the step's runs.
func (r *replay) who(n int) string {
	switch fault := r.step.Fault; {
	case (fault == TwoLeaders || fault == Overtaken) && n == 0:
		return "the other leader"
	case fault == Reborn && n == 1:
		return "the next controller"
	default:
		return "the controller"
	}
}

// tell writes what the step's runs did, the other leader's first.
func (r *replay) tell(out *strings.Builder) {
	for i, run := range r.of {
		who := r.who(i)
		if row := run.row(); row != "" {
			who += " fires " + row
		} else if len(run.writes) > 0 {
			who += " sweeps"
		}
		fmt.Fprintf(out, "    %s\n", who)
		writes := run.writes
		if r.step.Fault == Killed || r.step.Fault == KilledSweeping || r.step.Fault == Reborn && i == 0 {
			writes = writes[:r.step.At]
		}
		for _, w := range writes {
			fmt.Fprintf(out, "      %s\n", w.told())
		}
		for _, told := range run.told {
			if told.Reason != "" && len(writes) == len(run.writes) {
				fmt.Fprintf(out, "      tells %s\n", told.Reason)
			}
		}
		if run.err != nil {
			fmt.Fprintf(out, "      ends with: %v\n", run.err)
		}
	}
}

// told is the write with what it changed.
func (w write) told() string {
	if w.verb != "patch" {
		return w.String()
	}
	change := effects.Change{Set: map[string]string{}}
	before, after := w.change.Before.GetAnnotations(), w.change.After.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, had := before[key]; !had || was != after[key] {
			change.Set[strings.TrimPrefix(key, "noderotation.io/")] = shortened(key, after[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, has := after[key]; !has {
			change.Remove = append(change.Remove, strings.TrimPrefix(key, "noderotation.io/"))
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s%s", w, change, cordon(w.change)))
}

// shortened leaves out a version, since it counts every write of the cluster.
func shortened(key, value string) string {
	if key == rotation.KeyAnchoredOn {
		return "…"
	}
	return value
}

func cordon(c cluster.Change) string {
	closed := func(o client.Object) bool { node, is := o.(*corev1.Node); return is && node.Spec.Unschedulable }
	if closed(c.Before) == closed(c.After) {
		return ""
	}
	return fmt.Sprintf(" unschedulable=%t", closed(c.After))
}
