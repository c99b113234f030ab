// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
)

// Coverage counts what an exploration has exercised.
type Coverage struct {
	// Rows counts the passes that fired each row, by its id.
	Rows map[string]int
	// Cut counts, for every effect that writes, the passes that were cut off right after its write.
	Cut map[string]int

	faults [numFaults]int
	verbs  [numVerbs]int

	machine *controller.Machine
	refusal map[refusal]int
	planned map[refusal]int
}

type refusal struct {
	row   string
	at    int
	fault Fault
}

func newCoverage(machine *controller.Machine) *Coverage {
	return &Coverage{Rows: map[string]int{}, Cut: map[string]int{}, machine: machine, refusal: map[refusal]int{}, planned: map[refusal]int{}}
}

// Faults counts what went wrong, by its name; that nothing did is not among them.
func (c *Coverage) Faults() map[string]int {
	counts := map[string]int{}
	for f := Fault(1); f < numFaults; f++ {
		counts[f.String()] = c.faults[f]
	}
	return counts
}

// Moves counts the moves of every kind, by their words.
func (c *Coverage) Moves() map[string]int {
	counts := map[string]int{}
	for v := range numVerbs {
		counts[Move{Verb: v}.String()] = c.verbs[v]
	}
	return counts
}

func (c *Coverage) join(other *Coverage) {
	for row, n := range other.Rows {
		c.Rows[row] += n
	}
	for effect, n := range other.Cut {
		c.Cut[effect] += n
	}
	for f := range other.faults {
		c.faults[f] += other.faults[f]
	}
	for v := range other.verbs {
		c.verbs[v] += other.verbs[v]
	}
}

// mostRefused is how often a refusal of the same row's same write is tried: it leads nowhere that a kill does not.
const mostRefused = 20

func (c *Coverage) enough(row string, at int, fault Fault) bool {
	key := refusal{row, at, fault}
	c.refusal[key]++
	return c.refusal[key] > mostRefused
}

// fired counts the row of a whole pass, and the effects after whose writes it is cut off.
func (c *Coverage) fired(whole *run) {
	row := whole.row()
	if row == "" {
		return
	}
	c.Rows[row]++
	if len(whole.writes) == 0 {
		return
	}
	key := refusal{row: row, at: len(whole.writes)}
	c.planned[key]++
	if c.planned[key] > mostRefused {
		return
	}
	plan, err := c.machine.Plan(whole.pass.Decision, whole.pass.Snapshot)
	if err != nil {
		return
	}
	var names []string
	var actions []effects.Action
	for _, step := range plan.Steps {
		for _, action := range step.Actions {
			names, actions = append(names, step.Effect), append(actions, action)
		}
	}
	// Requests are numbered as they are made: what is merged is one, and what is told is none.
	request := map[int]int{}
	for i, action := range effects.Merge(actions) {
		if _, told := action.(effects.Announce); !told {
			request[i] = len(request) + 1
		}
	}
	cut := map[int]bool{}
	for _, w := range whole.writes {
		cut[w.number] = true
	}
	for i := range actions {
		if n, is := request[len(effects.Merge(actions[:i+1]))-1]; is && cut[n] {
			if _, told := actions[i].(effects.Announce); !told {
				c.Cut[names[i]]++
			}
		}
	}
}
