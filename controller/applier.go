// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// Teller delivers announcements. It never fails and never blocks.
type Teller interface {
	Announce(ctx context.Context, told effects.Announce)
}

// Applier turns actions into requests, and is the only place that writes (architecture.md, one pass). Every write is
// conditional on what was decided on, and what the API server answers is remembered in Own.
type Applier struct {
	Client client.Client
	Own    *OwnWrites
	Teller Teller
	Clock  clock.PassiveClock
	// Term is how long after its decision a pass may still write; zero for any time. A process that was suspended for
	// longer may have lost the lease meanwhile, and what it would write on a Node or as a Pod is not conditional on the
	// anchor: it would reach into what the new leader has done.
	Term time.Duration
	// Pulse tells whether the process stood still since it leads; nil where nobody else can lead.
	Pulse *Pulse
}

// Apply carries out in order what was decided on at that time, adjacent patches of one object as one request, and stops
// at the first error, which names the action. It returns the number of writes that the API server accepted. An error that
// overtaken recognizes is ordinary.
func (a *Applier) Apply(ctx context.Context, pool string, decided time.Time, actions []effects.Action) (writes int, err error) {
	return a.begin(decided).apply(ctx, pool, actions)
}

// begin is a run over actions that were decided on at that time.
func (a *Applier) begin(decided time.Time) *application {
	return &application{Applier: a, decided: decided, versions: map[types.UID]string{}}
}

// application is one run over one list of actions or several.
type application struct {
	*Applier
	pool    string
	decided time.Time
	// versions holds the resourceVersion of each object that an earlier request of this run has written, or confirmed.
	versions map[types.UID]string
}

func (r *application) apply(ctx context.Context, pool string, actions []effects.Action) (writes int, err error) {
	r.pool = pool
	for _, action := range effects.Merge(actions) {
		wrote, err := r.carryOut(ctx, action)
		if err != nil {
			return writes, fmt.Errorf("%s: %w", action, err)
		}
		if wrote {
			writes++
		}
	}
	return writes, nil
}

// carryOut does it within what is left of the term: an answer that comes later is of no use.
func (r *application) carryOut(ctx context.Context, action effects.Action) (wrote bool, err error) {
	if err := r.inTerm(); err != nil {
		return false, err
	}
	if r.Term <= 0 {
		return r.do(ctx, action)
	}
	within, cancel := context.WithTimeout(ctx, r.left())
	defer cancel()
	wrote, err = r.do(within, action)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return wrote, fmt.Errorf("%w: %w", errHeldUp, err)
	}
	return wrote, err
}

func (r *application) do(ctx context.Context, action effects.Action) (wrote bool, err error) {
	switch action := action.(type) {
	case effects.PatchPool:
		return true, r.patchPool(ctx, action)
	case effects.PatchClaim:
		return true, r.patchVersioned(ctx, kindNodeClaim.named(action.Claim), action.Claim.ResourceVersion, action.Change)
	case effects.PatchNode:
		if err := r.confirm(ctx, action.Subject); err != nil {
			return false, err
		}
		node := rotation.Object{Name: action.Node.Name, UID: action.Node.UID}
		return true, r.patch(ctx, kindNode.named(node), action.Node.ResourceVersion, nodePatch(action))
	case effects.CreatePod:
		if err := r.confirm(ctx, action.Subject); err != nil {
			return false, err
		}
		return r.create(ctx, action.Pod.DeepCopy())
	case effects.DeletePod:
		return r.deletePod(ctx, action)
	case effects.DeleteClaim:
		return r.deleteClaim(ctx, action)
	case effects.Announce:
		r.Teller.Announce(ctx, action)
		return false, nil
	default:
		return false, fmt.Errorf("the applier does not know %T", action)
	}
}

// inTerm is an error where this process may no longer be the one that leads. A clock that stands still while a virtual
// machine is paused, as a monotonic one may, does not tell: the one on the wall is asked too.
func (r *application) inTerm() error {
	if err := r.Pulse.Steady(); err != nil {
		return err
	}
	if r.Term > 0 && r.left() < 0 {
		return errHeldUp
	}
	return nil
}

// left is how much of the term is left.
func (r *application) left() time.Duration {
	now := r.Clock.Now()
	return r.Term - max(now.Sub(r.decided), now.Round(0).Sub(r.decided.Round(0)))
}

// confirm asks, before a write that no version guards, whether the claim that it was decided on is still as it was then: by
// a patch of nothing, which changes no version and wakes nobody, and is refused with a conflict otherwise. Of a claim that
// this run has written or confirmed that is known. No subject needs none.
func (r *application) confirm(ctx context.Context, subject rotation.Object) error {
	if _, known := r.versions[subject.UID]; known || subject.UID == "" {
		return nil
	}
	claim := kindNodeClaim.named(subject)
	if err := r.Client.Patch(ctx, claim, versionedPatch(subject.UID, subject.ResourceVersion, effects.Change{})); err != nil {
		return fmt.Errorf("NodeClaim %s may not be as it was decided on: %w", subject.Name, err)
	}
	r.versions[subject.UID] = subject.ResourceVersion
	return r.inTerm()
}

// patchPool writes the anchor itself on the resourceVersion that was decided on, and with it on the anchor's absence;
// everything later on the anchor still naming the claim.
func (r *application) patchPool(ctx context.Context, a effects.PatchPool) error {
	pool := kindNodePool.named(a.Pool)
	if a.Anchored == "" {
		return r.patchVersioned(ctx, pool, a.Pool.ResourceVersion, a.Change)
	}
	return r.patch(ctx, pool, a.Pool.ResourceVersion, anchoredPatch(a))
}

func (r *application) patchVersioned(ctx context.Context, object client.Object, decidedOn string, change effects.Change) error {
	return r.patch(ctx, object, decidedOn, versionedPatch(object.GetUID(), r.versionOf(object.GetUID(), decidedOn), change))
}

// versionOf is the version that an object got in this run, or else the one that was decided on.
func (r *application) versionOf(uid types.UID, decidedOn string) string {
	if newer, written := r.versions[uid]; written {
		return newer
	}
	return decidedOn
}

func (r *application) patch(ctx context.Context, object client.Object, decidedOn string, patch client.Patch) error {
	if err := r.Client.Patch(ctx, object, patch); err != nil {
		r.doubt(object, ownWrite{version: r.versionOf(object.GetUID(), decidedOn)}, err)
		return err
	}
	r.versions[object.GetUID()] = object.GetResourceVersion()
	r.Own.Wrote(r.pool, object, false, r.Clock.Now())
	return nil
}

// doubt remembers a write that has failed and may have taken effect all the same.
func (r *application) doubt(object client.Object, write ownWrite, err error) {
	if unanswered(err) {
		write.uid, write.inDoubt, write.at = object.GetUID(), true, r.Clock.Now()
		r.Own.remember(r.pool, object, write)
	}
}

// create accepts that the Pod exists: the cache may not have shown it yet, or a request that seemed to fail took effect.
// A Pod that it shows and that is somebody else's is another matter.
func (r *application) create(ctx context.Context, object *corev1.Pod) (bool, error) {
	switch err := r.Client.Create(ctx, object); {
	case apierrors.IsAlreadyExists(err):
		exists := &corev1.Pod{}
		if r.Client.Get(ctx, client.ObjectKeyFromObject(object), exists) == nil && !samePlaceholder(exists, object) {
			return false, errNameTaken
		}
		return false, nil
	case err != nil:
		r.doubt(object, ownWrite{created: true}, err)
		return false, notCreated(object, err)
	}
	r.Own.Wrote(r.pool, object, true, r.Clock.Now())
	return true, nil
}

// notCreated says what keeps a Pod from being created. Nothing was decided on that could have changed meanwhile: what is
// ordinary of a patch is a refusal here.
func notCreated(object *corev1.Pod, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return &refusedError{fmt.Sprintf("create namespace %s, or name the one that the controller runs in", object.Namespace), err}
	case apierrors.IsInvalid(err):
		return &refusedError{"let an admission webhook or policy allow the placeholder", err}
	default:
		return err
	}
}

func samePlaceholder(a, b *corev1.Pod) bool {
	return rotation.IsPlaceholder(a) && a.Annotations[rotation.KeySurgeFor] == b.Annotations[rotation.KeySurgeFor]
}

func (r *application) deletePod(ctx context.Context, a effects.DeletePod) (bool, error) {
	if err := r.confirm(ctx, a.Subject); err != nil {
		return false, err
	}
	pod := kindPod.named(rotation.Object{Name: a.Name, UID: a.UID})
	pod.SetNamespace(a.Namespace)
	return r.delete(ctx, pod, "")
}

// deleteClaim deletes the subject of a rotation in its own version, any other claim once the subject's is confirmed.
func (r *application) deleteClaim(ctx context.Context, a effects.DeleteClaim) (bool, error) {
	claim := kindNodeClaim.named(a.Claim)
	if a.Subject.UID == a.Claim.UID {
		return r.delete(ctx, claim, r.versionOf(a.Claim.UID, a.Claim.ResourceVersion))
	}
	if err := r.confirm(ctx, a.Subject); err != nil {
		return false, err
	}
	return r.delete(ctx, claim, "")
}

// delete names the UID, so that another object of the same name is safe, and the version where one is given. An object
// that is gone is as it should be.
func (r *application) delete(ctx context.Context, object client.Object, version string) (bool, error) {
	uid := object.GetUID()
	only := client.Preconditions{UID: &uid}
	if version != "" {
		only.ResourceVersion = &version
	}
	switch err := r.Client.Delete(ctx, object, only); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		r.doubt(object, ownWrite{deleted: true, version: version}, err)
		return false, err
	}
	r.Own.Deleted(r.pool, object, r.Clock.Now())
	return true, nil
}
