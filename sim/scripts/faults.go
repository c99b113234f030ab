// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/sim/cluster"
)

// fault is what goes wrong with a write of the controller.
type fault int

const (
	// killed: the write takes effect, and the process is gone.
	killed fault = iota
	// refused: the API server answers with a conflict.
	refused
	// answerLost: the write takes effect, and the controller is told that it failed.
	answerLost
	// forbidden: the API server refuses it, and would again.
	forbidden
	// suspendedBefore: the process stands still with the write about to be sent, and suspendedAfter: with its answer there.
	suspendedBefore
	suspendedAfter
)

var (
	errKilled     = errors.New("the controller was killed")
	errAnswerLost = errors.New("the connection was lost")
)

// faults stand between the controller and the API server.
type faults struct {
	writes int
	armed  map[int]fault
	// dead is true from a kill until the process is stopped; a new one begins alive.
	dead bool
	// suspend returns when a process that stands still goes on.
	suspend func()
}

// arm has the nth write from now on go wrong.
func (f *faults) arm(kind fault, nth int) { f.armed[f.writes+nth] = kind }

// between is the controller's client with the faults before it; one process has one.
func (f *faults) between(c client.Client) client.Client {
	f.dead = false
	return &faulty{c, f}
}

// suspends tells whether a suspension is still to come.
func (f *faults) suspends() bool {
	for _, kind := range f.armed {
		if kind == suspendedBefore || kind == suspendedAfter {
			return true
		}
	}
	return false
}

func (f *faults) write(object client.Object, do func() error) error {
	if f.dead {
		return errKilled
	}
	f.writes++
	kind, wrong := f.armed[f.writes]
	delete(f.armed, f.writes)
	switch resource := (schema.GroupResource{Resource: "objects"}); {
	case wrong && kind == refused:
		return apierrors.NewConflict(resource, object.GetName(), errors.New("the object has been modified"))
	case wrong && kind == forbidden:
		return apierrors.NewForbidden(resource, object.GetName(), errors.New("a policy of the cluster does not allow it"))
	case wrong && kind == suspendedBefore:
		f.suspend()
		if f.dead {
			return errKilled
		}
		return do()
	}
	err := do()
	if !wrong {
		return err
	}
	switch kind {
	case answerLost:
		return errAnswerLost
	case suspendedAfter:
		f.suspend()
		return err
	default:
		f.dead = true
		return errKilled
	}
}

type faulty struct {
	client.Client
	faults *faults
}

// Create creates, unless that goes wrong.
func (c *faulty) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return c.faults.write(o, func() error { return c.Client.Create(ctx, o, options...) })
}

// Patch patches, unless that goes wrong. What only confirms is no write.
func (c *faulty) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	if cluster.Confirms(patch) && !c.faults.dead { // it writes nothing
		return c.Client.Patch(ctx, o, patch, options...)
	}
	return c.faults.write(o, func() error { return c.Client.Patch(ctx, o, patch, options...) })
}

// Delete deletes, unless that goes wrong.
func (c *faulty) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return c.faults.write(o, func() error { return c.Client.Delete(ctx, o, options...) })
}
