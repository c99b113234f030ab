// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// action does a step.
type action func(*run) error

// verb is a form of step: words that stand as they are, and <slots> that take one word each. The last slot of a form
// that ends in … takes all that is left.
type verb struct {
	form string
	make func(slots) (action, error)
}

// slots are what stands in a step at the places of its form, by their names.
type slots map[string]string

// match reads the step by the form; false where it is of another.
func (v verb) match(words []string) (slots, bool) {
	form := strings.Fields(v.form)
	found := slots{}
	for i, word := range form {
		name, slot := strings.CutPrefix(word, "<")
		switch {
		case slot && strings.HasSuffix(name, "…>"):
			if len(words) <= i {
				return nil, false
			}
			found[strings.TrimSuffix(name, "…>")] = strings.Join(words[i:], " ")
			return found, true
		case len(words) <= i:
			return nil, false
		case slot:
			found[strings.TrimSuffix(name, ">")] = words[i]
		case word != words[i]:
			return nil, false
		}
	}
	return found, len(words) == len(form)
}

// span reads a slot that holds a duration.
func (s slots) span(name string) (time.Duration, error) { return span(s[name]) }

// parseStep reads one step. `at TIME` before it lets the time pass until then.
func parseStep(text string) (action, error) {
	words := strings.Fields(text)
	if len(words) > 1 && words[0] == "at" {
		at, err := span(words[1])
		if err != nil {
			return nil, err
		}
		then, err := parseStep(strings.Join(words[2:], " "))
		return func(r *run) error {
			if err := r.until(at); err != nil {
				return err
			}
			return then(r)
		}, err
	}
	for _, v := range verbs() {
		if found, matches := v.match(words); matches {
			do, err := v.make(found)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.form, err)
			}
			return do, nil
		}
	}
	return nil, errors.New(unknownStep(text, words))
}

// unknownStep names the forms that begin like the step, or else all.
func unknownStep(text string, words []string) string {
	var near, all []string
	for _, v := range verbs() {
		all = append(all, v.form)
		if len(words) > 0 && strings.HasPrefix(v.form, words[0]+" ") {
			near = append(near, v.form)
		}
	}
	if len(near) > 0 {
		all = near
	}
	return fmt.Sprintf("%q is no step. There are:\n    %s", text, strings.Join(all, "\n    "))
}

// verbs are the forms of steps.
func verbs() []verb {
	var all []verb
	for _, some := range [][]verb{timeVerbs(), operatorVerbs(), policyVerbs(), cloudVerbs(), troubleVerbs(), suspendVerbs(), questionVerbs(), shownVerbs()} {
		all = append(all, some...)
	}
	return all
}

// timeVerbs let time pass.
func timeVerbs() []verb {
	return []verb{
		{"run <span>", func(s slots) (action, error) {
			d, err := s.span("span")
			return func(r *run) error { return r.until(r.world.Since(r.script.Setting.Start) + d) }, err
		}},
		{"run until <span>", func(s slots) (action, error) {
			d, err := s.span("span")
			return func(r *run) error { return r.until(d) }, err
		}},
		{"step", func(slots) (action, error) { return (*run).step, nil }},
	}
}

// troubleVerbs are what befalls the controller. Writes are counted from the step on.
func troubleVerbs() []verb {
	armed := func(form string, kind fault) verb {
		return verb{form, func(s slots) (action, error) {
			n, err := number(s["nth"])
			return func(r *run) error { r.faults.arm(kind, n); return nil }, err
		}}
	}
	return []verb{
		armed("kill the controller after its <nth> write", killed),
		armed("refuse the controller's <nth> write", refused),
		armed("forbid the controller's <nth> write", forbidden),
		armed("lose the answer to the controller's <nth> write", answerLost),
		{"kill the controller", func(slots) (action, error) {
			return func(r *run) error { r.world.StopController(); return r.settle() }, nil
		}},
		{"start the controller", func(slots) (action, error) {
			return func(r *run) error { r.world.StartController(); return r.settle() }, nil
		}},
	}
}
