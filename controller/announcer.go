// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// EventSink takes Events (events.k8s.io/v1). It must not block: client-go's recorder queues what it is given.
type EventSink interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Announcer tells people what happens: Events, metrics and log lines (§4.2). Nothing that goes wrong in the telling
// reaches the pass that asked for it. Safe for concurrent use.
//
// What is told once is told once per process. The table places a count after the durable write that makes it true or,
// where the outcome would else be lost with the anchor, before the one that ends it; a retried pass is recognized here
// and counts nothing twice. So a crash can lose a failure, and can double a success, an expiry and a fallback; none of it
// touches a rotation (§5.2, observability skews). A new leader tells the conditions that it finds once more.
type Announcer struct {
	sink    EventSink
	metrics *Metrics

	mu    sync.Mutex
	pools map[string]*poolMemory
}

var _ Teller = (*Announcer)(nil)

// NewAnnouncer tells through recorder and metrics.
func NewAnnouncer(recorder EventSink, metrics *Metrics) *Announcer {
	return &Announcer{sink: recorder, metrics: metrics, pools: map[string]*poolMemory{}}
}

// Announce delivers what an effect tells, at its place between the writes of a pass: a count, a duration, an Event or a
// log line once per pool, claim, attempt and content, a condition when it begins.
func (a *Announcer) Announce(ctx context.Context, told effects.Announce) {
	if !a.isNews(told) {
		return
	}
	switch logger := log.FromContext(ctx).WithValues("pool", told.Pool, "claim", told.Claim); {
	case told.Condition:
		logger.Info(told.Message, "reason", told.Reason)
	case told.Reason == "" && told.Message != "":
		logger.Info(told.Message)
	}
	a.event(ctx, told, "")
}

func (a *Announcer) isNews(told effects.Announce) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	memory := a.remember(told.Pool)
	if told.Condition {
		return memory.begin(conditionKey{reason: told.Reason, kind: told.Target.Kind, name: told.Target.Name}, true)
	}
	if !memory.deliver(told) {
		return false
	}
	if counts(told) {
		memory.counted = true
		a.metrics.count(told)
	}
	return true
}

// Observation is a completed pass, as far as it is shown.
type Observation struct {
	// Snapshot that the pass began with, its feasibility and selection concluded.
	Snapshot *rotation.Snapshot
	// Decision that was carried out.
	Decision machine.Decision
	// Writes is the number of requests that changed something.
	Writes int
}

// changed tells whether the pass got the rotation anywhere: it wrote something, or its row leaves the state. What only
// waits or rests is neither logged nor counted.
func (o *Observation) changed() bool {
	row := o.Decision.Row
	return row != nil && (o.Writes > 0 || row.Leaves(o.Decision.State))
}

// obstacle is the guard that keeps the pool from starting a rotation; empty while one is in flight.
func obstacle(d machine.Decision) string {
	if d.State != rotation.StateIdle {
		return ""
	}
	_, c, _ := d.Obstacle()
	return c.Guard
}

// mostBegunAtOnce bounds the conditions that one pass begins to tell; the others have their turn in the next passes.
// The recorder drops what exceeds a thousand queued Events, and a pool may have hundreds of claims with a short lead.
const mostBegunAtOnce = 50

// Observe ends a completed pass: it counts the transition, sets the pool's gauges, tells the conditions that have begun,
// and ends those that neither the snapshot nor an effect of the pass has repeated.
//
// A pool that no policy governs loses its series and its memory, but for what still concerns it: a tie, an Invalid policy,
// and a rotation that is yet to be taken back.
func (a *Announcer) Observe(ctx context.Context, pass Observation) {
	begun, ended := a.observe(&pass)
	pool := pass.Snapshot.Pool.Name
	for _, c := range begun {
		told := c.announce(pool)
		log.FromContext(ctx).Info(told.Message, "pool", pool, "claim", told.Claim, "reason", told.Reason)
		a.event(ctx, told, c.annotation)
	}
	for _, key := range ended {
		log.FromContext(ctx).V(1).Info("a condition has ended", "pool", pool, "reason", key.reason,
			"kind", key.kind, "name", key.name, "annotation", key.annotation)
	}
}

func (a *Announcer) observe(pass *Observation) (begun []condition, ended []conditionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := pass.Snapshot
	pool := s.Pool.Name
	memory := a.remember(pool)

	var now tally
	for _, c := range conditions(s) {
		now.count(c.reason)
		if len(begun) == mostBegunAtOnce && !memory.stands(c.conditionKey) {
			continue
		}
		if memory.begin(c.conditionKey, true) {
			begun = append(begun, c)
		}
	}
	ended = memory.endPass()
	now.drainStuck = memory.stands(conditionKey{reason: effects.ReasonDrainStuck, kind: kindOfPool, name: pool})

	a.show(memory, pass, now)
	return begun, ended
}

// show brings the series of the pool to what the pass saw, and forgets a pool that is nobody's business any more.
func (a *Announcer) show(memory *poolMemory, pass *Observation, now tally) {
	s, state := pass.Snapshot, pass.Decision.State
	pool := s.Pool.Name
	governed := s.Governance.Policy != nil
	switch {
	case governed && !memory.counted:
		a.metrics.begin(pool)
	case !governed && memory.counted:
		a.metrics.end(pool)
	}
	memory.counted = governed
	guard, windowOpen := "", false
	if governed {
		guard = obstacle(pass.Decision)
		var missed bool
		if windowOpen, missed = memory.window.follow(s); missed {
			a.metrics.missed.WithLabelValues(pool).Inc()
		}
		if pass.changed() {
			a.metrics.transitions.WithLabelValues(pool, pass.Decision.Row.ID).Inc()
		}
	} else {
		memory.window = windowWatch{}
	}
	memory.gauges.show(a.metrics, pool, read(state, s, windowOpen, now))
	memory.obstacle.show(a.metrics, pool, guard)
	if !governed && !s.Governance.Conflict && len(s.Governance.Faults) == 0 && state == rotation.StateIdle {
		delete(a.pools, pool)
	}
}

// Trouble takes the place of Observe where a pass could not decide, or could not write: it is told when it begins, and
// shows as noderotation_stalled until a pass is observed again.
func (a *Announcer) Trouble(ctx context.Context, pool rotation.Object, reason, message string) {
	if !a.isNewTrouble(pool.Name, reason) {
		return
	}
	log.FromContext(ctx).Error(nil, message, "pool", pool.Name, "reason", reason)
	a.event(ctx, effects.Announce{
		Pool: pool.Name, Target: effects.Target{Kind: kindOfPool, Object: pool},
		Reason: reason, Severity: effects.Warning, Message: message, Condition: true,
	}, "")
}

func (a *Announcer) isNewTrouble(pool, reason string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	memory := a.remember(pool)
	memory.gauges.set(a.metrics, pool, gaugeStalled, 1)
	memory.obstacle.show(a.metrics, pool, "")
	return memory.begin(conditionKey{reason: reason, kind: kindOfPool, name: pool}, false)
}

// Forget drops the series and the memory of a pool that is gone.
func (a *Announcer) Forget(pool string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	memory, known := a.pools[pool]
	if !known {
		return
	}
	memory.gauges.show(a.metrics, pool, readings{})
	memory.obstacle.show(a.metrics, pool, "")
	a.metrics.end(pool)
	delete(a.pools, pool)
}

func (a *Announcer) remember(pool string) *poolMemory {
	memory, known := a.pools[pool]
	if !known {
		memory = &poolMemory{}
		a.pools[pool] = memory
	}
	return memory
}

// mostNote is the longest note that the API server accepts in an Event, in bytes; a longer one it refuses altogether.
const mostNote = 1024

// event sends the Event of what is told, if it has one. The recorder joins Events of one reason about the same objects
// into a series and keeps the first one's note. So the rotation's other object stands beside the target, and an
// annotation in the target's field path: what differs is told apart.
func (a *Announcer) event(ctx context.Context, told effects.Announce, annotation string) {
	if told.Reason == "" {
		return
	}
	defer func() {
		if fault := recover(); fault != nil {
			log.FromContext(ctx).Error(fmt.Errorf("%v", fault), "an Event could not be sent", "pool", told.Pool, "reason", told.Reason)
		}
	}()
	regarding := reference(told.Target.Kind, told.Target.Object)
	if annotation != "" {
		regarding.FieldPath = "metadata.annotations[" + annotation + "]"
	}
	var related runtime.Object
	switch {
	case told.Target.Kind == kindOfClaim:
		related = reference(kindOfPool, rotation.Object{Name: told.Pool})
	case told.Claim != "":
		related = reference(kindOfClaim, rotation.Object{Name: told.Claim})
	}
	action := "Rotate"
	if told.Condition {
		action = "Observe"
	}
	a.sink.Eventf(regarding, related, string(told.Severity), told.Reason, action, "%s", cut(told.Message, mostNote))
}

func reference(kind string, object rotation.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: KarpenterGroupVersion.String(), Kind: kind, Name: object.Name, UID: object.UID,
	}
}

// cut shortens a text to a number of bytes, between two characters, and shows that it did.
func cut(text string, most int) string {
	const ellipsis = "…"
	if len(text) <= most {
		return text
	}
	end := most - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
