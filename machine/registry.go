// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Guard is a named question about a snapshot.
type Guard[S any] struct {
	// Name is how a table refers to it: snake_case.
	Name string
	// About is one line for the reader; Section is where it is specified.
	About, Section string
	// Phrase says within a sentence that the guard holds, Denial that it does
	// not: "the key is turned", "the key is not turned".
	Phrase, Denial string
	// Implies lists what is certain to hold whenever this guard holds. Laws
	// reason with it, so a declaration that is not true of Check makes them
	// blind to real cases.
	Implies []Condition
	// Reads names what of the snapshot decides the verdict, and nothing else
	// does: words of the domain, for the reader.
	Reads []string
	// Check answers. It is pure: the same snapshot gives the same verdict.
	Check func(S) Verdict
}

// Declaration is the guard without its function: what laws may look at.
func (g Guard[S]) Declaration() GuardDecl {
	return GuardDecl{
		Name: g.Name, About: g.About, Section: g.Section, Phrase: g.Phrase, Denial: g.Denial,
		Implies: g.Implies, Reads: g.Reads,
	}
}

// Effect is a named, idempotent step that a row may take.
type Effect[S, A any] struct {
	// Name is how a table refers to it: snake_case.
	Name string
	// About is one line for the reader; Section is where it is specified.
	About, Section string
	// Reads names what of the snapshot decides what is asked for; Needs what
	// must be there for the effect to write at all. Words of the domain, for
	// the reader.
	Reads, Needs []string
	// Writes says what it durably writes, in order, in words that the laws of
	// the domain know and this package does not. Empty: it only announces.
	Writes []string
	// Returns says that after this effect the machine is back in its initial
	// state, whatever the row's `to`.
	Returns bool
	// Apply is pure: the snapshot as it is once the actions are done, and the
	// actions in order. Where the snapshot already is as it should be it asks
	// for none.
	Apply func(S) (S, []A, error)
}

// Declaration is the effect without its function: what laws may look at.
func (e Effect[S, A]) Declaration() EffectDecl {
	return EffectDecl{
		Name: e.Name, About: e.About, Section: e.Section,
		Reads: e.Reads, Needs: e.Needs, Writes: e.Writes, Returns: e.Returns,
	}
}

// GuardDecl is what a guard declares about itself.
type GuardDecl struct {
	Name, About, Section string
	Phrase, Denial       string
	Implies              []Condition
	Reads                []string
}

// Says is the guard's phrase within a sentence, or with `not` its denial. It is
// empty where the guard declares none.
func (g GuardDecl) Says(not bool) string {
	if not {
		return g.Denial
	}
	return g.Phrase
}

// EffectDecl is what an effect declares about itself.
type EffectDecl struct {
	Name, About, Section string
	Reads, Needs, Writes []string
	Returns              bool
}

// Announces reports whether the effect writes nothing durable.
func (e EffectDecl) Announces() bool { return len(e.Writes) == 0 }

// Registry holds the guards and effects that a table may name. It is immutable.
type Registry[S, A any] struct {
	guards  []Guard[S]
	effects []Effect[S, A]
	guard   map[string]int
	effect  map[string]int
}

// NewRegistry builds a registry. The error joins everything that is wrong:
// duplicate or ill-formed names, missing functions, implications that name an
// unknown guard, and guards that by their declarations can never hold.
func NewRegistry[S, A any](guards []Guard[S], effects []Effect[S, A]) (Registry[S, A], error) {
	r := Registry[S, A]{
		guards:  slices.Clone(guards),
		effects: slices.Clone(effects),
		guard:   make(map[string]int, len(guards)),
		effect:  make(map[string]int, len(effects)),
	}
	var errs []error
	for i, g := range r.guards {
		errs = append(errs, checkName("guard", g.Name, r.guard, g.Check == nil)...)
		r.guard[g.Name] = i
	}
	for i, e := range r.effects {
		errs = append(errs, checkName("effect", e.Name, r.effect, e.Apply == nil)...)
		r.effect[e.Name] = i
	}
	errs = append(errs, r.checkImplications()...)
	if len(errs) > 0 {
		return Registry[S, A]{}, errors.Join(errs...)
	}
	return r, nil
}

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func checkName(kind, name string, taken map[string]int, noFunction bool) []error {
	var errs []error
	if !snakeCase.MatchString(name) || name == negation {
		errs = append(errs, fmt.Errorf("%s %q: a name is snake_case, such as %q, and not the word %q", kind, name, "key_turned", negation))
	}
	if _, twice := taken[name]; twice {
		errs = append(errs, fmt.Errorf("%s %q is registered twice: rename or remove one", kind, name))
	}
	if noFunction {
		errs = append(errs, fmt.Errorf("%s %q has no function: register it with one", kind, name))
	}
	return errs
}

func (r Registry[S, A]) checkImplications() []error {
	var errs []error
	for _, g := range r.guards {
		for _, c := range g.Implies {
			if _, known := r.guard[c.Guard]; !known {
				errs = append(errs, fmt.Errorf("guard %q implies %q, but no guard %q is registered: register it or correct the name",
					g.Name, c, c.Guard))
			}
		}
	}
	logic := newLogic(r.GuardDecls(), nil)
	for _, g := range r.guards {
		if _, ok := logic.assume(logic.nothing(), Is(g.Name)); !ok {
			errs = append(errs, fmt.Errorf("guard %q can never hold: what it implies contradicts itself; correct its Implies", g.Name))
		}
	}
	return errs
}

// Guards returns the guards in the order of registration.
func (r Registry[S, A]) Guards() []Guard[S] { return slices.Clone(r.guards) }

// Effects returns the effects in the order of registration.
func (r Registry[S, A]) Effects() []Effect[S, A] { return slices.Clone(r.effects) }

// Guard returns the guard of that name.
func (r Registry[S, A]) Guard(name string) (Guard[S], bool) {
	i, ok := r.guard[name]
	if !ok {
		return Guard[S]{}, false
	}
	return r.guards[i], true
}

// Effect returns the effect of that name.
func (r Registry[S, A]) Effect(name string) (Effect[S, A], bool) {
	i, ok := r.effect[name]
	if !ok {
		return Effect[S, A]{}, false
	}
	return r.effects[i], true
}

// GuardDecls returns what the guards declare, in the order of registration.
func (r Registry[S, A]) GuardDecls() []GuardDecl {
	decls := make([]GuardDecl, len(r.guards))
	for i, g := range r.guards {
		decls[i] = g.Declaration()
	}
	return decls
}

// EffectDecls returns what the effects declare, in the order of registration.
func (r Registry[S, A]) EffectDecls() []EffectDecl {
	decls := make([]EffectDecl, len(r.effects))
	for i, e := range r.effects {
		decls[i] = e.Declaration()
	}
	return decls
}
