// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// Recorder watches every kind without a gap: from the revision of an initial list, and on from the last event when the API
// server ends a watch in good order. A gap ends the recording with an error that Err and every later call return.
type Recorder struct {
	client dynamic.Interface
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	start World
	// from is the revision at which all kinds had been listed: what happened before, between the lists of two kinds, is
	// part of start.
	from   Revision
	events []Event
	now    World
	// latest is the revision of the last event of each object, gone ones included.
	latest map[types.UID]Revision
	fault  error
	// changed is closed, and replaced, at every event.
	changed chan struct{}
}

// Start lists every kind and begins to record. Stop ends it.
func Start(ctx context.Context, client dynamic.Interface) (*Recorder, error) {
	r := &Recorder{client: client, now: newWorld(), latest: map[types.UID]Revision{}, changed: make(chan struct{})}
	begun := make([]string, len(kinds))
	for i, kind := range kinds {
		list, err := client.Resource(kind.resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("%s cannot be listed for the recording: %w", kind.resource.Resource, err)
		}
		objects, err := kind.decodeAll(list)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			r.now.set(object)
			r.latest[object.GetUID()] = RevisionOf(object)
		}
		begun[i] = list.GetResourceVersion()
		revision, err := parseRevision(begun[i])
		if err != nil {
			return nil, err
		}
		r.from = max(r.from, revision)
	}
	r.start = r.now.clone()

	// The recording outlives the call that begins it.
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	for i, kind := range kinds {
		r.done.Go(func() { r.follow(watching, kind, begun[i]) })
	}
	return r, nil
}

// Stop ends the recording and returns when nothing is written to it any more.
func (r *Recorder) Stop() {
	r.cancel()
	r.done.Wait()
}

// follow records the events of one kind from a resourceVersion on.
func (r *Recorder) follow(ctx context.Context, kind kind, version string) {
	for ctx.Err() == nil {
		events, err := r.client.Resource(kind.resource).Watch(ctx, metav1.ListOptions{
			ResourceVersion: version, AllowWatchBookmarks: true,
		})
		if err == nil {
			version, err = r.take(ctx, kind, events, version)
		}
		if err != nil && ctx.Err() == nil {
			r.fail(fmt.Errorf("the recording of %s has a gap after resourceVersion %s: %w", kind.resource.Resource, version, err))
			return
		}
	}
}

// take records events until the API server ends the watch, and returns the resourceVersion to go on from.
func (r *Recorder) take(ctx context.Context, kind kind, events watch.Interface, version string) (string, error) {
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				return version, nil
			}
			seen, err := r.record(kind, event)
			if err != nil {
				return version, err
			}
			version = seen
		}
	}
}

// record takes one event down and returns its resourceVersion.
func (r *Recorder) record(kind kind, event watch.Event) (version string, err error) {
	if event.Type == watch.Error {
		return "", apierrors.FromObject(event.Object)
	}
	raw, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return "", fmt.Errorf("a watch answered with %T", event.Object)
	}
	version = raw.GetResourceVersion()
	if event.Type == watch.Bookmark {
		return version, nil
	}
	revision, err := parseRevision(version)
	if err != nil {
		return "", err
	}
	object, err := kind.decode(raw)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, r.now.apply(Event{Revision: revision, At: time.Now(), Change: event.Type, After: object}))
	r.latest[object.GetUID()] = revision
	r.announce()
	return version, nil
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fault = errors.Join(r.fault, err)
	r.announce()
}

// announce wakes everybody who waits for news.
func (r *Recorder) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Err says what is wrong with the recording, if anything is.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// Await returns when holds is true of the world as recorded so far, which it is asked of after every event. The world is
// holds's only for the call.
func (r *Recorder) Await(ctx context.Context, what string, holds func(World) bool) error {
	for {
		news, met, err := r.ask(holds)
		switch {
		case err != nil:
			return fmt.Errorf("waiting until %s: %w", what, err)
		case met:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited in vain until %s: %w", what, context.Cause(ctx))
		case <-news:
		}
	}
}

func (r *Recorder) ask(holds func(World) bool) (news <-chan struct{}, met bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.fault == nil && holds(r.now), r.fault
}

// Fence returns a revision that lies at or after the call and up to which the recording is complete.
//
// Each kind is listed, and the recording waited for until it shows at least what the list does: the events of a kind come
// in order, so that all up to the list's have come then. It cannot tell of an object that came and went in the few
// milliseconds that a watch is behind a list.
func (r *Recorder) Fence(ctx context.Context) (Revision, error) {
	var fence Revision
	for _, kind := range kinds {
		list, err := r.client.Resource(kind.resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, fmt.Errorf("%s cannot be listed to fence the recording: %w", kind.resource.Resource, err)
		}
		revision, err := parseRevision(list.GetResourceVersion())
		if err != nil {
			return 0, err
		}
		listed, err := kind.decodeAll(list)
		if err != nil {
			return 0, err
		}
		what := fmt.Sprintf("the recording of %s has come to revision %d", kind.resource.Resource, revision)
		if err := r.Await(ctx, what, func(World) bool { return r.hasReached(kind, listed, revision) }); err != nil {
			return 0, err
		}
		fence = max(fence, revision)
	}
	return fence, nil
}

// hasReached tells whether the recording of a kind shows everything that was listed at revision. Others must not write to
// the recorder meanwhile.
func (r *Recorder) hasReached(kind kind, listed []Object, revision Revision) bool {
	present := map[types.UID]bool{}
	for _, object := range listed {
		present[object.GetUID()] = true
		if r.latest[object.GetUID()] < RevisionOf(object) {
			return false
		}
	}
	for _, object := range kind.of(r.now) {
		if !present[object.GetUID()] && RevisionOf(object) <= revision {
			return false // it is gone, and its deletion is still on its way to us
		}
	}
	return true
}

// Recording is what has been recorded so far, ordered. Fence says up to where it is complete.
func (r *Recorder) Recording() (Recording, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return Recording{}, r.fault
	}
	ordered := slices.SortedFunc(slices.Values(r.events), func(a, b Event) int { return cmp.Compare(a.Revision, b.Revision) })
	whole := Recording{start: r.start, events: ordered}
	return whole.Between(r.from, Revision(^uint64(0)>>1)), nil
}

// RevisionOf is the revision of the write that made the object what it is.
func RevisionOf(object Object) Revision {
	revision, _ := parseRevision(object.GetResourceVersion())
	return revision
}

func parseRevision(version string) (Revision, error) {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q does not order anything: %w", version, err)
	}
	return Revision(revision), nil
}

// decode turns what the dynamic client answers into an object of the kind.
func (k kind) decode(raw *unstructured.Unstructured) (Object, error) {
	object := k.new()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, object); err != nil {
		return nil, fmt.Errorf("%s %s cannot be decoded: %w", k.resource.Resource, raw.GetName(), err)
	}
	object.SetManagedFields(nil)
	return object, nil
}

func (k kind) decodeAll(list *unstructured.UnstructuredList) ([]Object, error) {
	objects := make([]Object, len(list.Items))
	for i := range list.Items {
		object, err := k.decode(&list.Items[i])
		if err != nil {
			return nil, err
		}
		objects[i] = object
	}
	return objects, nil
}
