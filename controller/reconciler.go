// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Waits of a pass that decided nothing.
const (
	// catchUp is how soon the cache is asked again whether it shows our own last write.
	catchUp = 50 * time.Millisecond
	// afterConflict is how soon a pass that was overtaken is run again: by then the watch has brought the news.
	afterConflict = 200 * time.Millisecond
	// holdStill is how often a pool that needs a person's hand is looked at.
	holdStill = time.Minute
)

// Reconciler makes one pass over one NodePool: snapshot, decision, actions, applier (architecture.md, one pass).
type Reconciler struct {
	Reader    *Reader
	Machine   *Machine
	Applier   *Applier
	Own       *OwnWrites
	Announcer *Announcer
	Sweep     *Sweep
	Gate      *Gate
	Clock     clock.PassiveClock
	// Witness, where set, is shown every pass that was made, and the error that ended it.
	Witness func(Pass, error)
}

// Reconcile makes one pass and says when the next one is due. Conflicts end a pass quietly; an error is returned only
// for what should not be.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if err := r.Gate.Wait(ctx); err != nil {
		return ctrl.Result{}, fmt.Errorf("the controller stopped before its startup sweep was done: %w", err)
	}
	pass, err := r.pass(ctx, request.Name)
	if r.Witness != nil {
		r.Witness(pass, err)
	}
	switch {
	case err == nil:
		return ctrl.Result{RequeueAfter: pass.Wake}, nil
	case overtaken(err) || ctx.Err() != nil: // the latter where the process is about to stop
		log.FromContext(ctx).V(1).Info("the pass was overtaken and will be made again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: afterConflict}, nil //nolint:nilerr // ordinary, and quiet
	default:
		return ctrl.Result{}, err
	}
}

// Pass is what one pass came to.
type Pass struct {
	Snapshot rotation.Snapshot
	Decision machine.Decision
	// Writes is the number of requests that changed something.
	Writes int
	// Wake is how long nothing need be looked at again.
	Wake time.Duration
}

func (r *Reconciler) pass(ctx context.Context, name string) (Pass, error) {
	now := r.Clock.Now()
	behind, err := r.Own.Pending(ctx, r.Reader.Cache, name, now)
	if err != nil {
		return Pass{}, err
	}
	if behind != "" {
		log.FromContext(ctx).V(1).Info("the cache does not show our own last write yet", "object", behind)
		return Pass{Wake: catchUp}, nil
	}
	np := &karpenterv1.NodePool{}
	switch err := r.Reader.Cache.Get(ctx, client.ObjectKey{Name: name}, np); {
	case apierrors.IsNotFound(err):
		r.Announcer.Forget(name)
		r.Reader.translations.forget(name)
		return Pass{}, r.Sweep.Abandoned(ctx, name)
	case err != nil:
		return Pass{}, fmt.Errorf("NodePool %s cannot be read: %w", name, err)
	}
	s, err := r.Reader.Snapshot(ctx, np, now)
	if err != nil {
		return Pass{}, err
	}
	return r.decide(ctx, s)
}

// decide has the table decide on the snapshot and carries the fired row's actions out.
func (r *Reconciler) decide(ctx context.Context, s rotation.Snapshot) (Pass, error) {
	state, err := rotation.State(s)
	var unknown *rotation.UnknownValueError
	if errors.As(err, &unknown) {
		r.Announcer.Trouble(ctx, s.Pool.Object, effects.ReasonAnnotationUnreadable, unknown.Error())
		return Pass{Snapshot: s, Wake: holdStill}, nil
	}
	if err != nil {
		return Pass{}, err
	}
	decision, err := r.Machine.Decide(state, s)
	if err != nil {
		return Pass{}, err
	}
	pass := Pass{Snapshot: s, Decision: decision, Wake: decision.Wake(s.Now)}
	plan, err := r.Machine.Plan(decision, s)
	if err != nil {
		r.Announcer.Trouble(ctx, s.Pool.Object, effects.ReasonPlaceholderInvalid, err.Error())
		return pass, nil //nolint:nilerr // a person is told; readyTimeout and every other row go on
	}
	err = r.Machine.Fire(ctx, decision, func(ctx context.Context) error {
		pass.Writes, err = r.Applier.Apply(ctx, s.Pool.Name, plan.Actions())
		return err
	})
	if err != nil {
		return pass, r.refused(ctx, s, err)
	}
	logFired(ctx, s, decision, pass.Writes)
	r.Announcer.Observe(ctx, Observation{Snapshot: s, State: state})
	return pass, nil
}

// refused tells a person about a write that the API server will refuse again: nothing else would.
func (r *Reconciler) refused(ctx context.Context, s rotation.Snapshot, err error) error {
	if !overtaken(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err)) {
		r.Announcer.Trouble(ctx, s.Pool.Object, effects.ReasonWriteRefused, err.Error())
	}
	return err
}

// logFired writes one line for a transition that changed something: the row, its subject, and the facts that decided it.
func logFired(ctx context.Context, s rotation.Snapshot, d machine.Decision, writes int) {
	if writes == 0 {
		return
	}
	facts := []string{}
	for _, row := range d.Rows {
		if row.Row != d.Row {
			continue
		}
		for _, c := range row.Conditions {
			facts = append(facts, c.Verdict.Reason)
		}
	}
	log.FromContext(ctx).Info("transition", "row", d.Row.ID, "from", d.State, "to", d.Row.To, "event", d.Row.Event,
		"pool", s.Pool.Name, "claim", s.SubjectName(), "writes", writes, "because", facts)
}
