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
	// Board, where set, shows what each pass found.
	Board *Board
	Sweep *Sweep
	Gate  *Gate
	Clock clock.PassiveClock
	// Rehearsal, where set, takes the place of Applier: what it would do is shown, and nothing is done. Nothing is swept.
	Rehearsal *Rehearsal
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
	// Snapshot that was decided on; nil where nothing was.
	Snapshot *rotation.Snapshot
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
	found, err := look(ctx, r.Reader.Cache, kindNodePool, client.ObjectKey{Name: name})
	np, _ := found.(*karpenterv1.NodePool)
	switch {
	case apierrors.IsNotFound(err):
		return Pass{}, r.gone(ctx, name)
	case err != nil:
		return Pass{}, fmt.Errorf("NodePool %s cannot be read: %w", name, err)
	}
	s, err := r.Reader.Snapshot(ctx, np, now)
	if err != nil {
		return Pass{}, err
	}
	if writes := r.swept(ctx, &s); writes > 0 {
		return Pass{Snapshot: &s, Writes: writes, Wake: catchUp}, nil
	}
	return r.decide(ctx, &s)
}

// swept removes what a rotation has left that is not anchored, and counts the writes: after them the next pass decides.
// What keeps it from being removed keeps nothing else from being done.
func (r *Reconciler) swept(ctx context.Context, s *rotation.Snapshot) (writes int) {
	if r.Rehearsal != nil {
		return 0
	}
	left, err := r.Reader.leftover(ctx, s)
	if left != "" && err == nil {
		writes, err = r.Sweep.Unanchored(ctx, s.Pool.Name)
	}
	switch logger := log.FromContext(ctx).WithValues("pool", s.Pool.Name, "found", left); {
	case err != nil:
		logger.Error(err, "the pool could not be swept of what a rotation has left, and will be in its next pass")
	case writes > 0:
		logger.Info("something was left of a rotation that is not anchored on the pool")
	}
	return writes
}

// gone forgets a NodePool that no longer exists, and removes what its rotation has left.
func (r *Reconciler) gone(ctx context.Context, pool string) error {
	r.Announcer.Forget(pool)
	r.Board.Remove(pool)
	r.Reader.translations.forget(pool)
	if r.Rehearsal != nil {
		r.Rehearsal.forget(pool)
		return nil
	}
	return r.Sweep.Abandoned(ctx, pool)
}

// decide has the table decide on the snapshot and carries the fired row's actions out.
func (r *Reconciler) decide(ctx context.Context, s *rotation.Snapshot) (Pass, error) {
	state, err := rotation.State(*s)
	var unknown *rotation.UnknownValueError
	if errors.As(err, &unknown) {
		r.trouble(ctx, s, "", effects.ReasonAnnotationUnreadable, unknown)
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
		r.trouble(ctx, s, state, effects.ReasonPlaceholderInvalid, err)
		return pass, nil // a person is told; readyTimeout and every other row go on
	}
	actions := plan.Actions()
	if r.Rehearsal != nil {
		r.Rehearsal.show(ctx, s, decision, actions)
		r.Announcer.Observe(ctx, Observation{Snapshot: s, Decision: decision})
		return pass, nil
	}
	writes := 0
	err = r.Machine.Fire(ctx, decision, func(ctx context.Context) (err error) {
		writes, err = r.Applier.Apply(ctx, s.Pool.Name, s.Now, actions)
		return err
	})
	pass.Writes = writes
	if err != nil {
		return pass, r.refused(ctx, s, state, err)
	}
	r.shown(ctx, Observation{Snapshot: s, Decision: decision, Writes: pass.Writes})
	return pass, nil
}

// shown tells of a completed pass. One that changed something is followed by the next at once, woken by its own writes:
// what came of it is posted then, so that a status is not written twice.
func (r *Reconciler) shown(ctx context.Context, pass Observation) {
	if pass.changed() {
		logFired(ctx, &pass)
	} else if r.Board != nil {
		found := noticeOf(pass.Snapshot, pass.Decision)
		r.Board.Post(found.policy, found.entry)
	}
	r.Announcer.Observe(ctx, pass)
}

// refused tells a person about a write that the API server will refuse again: nothing else would.
func (r *Reconciler) refused(ctx context.Context, s *rotation.Snapshot, state string, err error) error {
	if refusedForGood(err) {
		r.trouble(ctx, s, state, effects.ReasonWriteRefused, err)
	}
	return err
}

// trouble tells a person of what only a person can mend.
func (r *Reconciler) trouble(ctx context.Context, s *rotation.Snapshot, state, reason string, err error) {
	r.Announcer.Trouble(ctx, s.Pool.Object, reason, err.Error())
	found := troubleOf(s, state, err.Error())
	r.Board.Post(found.policy, found.entry)
}

// logFired writes one line for a transition that changed something: the row, its subject, and the facts that decided it.
// A row without conditions fires because of what keeps the others from firing.
func logFired(ctx context.Context, pass *Observation) {
	logger := log.FromContext(ctx)
	if !logger.Enabled() {
		return
	}
	s, d := pass.Snapshot, pass.Decision
	facts := []string{}
	for _, row := range d.Rows {
		if row.Row != d.Row {
			continue
		}
		for _, c := range row.Conditions {
			facts = append(facts, c.Verdict.Reason())
		}
	}
	if _, c, kept := d.Obstacle(); kept && len(facts) == 0 {
		facts = append(facts, c.Verdict.Reason())
	}
	logger.Info("transition", "row", d.Row.ID, "from", d.State, "to", d.Row.To, "event", d.Row.Event,
		"pool", s.Pool.Name, "claim", s.SubjectName(), "writes", pass.Writes, "because", facts)
}
