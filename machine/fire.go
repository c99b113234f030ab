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
	var runs int
	var failure error
	// before_event is looplab's one callback name that cannot be dropped for
	// being unknown, and it runs for whichever event is fired.
	before := func(_ context.Context, e *fsm.Event) {
		runs++
		if failure = apply(ctx); failure != nil {
			e.Cancel(failure)
		}
	}
	machine := fsm.NewFSM(d.State, m.events, fsm.Callbacks{"before_event": before})
	// Once apply has returned, what it did is done: a context that ends just
	// then must not turn a carried-out row into an error, as looplab would.
	err := machine.Event(context.WithoutCancel(ctx), d.Row.Event)
	if failure != nil {
		return fmt.Errorf("row %s in state %s: %w", d.Row.ID, d.State, failure)
	}
	var stayed fsm.NoTransitionError
	if err != nil && !errors.As(err, &stayed) {
		return fmt.Errorf("row %s in state %s: event %s did not fire: %w", d.Row.ID, d.State, d.Row.Event, err)
	}
	if runs != 1 || !machine.Is(d.Row.To) {
		return fmt.Errorf("row %s in state %s: event %s ran its actions %d times and ended in %s; it should have run them once and ended in %s",
			d.Row.ID, d.State, d.Row.Event, runs, machine.Current(), d.Row.To)
	}
	return nil
}
