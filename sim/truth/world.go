// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// World is where a scenario happens. Its pools stand on their nodes, its budgets are in force, no policy is applied, and
// no controller runs, when the first step is made.
type World interface {
	// Client makes an operator's requests of the API server.
	Client() client.Client
	// Now is the world's time.
	Now() time.Time
	// Claims are those that stood at the start, by the names that the scenario has for them: queue-0 is the oldest of the
	// pool queue, and of those that are of one age the first by its name.
	Claims() map[string]string
	// Fired has every transition of the controller so far that changed something, in order.
	Fired() ([]Transition, error)
	// Await lets time pass until it holds. The error says what was waited for in vain.
	Await(ctx context.Context, what string, holds func() (bool, error)) error

	// StartController starts a controller that acts at once.
	StartController(ctx context.Context) error
	// KillController ends it as kill -9 does.
	KillController() error
	// KillControllerAtWrite has it killed once the nth of the writes that are still to come has taken effect, and before it
	// learns of that.
	KillControllerAtWrite(n int) error
	// ControllerRuns tells whether it lives.
	ControllerRuns() bool

	// HoldUp has every launch from now on take so much longer.
	HoldUp(ctx context.Context, extra time.Duration) error
	// RunOut takes the capacity out of a zone; an empty name gives every zone its capacity back.
	RunOut(ctx context.Context, zone string) error
	// Drift has Karpenter find the claim out of date.
	Drift(ctx context.Context, claim string) error
	// Vacate has the workload give up what runs on the claim's Node, and returns when it is empty.
	Vacate(ctx context.Context, claim string) error
}

// Transition is a row that fired and changed something.
type Transition struct {
	Pool, Claim, Row string
	// From and To are states of the rotation.
	From, To string
}
