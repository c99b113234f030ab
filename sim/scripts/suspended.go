// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"iter"
	"time"
)

// suspension is a move of the world that stands still in the middle: a pass of a controller that was suspended. It is
// carried on by whoever takes the next value, which there is none of once the move is done.
type suspension struct {
	next func() (struct{}, bool)
	stop func()
}

// advance makes the next move if one is due by then. One in which the controller is suspended counts as made, and is
// finished by resume.
func (r *run) advance(by time.Time) bool {
	if !r.faults.suspends() {
		return r.world.Step(by)
	}
	made := false
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		r.faults.suspend = func() {
			resume := r.world.Suspend()
			if !yield(struct{}{}) {
				r.faults.dead = true // the script has ended
			}
			resume()
		}
		made = r.world.Step(by)
	})
	if _, suspended := next(); suspended {
		r.suspended = &suspension{next, stop}
		return true
	}
	stop()
	return made
}

// resume has the suspended controller go on.
func (r *run) resume() error {
	if r.suspended == nil {
		return errors.New("no controller is suspended")
	}
	r.suspended.next()
	r.suspended = nil
	return r.settle()
}

// end ends a controller that is still suspended.
func (r *run) end() {
	if r.suspended != nil {
		r.suspended.stop()
		r.suspended = nil
	}
}

// suspendVerbs are what befalls a controller that another one takes over from while it stands still.
func suspendVerbs() []verb {
	armed := func(form string, kind fault) verb {
		return verb{form, func(s slots) (action, error) {
			n, err := number(s["nth"])
			return func(r *run) error {
				if r.suspended != nil {
					return errors.New("a controller is suspended already")
				}
				r.faults.arm(kind, n)
				return nil
			}, err
		}}
	}
	return []verb{
		armed("suspend the controller before its <nth> write", suspendedBefore),
		armed("suspend the controller after its <nth> write", suspendedAfter),
		{"have another controller take over", func(slots) (action, error) {
			return func(r *run) error {
				if r.suspended == nil {
					return errors.New("no controller is suspended")
				}
				r.world.StartController()
				return r.settle()
			}, nil
		}},
		{"resume the suspended controller", func(slots) (action, error) { return (*run).resume, nil }},
	}
}
