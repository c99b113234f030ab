// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"noderotation.io/noderotation/sim/scripts"
)

// player is a scenario while it happens in a world.
type player struct {
	World
	scenario *Scenario
	// aliases are the scenario's names of claims, by their real ones.
	aliases map[string]string
	// taken counts the transitions of each pool that stand in a trace.
	taken map[string]int
}

// Play has the scenario happen in a world. The result is the same scenario with the traces that came of it. With an error,
// which is a scripts.Problem, it ends with the step that could not be made, and what had come by then.
func (s *Scenario) Play(ctx context.Context, world World) (*Scenario, error) {
	p := &player{World: world, scenario: s, aliases: map[string]string{}, taken: map[string]int{}}
	for alias, name := range world.Claims() {
		p.aliases[name] = alias
	}
	document := *s.Document
	document.Steps = slices.Clone(s.Steps)
	for i := range document.Steps {
		step := &document.Steps[i]
		trace, err := s.deeds[i](ctx, p)
		if err == nil && i == len(document.Steps)-1 {
			var rest []string
			rest, err = p.rest()
			trace = append(trace, rest...)
		}
		if err != nil {
			document.Steps = document.Steps[:i+1]
			step.Trace, _ = p.rest()
			return &Scenario{&document, s.Setting, s.deeds}, scripts.Problem{File: s.File, Line: step.Line, Message: err.Error()}
		}
		step.Trace = trace
	}
	return &Scenario{&document, s.Setting, s.deeds}, nil
}

// fired has the transitions that stand in no trace yet, by pool.
func (p *player) fired() (map[string][]Transition, error) {
	all, err := p.Fired()
	if err != nil {
		return nil, err
	}
	pools := map[string][]Transition{}
	for _, t := range all {
		if alias, known := p.aliases[t.Claim]; known {
			t.Claim = alias
		} else {
			t.Claim = t.Pool + "+"
		}
		pools[t.Pool] = append(pools[t.Pool], t)
	}
	for pool, n := range p.taken {
		pools[pool] = pools[pool][n:]
	}
	return pools, nil
}

// take puts the next transitions of a pool into a trace.
func (p *player) take(pool string, fired []Transition) []string {
	p.taken[pool] += len(fired)
	var trace []string
	for _, t := range fired {
		trace = append(trace, fmt.Sprintf("%-*s%s (%s → %s)", nameWidth, t.Claim, t.Row, t.From, t.To))
	}
	return trace
}

// nameWidth leaves room for the longest name of a claim in the scenarios.
const nameWidth = 13

// rest takes whatever has fired.
func (p *player) rest() ([]string, error) {
	pools, err := p.fired()
	var trace []string
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		trace = append(trace, p.take(pool, pools[pool])...)
	}
	return trace, err
}

// goal is a row that is to fire about a claim.
type goal struct{ claim, row string }

// reached counts the transitions up to the goal; 0 where it has not come.
func (g goal) reached(fired []Transition) int {
	return 1 + slices.IndexFunc(fired, func(t Transition) bool { return t.Claim == g.claim && t.Row == g.row })
}

// awaitRows waits for rows of several pools, and takes what each pool came to until then.
func (p *player) awaitRows(ctx context.Context, goals []goal) ([]string, error) {
	var pools map[string][]Transition
	for _, g := range goals {
		pool := poolOf(g.claim)
		err := p.Await(ctx, fmt.Sprintf("row %s fires about %s", g.row, g.claim), func() (bool, error) {
			var err error
			pools, err = p.fired()
			return g.reached(pools[pool]) > 0, err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(goals, func(a, b goal) int { return cmp.Compare(a.claim, b.claim) })
	var trace []string
	for _, g := range goals {
		pool := poolOf(g.claim)
		trace = append(trace, p.take(pool, pools[pool][:g.reached(pools[pool])])...)
	}
	return trace, nil
}

// watch lets so much time pass, and takes what fires meanwhile.
func (p *player) watch(ctx context.Context, d time.Duration) ([]string, error) {
	over := p.Now().Add(d)
	if err := p.Await(ctx, "time passes", func() (bool, error) { return !p.Now().Before(over), nil }); err != nil {
		return nil, err
	}
	return p.rest()
}
