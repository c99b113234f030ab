// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"
)

// Fire fires the decided row's event, once, on a looplab/fsm machine built from
// the table and set to the decision's state. apply carries out the row's plan;
// it runs in the before-event callback, and its error cancels the event. Fire
// then returns that error wrapped with the row. A row that stays in its state
// is a success like any other.
func (m *Machine[S, A]) Fire(ctx context.Context, d Decision, apply func(context.Context) error) error {
	if _, err := m.decided(d); err != nil {
		return err
	}
	machine := m.looplab()
	machine.SetState(d.State)
	run := &firing{apply: func() error { return apply(ctx) }}
	// Once apply has returned, what it did is done: a context that ends just
	// then must not turn a carried-out row into an error, as looplab would.
	err := machine.Event(context.WithoutCancel(ctx), d.Row.Event, run)
	if run.failure != nil {
		m.idle.Put(machine)
		return fmt.Errorf("row %s in state %s: %w", d.Row.ID, d.State, run.failure)
	}
	var stayed fsm.NoTransitionError
	if err != nil && !errors.As(err, &stayed) {
		return fmt.Errorf("row %s in state %s: event %s did not fire: %w", d.Row.ID, d.State, d.Row.Event, err)
	}
	if run.times != 1 || !machine.Is(d.Row.To) {
		return fmt.Errorf("row %s in state %s: event %s ran its actions %d times and ended in %s; it should have run them once and ended in %s",
			d.Row.ID, d.State, d.Row.Event, run.times, machine.Current(), d.Row.To)
	}
	m.idle.Put(machine)
	return nil
}

// firing is what a looplab machine's callback carries out, and what came of it.
type firing struct {
	apply   func() error
	times   int
	failure error
}

// looplab returns a looplab/fsm machine that nobody else uses, in whichever
// state. To build one takes longer than to fire most events, so that one that
// has fired is used again; one that did not do as it should is not.
func (m *Machine[S, A]) looplab() *fsm.FSM {
	if machine, ok := m.idle.Get().(*fsm.FSM); ok {
		return machine
	}
	// before_event is looplab's one callback name that cannot be dropped for
	// being unknown, and it runs for whichever event is fired.
	return fsm.NewFSM(m.table.Initial, m.events, fsm.Callbacks{"before_event": carryOut})
}

func carryOut(_ context.Context, e *fsm.Event) {
	run, ok := e.Args[0].(*firing)
	if !ok {
		return
	}
	run.times++
	if run.failure = run.apply(); run.failure != nil {
		e.Cancel(run.failure)
	}
}
