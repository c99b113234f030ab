// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// deed makes a step, and returns its trace: a step that waits has one.
type deed func(context.Context, *player) (trace []string, err error)

// verb is a form of step: words that stand as they are, and <slots> that take one word each.
type verb struct {
	form string
	make func(slots) (deed, error)
}

// slots are what stands in a step at the places of its form, in order.
type slots []string

// plain is a verb that does something, and waits for nothing.
func plain(form string, do func(context.Context, *player, slots) error) verb {
	return verb{form, func(s slots) (deed, error) {
		return func(ctx context.Context, p *player) ([]string, error) { return nil, do(ctx, p, s) }, nil
	}}
}

// spanned is a verb with a duration in its last slot.
func spanned(form string, do func(context.Context, *player, slots, time.Duration) ([]string, error)) verb {
	return verb{form, func(s slots) (deed, error) {
		d, err := time.ParseDuration(s[len(s)-1])
		return func(ctx context.Context, p *player) ([]string, error) { return do(ctx, p, s, d) }, err
	}}
}

// verbs are the forms of steps, but for `await CLAIM ROW`.
func verbs() []verb {
	return append(append(controllerVerbs(), cloudVerbs()...), operatorVerbs()...)
}

// controllerVerbs befall the controller.
func controllerVerbs() []verb {
	return []verb{
		plain("start the controller", func(ctx context.Context, p *player, _ slots) error { return p.StartController(ctx) }),
		plain("kill the controller", func(_ context.Context, p *player, _ slots) error { return p.KillController() }),
		{"kill the controller after its <nth> write", func(s slots) (deed, error) {
			n, err := strconv.Atoi(strings.TrimRight(s[0], "stndrh"))
			return func(_ context.Context, p *player) ([]string, error) { return nil, p.KillControllerAtWrite(n) }, err
		}},
		plain("await the controller's end", func(ctx context.Context, p *player, _ slots) error {
			return p.Await(ctx, "the controller is dead", func() (bool, error) { return !p.ControllerRuns(), nil })
		}),
	}
}

// cloudVerbs make trouble in the cloud, and let time pass.
func cloudVerbs() []verb {
	return []verb{
		spanned("hold up launches by <span>", func(ctx context.Context, p *player, _ slots, d time.Duration) ([]string, error) {
			return nil, p.HoldUp(ctx, d)
		}),
		plain("run zone <zone> out of capacity", func(ctx context.Context, p *player, s slots) error { return p.RunOut(ctx, s[0]) }),
		plain("give every zone its capacity back", func(ctx context.Context, p *player, _ slots) error { return p.RunOut(ctx, "") }),
		plain("have claim <claim> drift", func(ctx context.Context, p *player, s slots) error { return p.Drift(ctx, s[0]) }),
		plain("vacate the node of <claim>", func(ctx context.Context, p *player, s slots) error { return p.Vacate(ctx, s[0]) }),
		spanned("watch for <span>", func(ctx context.Context, p *player, _ slots, d time.Duration) ([]string, error) {
			return p.watch(ctx, d)
		}),
	}
}

// parse reads a step.
func parse(text string) (deed, error) {
	var forms []string
	for _, v := range verbs() {
		if found, matches := match(v.form, text); matches {
			do, err := v.make(found)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.form, err)
			}
			return do, nil
		}
		forms = append(forms, v.form)
	}
	if goals := goalsOf(text); goals != nil {
		return func(ctx context.Context, p *player) ([]string, error) { return p.awaitRows(ctx, goals) }, nil
	}
	forms = append(forms, "await <claim> <row>, <claim> <row> …")
	return nil, fmt.Errorf("%q is no step. There are:\n    %s", text, strings.Join(forms, "\n    "))
}

// match reads a step by its form; false where it is of another.
func match(form, text string) (slots, bool) {
	shape, words := strings.Fields(form), strings.Fields(text)
	if len(shape) != len(words) {
		return nil, false
	}
	found := slots{}
	for i, word := range shape {
		switch {
		case strings.HasPrefix(word, "<"):
			found = append(found, words[i])
		case word != words[i]:
			return nil, false
		}
	}
	return found, true
}

// goalsOf reads `await east-0 drained, west-0 drained`.
func goalsOf(text string) []goal {
	rest, is := strings.CutPrefix(text, "await ")
	if !is {
		return nil
	}
	var goals []goal
	for part := range strings.SplitSeq(rest, ",") {
		words := strings.Fields(part)
		if len(words) != 2 || poolOf(words[0]) == "" {
			return nil
		}
		goals = append(goals, goal{words[0], words[1]})
	}
	return goals
}

// poolOf is the pool of a claim by the scenario's name for it: queue-0 is of the pool queue.
func poolOf(claim string) string {
	at := strings.LastIndex(claim, "-")
	if at < 0 {
		return ""
	}
	return claim[:at]
}
