// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is what a recording holds.
type Object interface {
	metav1.Object
	runtime.Object
}

// Revision orders events across all kinds: the revision of the one etcd behind the API server, which a resourceVersion
// is. Every write has one of its own.
type Revision uint64

// Event is one write: an object came, changed or went.
type Event struct {
	Revision Revision
	At       time.Time       // when the recorder saw it, a moment after the write
	Change   watch.EventType // Added, Modified or Deleted
	Before   Object          // nil for Added
	After    Object          // nil for Deleted
}

// Object is the object that the event is about, as it is or last was.
func (e Event) Object() Object {
	if e.After != nil {
		return e.After
	}
	return e.Before
}

// Recording is what happened in a span of revisions.
type Recording struct {
	start  World // before the first event
	events []Event
}

// NewRecording puts a recording together by hand, for the tests of those who judge recordings. Revisions are counted
// from 1, and Before is filled in.
func NewRecording(start []Object, events ...Event) Recording {
	r := Recording{start: newWorld()}
	for _, object := range start {
		r.start.set(object)
	}
	world := r.start.clone()
	for i, event := range events {
		event.Revision = Revision(i + 1)
		r.events = append(r.events, world.apply(event))
	}
	return r
}

// apply brings the world to the instant after event, and returns event with Before filled in.
func (w World) apply(event Event) Event {
	event.Before = w.get(event.Object())
	if event.Change == watch.Deleted {
		event.After = nil
		w.unset(event.Before)
	} else {
		w.set(event.After)
	}
	return event
}

// Events are all events in the order of their revisions.
func (r Recording) Events() []Event { return r.events }

// Replay calls visit after every event with the world as it was then. The world changes under visit's hands with the next
// event; its objects do not.
func (r Recording) Replay(visit func(Event, World)) {
	world := r.start.clone()
	for _, event := range r.events {
		if event.After == nil {
			world.unset(event.Before)
		} else {
			world.set(event.After)
		}
		visit(event, world)
	}
}

// End is the world after the last event.
func (r Recording) End() World {
	end := r.start.clone()
	r.Replay(func(_ Event, world World) { end = world })
	return end
}

// Between is the part of the recording after one revision and up to another.
func (r Recording) Between(after, upTo Revision) Recording {
	first, _ := slices.BinarySearchFunc(r.events, after+1, byRevision)
	last, _ := slices.BinarySearchFunc(r.events, upTo+1, byRevision)
	start := Recording{start: r.start, events: r.events[:first]}.End()
	return Recording{start: start, events: r.events[first:last]}
}

func byRevision(event Event, revision Revision) int { return cmp.Compare(event.Revision, revision) }
