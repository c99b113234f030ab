// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unseen is how long the cache is waited for where it may never show the write: a Pod that we created may be gone again
// between two looks of the informer, and a write whose answer was lost may not have taken effect. To do it a second time is
// refused by the API server, so that to give up early costs one rejected request.
const unseen = 10 * time.Second

// OwnWrites remembers, per pool, what this process wrote, or may have, and the cache has not shown yet. A pass over a cache
// that is older than our own last write would decide on what is no longer true, so it decides nothing. Safe for concurrent
// use.
type OwnWrites struct {
	mu    sync.Mutex
	pools map[string]map[writeKey]ownWrite
}

// writeKey identifies an object by kind and name.
type writeKey struct {
	kind            kind
	namespace, name string
}

type ownWrite struct {
	uid types.UID
	// version is the resourceVersion of the answer; of a write in doubt the one that was written on. Empty where there is
	// none: a delete answers without.
	version          string
	created, deleted bool
	// inDoubt is true where the answer was lost: the write may have taken effect or not.
	inDoubt bool
	at      time.Time
}

// NewOwnWrites starts with nothing remembered.
func NewOwnWrites() *OwnWrites { return &OwnWrites{pools: map[string]map[writeKey]ownWrite{}} }

// Clone is an independent memory that remembers the same, for a process that is to be followed along several ways.
func (w *OwnWrites) Clone() *OwnWrites {
	w.mu.Lock()
	defer w.mu.Unlock()
	pools := make(map[string]map[writeKey]ownWrite, len(w.pools))
	for pool, writes := range w.pools {
		pools[pool] = maps.Clone(writes)
	}
	return &OwnWrites{pools: pools}
}

// Wrote remembers the answer to a create or patch made for pool.
func (w *OwnWrites) Wrote(pool string, answer client.Object, created bool, now time.Time) {
	w.remember(pool, answer, ownWrite{uid: answer.GetUID(), version: answer.GetResourceVersion(), created: created, at: now})
}

// Deleted remembers that the object was asked to go.
func (w *OwnWrites) Deleted(pool string, object client.Object, now time.Time) {
	w.remember(pool, object, ownWrite{uid: object.GetUID(), deleted: true, at: now})
}

func (w *OwnWrites) remember(pool string, object client.Object, write ownWrite) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pools[pool] == nil {
		w.pools[pool] = map[writeKey]ownWrite{}
	}
	w.pools[pool][writeKey{kindOf(object), object.GetNamespace(), object.GetName()}] = write
}

// Pending tells whether the cache behind reader has yet to show a write made for pool, and which. What it has shown is
// forgotten. The error is of the reader.
func (w *OwnWrites) Pending(ctx context.Context, reader client.Reader, pool string, now time.Time) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, write := range w.pools[pool] {
		shown, err := write.shown(ctx, reader, key, now)
		if err != nil {
			return "", err
		}
		if !shown {
			return fmt.Sprintf("%s %s", key.kind, key.name), nil
		}
		delete(w.pools[pool], key)
	}
	delete(w.pools, pool)
	return "", nil
}

// shown tells whether the cache is at least as new as the write; of one in doubt whether it would be, had it taken effect, or
// enough time has passed.
func (w ownWrite) shown(ctx context.Context, reader client.Reader, key writeKey, now time.Time) (bool, error) {
	waited := now.Sub(w.at) > unseen
	cached, err := look(ctx, reader, key.kind, client.ObjectKey{Namespace: key.namespace, Name: key.name})
	switch {
	case apierrors.IsNotFound(err):
		// An object that was patched or deleted was in the cache before: its absence is news, and later than the write.
		return !w.created || waited, nil
	case err != nil:
		return false, fmt.Errorf("the cache cannot be asked for %s %s: %w", key.kind, key.name, err)
	case w.created && w.inDoubt:
		return true, nil // no answer said which Pod it would be: any of its name is
	case cached.GetUID() != w.uid:
		return !w.created || waited, nil
	case w.deleted && cached.GetDeletionTimestamp() != nil:
		return true, nil
	case w.version == "":
		return w.inDoubt && waited, nil
	case w.deleted && !waited:
		return false, nil
	}
	order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.version)
	if err != nil {
		return false, fmt.Errorf("the versions of %s %s cannot be compared: %w", key.kind, key.name, err)
	}
	return order > 0 || order == 0 && (!w.inDoubt || waited), nil
}
