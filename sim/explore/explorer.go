// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"time"

	"k8s.io/utils/clock"

	"noderotation.io/noderotation/controller"
)

// Explorer explores every scene.
type Explorer struct {
	// Machine runs the table that is explored.
	Machine *controller.Machine
	// Most is how many states are explored, shared out among the scenes; one that has fewer leaves the rest of its share to
	// those after it.
	Most int
	// For is how long the exploration may take by Clock, shared out likewise; zero for as long as it takes.
	For   time.Duration
	Clock clock.PassiveClock
	// Workers expand states side by side; one if zero.
	Workers int
	// Progress, where set, is told of the scene, and of the whole so far. It returns false to end the exploration.
	Progress func(scene string, whole Result) bool
}

// Run explores until the bound is reached, the time is over, or a breach is found: that is in the Result.
func (e *Explorer) Run() Result {
	whole := Result{Coverage: newCoverage(e.Machine)}
	scenes := Scenes()
	shares := 0
	for i := range scenes {
		shares += scenes[i].Share
	}
	var begun time.Time
	if e.For > 0 {
		begun = e.Clock.Now()
	}
	ended, total, done := false, shares, 0
	for i := range scenes {
		scene := &scenes[i]
		done += scene.Share
		search := Search{Scene: scene, Machine: e.Machine, Most: max((e.Most-whole.States)*scene.Share/shares, 1), Workers: e.Workers}
		until := begun.Add(e.For * time.Duration(done) / time.Duration(total))
		search.Progress = func(part Result) bool {
			ended = ended || e.Progress != nil && !e.Progress(scene.Name, whole.with(part))
			return !ended && (e.For == 0 || e.Clock.Now().Before(until))
		}
		shares -= scene.Share
		part := search.Run()
		whole = whole.with(part)
		whole.Coverage.join(part.Coverage)
		if whole.Breach = part.Breach; whole.Breach != nil || ended {
			break
		}
	}
	return whole
}

func (r Result) with(part Result) Result {
	r.States += part.States
	r.Expanded += part.Expanded
	r.Steps += part.Steps
	r.Depth = max(r.Depth, part.Depth)
	r.Return = max(r.Return, part.Return)
	return r
}
