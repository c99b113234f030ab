// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"fmt"

	"noderotation.io/noderotation/controller"
)

// Explorer explores every scene.
type Explorer struct {
	// Machine runs the table that is explored.
	Machine *controller.Machine
	// Most is how many states are explored at least, shared out among the scenes; a scene that has fewer leaves the rest of
	// its share to those after it.
	Most int
	// Workers expand states side by side.
	Workers int
	// Progress, where set, is told of the scene and of the whole so far. It returns false to end the exploration.
	Progress func(scene string, whole Result) bool
}

// Run explores until the bound is reached, or a breach is found: that is the error, a *Breach.
func (e *Explorer) Run() (Result, error) {
	whole := Result{Coverage: newCoverage(e.Machine)}
	scenes := Scenes()
	shares := 0
	for i := range scenes {
		shares += scenes[i].Share
	}
	ended := false
	for i := range scenes {
		scene := &scenes[i]
		most := (e.Most - whole.States) * scene.Share / shares
		shares -= scene.Share
		search := Search{Scene: scene, Machine: e.Machine, Most: most, Workers: e.Workers}
		if e.Progress != nil {
			search.Progress = func(part Result) bool {
				ended = ended || !e.Progress(scene.Name, whole.with(part))
				return !ended
			}
		}
		part := search.Run()
		whole = whole.with(part)
		whole.Coverage.join(part.Coverage)
		if part.Breach != nil {
			return whole, part.Breach
		}
		if ended {
			return whole, fmt.Errorf("the exploration was ended in the scene of %s", scene.Name)
		}
	}
	return whole, nil
}

func (r Result) with(part Result) Result {
	r.States += part.States
	r.Expanded += part.Expanded
	r.Steps += part.Steps
	r.Depth = max(r.Depth, part.Depth)
	r.Return = max(r.Return, part.Return)
	return r
}
