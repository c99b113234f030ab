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
	// Term is how long after its first action a pass may still write; zero for any time. A process that was suspended
	// for longer may have lost the lease meanwhile, and what it would write on a Node or as a Pod is not conditional on
	// the anchor: it would reach into what the new leader has done.
	Term time.Duration
}

// Apply carries the actions out in order, adjacent patches of one object as one request, and stops at the first error,
// which names the action. It returns the number of writes that the API server accepted. An error that overtaken
// recognizes is ordinary.
func (a *Applier) Apply(ctx context.Context, pool string, actions []effects.Action) (writes int, err error) {
	return a.begin(a.Clock.Now()).apply(ctx, pool, actions)
}

// begin is a run over actions that were decided on at that time.
func (a *Applier) begin(decided time.Time) *application {
	return &application{Applier: a, begun: decided, versions: map[types.UID]string{}}
}

// application is one run over one list of actions or several.
type application struct {
	*Applier
	pool  string
	begun time.Time
	// versions holds the resourceVersion that each object got by an earlier write of this run.
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

func (r *application) carryOut(ctx context.Context, action effects.Action) (wrote bool, err error) {
	if r.Term > 0 && r.Clock.Since(r.begun) > r.Term {
		return false, errHeldUp
	}
	switch action := action.(type) {
	case effects.PatchPool:
		return true, r.patchPool(ctx, action)
	case effects.PatchClaim:
		return true, r.patchVersioned(ctx, kindNodeClaim.named(action.Claim), action.Claim.ResourceVersion, action.Change)
	case effects.PatchNode:
		node := kindNode.new()
		node.SetName(action.Node.Name)
		return true, r.patch(ctx, node, nodePatch(action))
	case effects.CreatePod:
		return r.create(ctx, action.Pod.DeepCopy())
	case effects.DeletePod:
		pod := kindPod.new()
		pod.SetNamespace(action.Namespace)
		pod.SetName(action.Name)
		pod.SetUID(action.UID)
		return r.delete(ctx, pod, "")
	case effects.DeleteClaim:
		version := ""
		if action.AsDecidedOn {
			version = r.versionOf(action.Claim.UID, action.Claim.ResourceVersion)
		}
		return r.delete(ctx, kindNodeClaim.named(action.Claim), version)
	case effects.Announce:
		r.Teller.Announce(ctx, action)
		return false, nil
	default:
		return false, fmt.Errorf("the applier does not know %T", action)
	}
}

// patchPool writes the anchor itself on the resourceVersion that was decided on, and with it on the anchor's absence;
// everything later on the anchor still naming the claim.
func (r *application) patchPool(ctx context.Context, a effects.PatchPool) error {
	pool := kindNodePool.named(a.Pool)
	if a.Anchored == "" {
		return r.patchVersioned(ctx, pool, a.Pool.ResourceVersion, a.Change)
	}
	return r.patch(ctx, pool, anchoredPatch(a))
}

func (r *application) patchVersioned(ctx context.Context, object client.Object, decidedOn string, change effects.Change) error {
	return r.patch(ctx, object, versionedPatch(object.GetUID(), r.versionOf(object.GetUID(), decidedOn), change))
}

// versionOf is the version that an object got in this run, or else the one that was decided on.
func (r *application) versionOf(uid types.UID, decidedOn string) string {
	if newer, written := r.versions[uid]; written {
		return newer
	}
	return decidedOn
}

func (r *application) patch(ctx context.Context, object client.Object, patch client.Patch) error {
	if err := r.Client.Patch(ctx, object, patch); err != nil {
		return err
	}
	r.versions[object.GetUID()] = object.GetResourceVersion()
	r.Own.Wrote(r.pool, object, false, r.Clock.Now())
	return nil
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
		return false, err
	}
	r.Own.Deleted(r.pool, object, r.Clock.Now())
	return true, nil
}
