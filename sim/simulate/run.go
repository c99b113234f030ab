// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/graph"
	"noderotation.io/noderotation/sim"
)

// Options say how a run goes.
type Options struct {
	Start time.Time
	// For is how long the run lasts.
	For  time.Duration
	Seed uint64
	// Machine runs the table.
	Machine *controller.Machine
	// Trace takes down what happens during each rotation.
	Trace bool
	// Progress, where set, is told now and then how much of the run is done, from 0 to 1.
	Progress func(float64)
}

func (o Options) end() time.Time { return o.Start.Add(o.For) }

// steps is in how many parts a run is made, between which it can be stopped.
const steps = 200

// Run lets the time pass over the input, and tells what became of it. The error says what is wrong with the input, as a
// InputError for each thing, or that the context has ended. The input is used up.
func Run(ctx context.Context, in *Input, o Options) (*Result, error) {
	o.Start = o.Start.UTC().Truncate(time.Second)
	if err := in.validate(o); err != nil {
		return nil, err
	}
	config, objects := in.assemble(o)
	recorder := newRecorder(o.Start)
	config.Seen, config.Passed = recorder.seen, recorder.passed
	if o.Trace {
		config.Trace = &sim.Trace{}
		recorder.trace = config.Trace
	}
	world, err := sim.New(config, objects...)
	if err != nil {
		return nil, fmt.Errorf("the input cannot be simulated: %w", err)
	}
	recorder.world = world
	defer collectLess()()
	for step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("the simulation was stopped: %w", err)
		}
		world.RunUntil(o.Start.Add(o.For / steps * time.Duration(step+1)))
		if o.Progress != nil {
			o.Progress(float64(step+1) / steps)
		}
	}
	world.RunUntil(o.end())
	result := recorder.result(o)
	result.Troubles = in.mishaps(result, o)
	result.Title, result.Lesson = in.Simulation.Title, in.Simulation.Lesson
	if o.Trace {
		result.trace(config.Trace.Lines())
	}
	return result, nil
}

// result puts together what was taken down.
func (r *recorder) result(o Options) *Result {
	result := &Result{Start: o.Start, End: o.end(), Seed: o.Seed, Rotations: r.rotations, Lives: r.order, Findings: []Finding{}, Pools: []Pool{}}
	slices.SortStableFunc(result.Lives, func(a, b *Life) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), a.Born.Compare(b.Born), cmp.Compare(a.Claim, b.Claim))
	})
	table := o.Machine.Table()
	for _, s := range table.States {
		result.States = append(result.States, State{s.Name, s.About})
	}
	for i := range table.Rows {
		row := &table.Rows[i]
		for _, from := range row.From {
			result.Edges = append(result.Edges, Edge{row.ID, from, row.To, row.About, r.fired[edge{row.ID, from}], o.Machine.Model().Returns(row)})
		}
	}
	result.Diagram = r.diagram(o.Machine.Model())
	for _, pool := range r.world.NodePools() {
		result.Pools = append(result.Pools, r.poolOf(pool.Name, result))
	}
	result.Verdict = verdictOf(result)
	result.Findings = append(slices.Clone(result.Findings), r.found...)
	result.Findings = append(result.Findings, shown(result)...)
	slices.SortStableFunc(result.Findings, func(a, b Finding) int { return cmp.Compare(severityRank(a), severityRank(b)) })
	result.Verdict.Fatal = slices.ContainsFunc(result.Findings, func(f Finding) bool { return f.Severity == Fatal })
	return result
}

// diagram is the table with how often each row fired and did something; the others are faint.
func (r *recorder) diagram(m *machine.Model) graph.Graph {
	options := effects.Drawing(m)
	options.Title = "State diagram, with how often each row fired"
	options.Note = func(from string, row *machine.Row) graph.Note {
		if n := r.fired[edge{row.ID, from}]; n > 0 {
			return graph.Note{Text: fmt.Sprintf("%d×", n)}
		}
		return graph.Note{Faint: true}
	}
	return graph.Of(m, options)
}

func severityRank(f Finding) int {
	if f.Severity == Fatal {
		return 0
	}
	return 1
}

// neverSeen is the reason of a pool over which no pass was made.
const neverSeen = "no controller ran"

// poolOf tells a pool's windows, and what each saw.
func (r *recorder) poolOf(name string, result *Result) Pool {
	pool := Pool{Name: name, Windows: []Window{}}
	known := r.pools[name]
	if known == nil {
		pool.Reason = neverSeen
		return pool
	}
	if known.governance.Policy == nil {
		pool.Reason = known.governance.Reason
		return pool
	}
	pool.Policy = known.governance.Policy.Name
	pool.AgeThreshold, pool.Capacity = secondsOf(known.feasibility.AgeThreshold), known.feasibility.Capacity
	for occurrence := range known.governance.Windows.Occurrences(result.Start, result.End) {
		w := Window{Start: occurrence.Start.UTC(), End: occurrence.End.UTC(), Label: occurrence.String(), zone: occurrence.Start.Location()}
		if occurrence.Start.IsZero() || w.Start.Before(result.Start) {
			w.Start = result.Start
		}
		if occurrence.End.IsZero() || w.End.After(result.End) {
			w.End = result.End
		}
		pool.Windows = append(pool.Windows, w)
	}
	pool.tally(of(result.Lives, func(l *Life) bool { return l.Pool == name }), of(result.Rotations, func(a *Rotation) bool { return a.Pool == name }))
	return pool
}

// endsAfter tells whether nobody had asked for the node's end by then.
func (l *Life) endsAfter(t time.Time) bool {
	end := l.Deleted
	if end == nil {
		end = l.Gone
	}
	return end == nil || end.After(t)
}

// of keeps those that hold.
func of[T any](all []T, holds func(T) bool) []T {
	var kept []T
	for _, one := range all {
		if holds(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// tally counts what each window of the pool saw, and tells the pool's rotations in which they began.
func (p *Pool) tally(lives []*Life, rotations []*Rotation) {
	for i := range p.Windows {
		w := &p.Windows[i]
		for _, life := range lives {
			if life.Ready != nil && life.Due != nil && life.Due.Before(w.End) && life.endsAfter(w.Start) {
				w.Waiting++
			}
		}
		for _, a := range rotations {
			if a.Start.Before(w.Start) || !a.Start.Before(w.End) {
				continue
			}
			a.Window, a.zone = w.Label, w.zone
			switch a.Outcome {
			case Completed:
				w.Rotated++
			case Failed, Overtaken:
				w.Failed++
			case LetGo, InProgress:
			}
		}
	}
}
