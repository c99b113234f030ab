// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// History is what is still told of a pool's past rotations, the oldest first.
type History struct {
	At   *metav1.Time `json:"at"`
	Pool string       `json:"nodePool"`
	// Reach is the time of the oldest Event that is still kept of the pool; nil when there is none.
	Reach  *metav1.Time `json:"eventsReachBackTo,omitempty"`
	Past   []Happening  `json:"past"`
	Denied []string     `json:"denied,omitempty"`

	now  time.Time
	zone *time.Location
}

// Happening is one thing that happened.
type Happening struct {
	At *metav1.Time `json:"at"`
	// What is the reason of an Event, or the key of an annotation.
	What      string `json:"what"`
	NodeClaim string `json:"nodeClaim,omitempty"`
	Message   string `json:"message"`
	// Source is Event or annotation.
	Source string `json:"source"`
	// Times it was told, and the last of them; of what was told once neither.
	Times int32        `json:"times,omitempty"`
	Last  *metav1.Time `json:"last,omitempty"`
}

// The sources of what is told.
const (
	fromEvent      = "Event"
	fromAnnotation = "annotation"
)

// History reads what the Events of the controller and the annotations of the pool and its claims tell.
func (i *Inspector) History(ctx context.Context, pool string) (*History, error) {
	pools, err := i.named(ctx, pool)
	if err != nil {
		return nil, err
	}
	l := i.look(pool)
	s, err := l.snapshot(ctx, &pools[0])
	if err != nil {
		return nil, err
	}
	events, err := l.events(ctx)
	if err != nil {
		return nil, err
	}
	h := &History{At: stamp(i.Now), Pool: pool, Past: []Happening{}, now: i.Now, zone: zoneOf(i.Now, s.Governance.Windows)}
	for n := range events {
		told, is := happeningOf(&events[n], pool)
		if !is {
			continue
		}
		if h.Reach == nil || told.At.Before(h.Reach) {
			h.Reach = told.At
		}
		if !isFinding(told.What) {
			h.Past = append(h.Past, told)
		}
	}
	h.Past = append(h.Past, annotated(s)...)
	slices.SortStableFunc(h.Past, earlier)
	h.Denied = l.denied()
	return h, nil
}

// isFinding tells whether an Event is about a policy and no rotation: status has what still is so of those.
func isFinding(reason string) bool {
	return slices.ContainsFunc(rotation.Rules(), func(r rotation.Rule) bool { return r.Code == reason })
}

func earlier(a, b Happening) int {
	return cmp.Or(a.At.Compare(b.At.Time), cmp.Compare(a.What, b.What), cmp.Compare(a.NodeClaim, b.NodeClaim))
}

// events lists what the controller has told of objects that live in no namespace: such Events stand in "default".
func (l *look) events(ctx context.Context) ([]corev1.Event, error) {
	return l.live.Events(ctx, client.InNamespace(metav1.NamespaceDefault), client.MatchingFields{"reportingComponent": controller.LeaseName})
}

// happeningOf reads an Event; the second result is false for one of another pool. An Event is about a pool or a claim, and
// names the other one beside it.
func happeningOf(event *corev1.Event, pool string) (Happening, bool) {
	about := []corev1.ObjectReference{event.InvolvedObject}
	if event.Related != nil {
		about = append(about, *event.Related)
	}
	told := Happening{What: event.Reason, Message: event.Message, Source: fromEvent, At: firstTold(event)}
	ours := false
	for _, object := range about {
		switch object.Kind {
		case "NodePool":
			ours = ours || object.Name == pool
		case "NodeClaim":
			told.NodeClaim = object.Name
		}
	}
	switch {
	case event.Series != nil && event.Series.Count > 1:
		told.Times, told.Last = event.Series.Count, stamp(event.Series.LastObservedTime.Time)
	case event.Count > 1:
		told.Times, told.Last = event.Count, stamp(event.LastTimestamp.Time)
	}
	return told, ours
}

// firstTold is when an Event was first told.
func firstTold(event *corev1.Event) *metav1.Time {
	for _, t := range []time.Time{event.EventTime.Time, event.FirstTimestamp.Time} {
		if !t.IsZero() {
			return stamp(t)
		}
	}
	return &event.CreationTimestamp
}

// annotated is what the annotations tell. They outlive the Events, and have only the last of each.
func annotated(s rotation.Snapshot) []Happening {
	var all []Happening
	add := func(annotations map[string]string, key, claim, message string) {
		if t := rotation.ParseStamp(annotations, key); t.Readable {
			all = append(all, Happening{At: stamp(t.At), What: key, NodeClaim: claim, Message: message, Source: fromAnnotation})
		}
	}
	pool := s.Pool.Annotations
	add(pool, rotation.KeyLastRotationAt, "", "the last rotation that succeeded ended")
	add(pool, rotation.KeyLastFailureAt, "", "the last attempt that failed ended")
	add(pool, rotation.KeyDrainingAt, s.Anchor(), "the drain of the rotation that is under way began")
	for _, c := range s.Claims {
		failures, _ := c.RetryCount()
		add(c.Annotations, rotation.KeyStartedAt, c.Name, "the attempt that is under way began")
		add(c.Annotations, rotation.KeyFailedAt, c.Name, fmt.Sprintf("the last attempt failed; failures so far: %d", failures))
		add(c.Annotations, rotation.KeyReleasedAt, c.Name, "its rotation was let go")
	}
	return all
}

// Text is a list, the oldest first, and how far back it reaches.
func (h *History) Text(wide bool) string {
	var b block
	if len(h.Past) > 0 {
		h.list(&b, wide)
		b.gap()
		paragraph(&b.Builder, "", fmt.Sprintf("Times are those of %s.", h.zone))
	}
	switch {
	case h.Reach != nil:
		paragraph(&b.Builder, "", fmt.Sprintf("The Events of NodePool %s reach back to %s, %s.", h.Pool, at(h.Reach.In(h.zone)), in(h.now, h.Reach.Time)))
	default:
		paragraph(&b.Builder, "", fmt.Sprintf("No Event of NodePool %s is kept.", h.Pool))
	}
	paragraph(&b.Builder, "", "The API server drops an Event after an hour, unless it is told otherwise; annotations have only the last of each.")
	denied(&b, h.Denied)
	return b.String()
}

func (h *History) list(b *block, wide bool) {
	const when, clock = 25, "Mon 2006-01-02 15:04:05"
	what := 0
	for _, p := range h.Past {
		what = max(what, len(p.title())+columnGap)
	}
	b.WriteString(padded("WHEN", when) + padded("WHAT", what) + "TOLD\n")
	for _, p := range h.Past {
		head, told := padded(p.At.In(h.zone).Format(clock), when)+padded(p.title(), what), p.Message
		if p.Source == fromAnnotation && p.NodeClaim != "" {
			told = "NodeClaim " + p.NodeClaim + ": " + told
		}
		if p.Times > 1 {
			told += fmt.Sprintf(" (told %d times, the last %s)", p.Times, in(h.now, p.Last.Time))
		}
		if wide {
			b.WriteString(head + told + "\n")
		} else {
			paragraph(&b.Builder, head, told)
		}
	}
}

// title is what a list calls it: annotations without what all of ours begin with.
func (h Happening) title() string { return strings.TrimPrefix(h.What, "noderotation.io/") }
