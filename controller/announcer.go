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
// and counts nothing twice. So a crash can lose a failure and can double a success; neither touches a rotation (§5.2,
// observability skews). A new leader tells the conditions that it finds once more.
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
	Snapshot rotation.Snapshot
	// State in which the pass found the pool's rotation.
	State string
}

// mostBegunAtOnce bounds the conditions that one pass begins to tell; the others have their turn in the next passes.
// The recorder drops what exceeds a thousand queued Events, and a pool may have hundreds of claims with a short lead.
const mostBegunAtOnce = 50

// Observe ends a completed pass: it sets the pool's gauges, tells the conditions that have begun, and ends those that
// neither the snapshot nor an effect of the pass has repeated.
//
// A pool that no policy governs loses its series and its memory, but for what still concerns it: a tie, and a rotation
// that is yet to be taken back.
func (a *Announcer) Observe(ctx context.Context, pass Observation) {
	begun, ended := a.observe(pass.State, &pass.Snapshot)
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

func (a *Announcer) observe(state string, s *rotation.Snapshot) (begun []condition, ended []conditionKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pool := s.Pool.Name
	memory := a.remember(pool)

	var now tally
	for c := range conditions(s) {
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

	memory.gauges.show(a.metrics, pool, read(state, s, now))
	governed := s.Governance.Policy != nil
	switch {
	case governed && !memory.counted:
		a.metrics.begin(pool)
	case !governed && memory.counted:
		a.metrics.end(pool)
	}
	memory.counted = governed
	if !governed && !s.Governance.Conflict && state == rotation.StateIdle {
		delete(a.pools, pool)
	}
	return begun, ended
}

// Trouble takes the place of Observe where a pass could not decide, or could not write: it is told when it begins, and
// shows as noderotation_blocked until a pass is observed again.
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
	memory.gauges.set(a.metrics, pool, gaugeBlocked, 1)
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

// poolMemory is what the announcer has told of one pool: of its last claim, and of that claim's last attempt, no more.
type poolMemory struct {
	claim, attempt string
	// ofClaim holds what a claim can come to only once, ofAttempt the rest.
	ofClaim, ofAttempt map[delivery]struct{}
	// conditions that last, and whether each was repeated since the last completed pass.
	conditions map[conditionKey]bool
	gauges     poolGauges
	// counted is true while the counters and durations of the pool have series.
	counted bool
}

// delivery identifies what is told once.
type delivery struct {
	reason  string
	outcome effects.Outcome
	phase   effects.Phase
	// message of what is a log line only.
	message string
}

// deliver notes what is told; false when it was told before. A claim succeeds or expires once, whatever the attempt is
// called by then: its name changes when the claim goes, which may be between a pass and its repetition.
func (m *poolMemory) deliver(told effects.Announce) bool {
	if told.Claim != m.claim {
		m.claim, m.ofClaim = told.Claim, map[delivery]struct{}{}
		m.attempt, m.ofAttempt = "", nil
	}
	if told.Attempt != m.attempt || m.ofAttempt == nil {
		m.attempt, m.ofAttempt = told.Attempt, map[delivery]struct{}{}
	}
	key := delivery{reason: told.Reason, outcome: told.Outcome, phase: told.Phase}
	if told.Reason == "" {
		key.message = told.Message
	}
	known := m.ofAttempt
	if told.Outcome == effects.Success || told.Outcome == effects.Expired || told.Phase == effects.Drain {
		known = m.ofClaim
	}
	_, delivered := known[key]
	known[key] = struct{}{}
	return !delivered
}

// begin notes a condition; false when it lasts already. One that is not repeated ends with the next completed pass.
func (m *poolMemory) begin(key conditionKey, repeated bool) bool {
	if m.conditions == nil {
		m.conditions = map[conditionKey]bool{}
	}
	_, stood := m.conditions[key]
	m.conditions[key] = repeated
	return !stood
}

func (m *poolMemory) stands(key conditionKey) bool {
	_, stands := m.conditions[key]
	return stands
}

// endPass ends the conditions that were not repeated, so that their return is told again.
func (m *poolMemory) endPass() (ended []conditionKey) {
	for key, repeated := range m.conditions {
		if repeated {
			m.conditions[key] = false
		} else {
			delete(m.conditions, key)
			ended = append(ended, key)
		}
	}
	return ended
}
