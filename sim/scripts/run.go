// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"strings"
	"time"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

// run is a script while it runs.
type run struct {
	script  *Script
	machine *controller.Machine
	world   *sim.World
	trace   *sim.Trace
	names   *names
	faults  *faults
	shown   *shown
	// suspended is the pass that stands still; nil if none does.
	suspended *suspension
	// taken is how many lines of the trace are written already; out has those of the step in hand.
	taken int
	out   []string
}

// begin makes the script's world. The error is a Problem.
func begin(s *Script, machine *controller.Machine) (*run, error) {
	r := &run{script: s, machine: machine, trace: &sim.Trace{}, names: newNames(), faults: &faults{armed: map[int]fault{}}, shown: newShown()}
	config := s.Setting.Config(machine)
	config.Trace = r.trace
	config.Controller.Writes = r.faults.between
	config.Controller.Shown = r.shown.taken()
	config.Seen = func(c cluster.Change) {
		if claim, is := c.After.(*karpenterv1.NodeClaim); is && c.Before == nil && r.world != nil {
			r.names.add(claim.Name, claim.Labels[rotation.LabelNodePool])
		}
	}
	objects, err := s.Setting.Join(&config)
	if err == nil {
		r.world, err = sim.New(config, objects...)
	}
	if err != nil {
		problem := Problem{Line: 1, Message: err.Error()}
		errors.As(err, &problem)
		problem.File = s.File
		return nil, problem
	}
	return r, nil
}

// make makes a step, and returns its trace.
func (r *run) make(do action) ([]string, error) {
	r.out = nil
	if err := do(r); err != nil {
		return nil, err
	}
	r.take()
	return r.out, nil
}

// until lets time pass until so long after the start.
func (r *run) until(offset time.Duration) error {
	by := r.script.Setting.Start.Add(offset)
	if by.Before(r.world.Now()) {
		return fmt.Errorf("%s lies behind: it is %s", spell(offset), r.clock())
	}
	moves, now := 0, r.world.Now()
	for r.advance(by) {
		r.bury()
		moves++
		if r.world.Now().After(now) {
			moves, now = 0, r.world.Now()
		}
		if moves > restless {
			return fmt.Errorf("nothing comes to rest at %s: more than %d moves are made in that instant", r.clock(), restless)
		}
	}
	r.world.RunUntil(by)
	return nil
}

// restless is how many moves no world makes in an instant, unless a table goes round in a circle.
const restless = 2_000

// settle has everybody do what is due at this moment.
func (r *run) settle() error { return r.until(r.world.Since(r.script.Setting.Start)) }

// step makes the one move that is due next, whenever that is.
func (r *run) step() error {
	const farthest = 400 * 24 * time.Hour
	if !r.advance(r.world.Now().Add(farthest)) {
		return errors.New("nothing is due any more")
	}
	r.bury()
	return nil
}

// bury stops a process that was killed in a pass.
func (r *run) bury() {
	if r.faults.dead {
		r.faults.dead = false
		r.world.StopController()
	}
}

// take writes what has happened since the last time, with its time from the start.
func (r *run) take() {
	lines := r.trace.Lines()
	for _, line := range lines[r.taken:] {
		r.say("%s", r.told(line))
	}
	r.taken = len(lines)
}

func (r *run) say(format string, args ...any) {
	text := r.names.in(relative(fmt.Sprintf(format, args...), r.script.Setting.Start))
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		r.out = append(r.out, strings.TrimRight(line, " "))
	}
}

const (
	traceTime = "2006-01-02 15:04:05"
	timeWidth = 10
)

// told is a line of the simulator's trace with the time from the start in its first column.
func (r *run) told(line string) string {
	if len(line) > len(traceTime) && line[0] != ' ' {
		if at, err := time.Parse(traceTime, line[:len(traceTime)]); err == nil {
			return fmt.Sprintf("%-*s%s", timeWidth, spell(at.Sub(r.script.Setting.Start.Truncate(time.Second))), strings.TrimSpace(line[len(traceTime):]))
		}
	}
	return strings.Repeat(" ", timeWidth) + line
}
