// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Process says how the controller runs.
type Process struct {
	// Absent is true where the world has no controller until one is started.
	Absent bool
	// Lag is how long the cache takes to show a change.
	Lag time.Duration
	// Skip leaves out passes that cannot differ from the one before: nothing that the pool's snapshot is made of has
	// changed, and no verdict's time has come. The trace is the same with and without.
	Skip bool
	// Writes, where set, stands between the controller and the API server: it may refuse a write, or lose its answer.
	Writes func(client.Client) client.Client
	// Shown says where what it shows to people goes.
	Shown Shown
}

// process is the controller while it runs: the product's own parts put together as its manager does, and a work queue.
type process struct {
	world      *World
	ctx        context.Context
	reconciler *controller.Reconciler
	watches    [][]controller.Watch
	cache      *cluster.View
	// unseen are the changes that the cache does not show yet, oldest first.
	unseen []cluster.Change
	pools  map[string]*turn
	// anchored are the pools with a rotation in flight, as far as the cache shows.
	anchored map[string]bool

	// last is what the witness saw of the pass in hand, and told counts what was announced in it.
	last    controller.Pass
	lastErr error
	told    int
}

// turn is when a pool is next looked at: an entry of the work queue.
type turn struct {
	at  time.Time
	due bool
	// timed is true of an entry that came due by itself: what else stands in the queue for that instant is not it.
	timed    bool
	failures int
	// asleep is true while passes are left out that would have been made every step since base.
	asleep bool
	base   time.Time
	step   time.Duration
	// subject is true where the pass had a claim to look at more closely, and so at Pods.
	subject bool
}

// StartController starts the controller: its cache fills, it becomes the leader, sweeps, and looks at every pool.
func (w *World) StartController() {
	if w.control != nil {
		return
	}
	w.tell("controller", "starts")
	p := &process{world: w, ctx: log.IntoContext(context.Background(), logr.Discard()), pools: map[string]*turn{}, anchored: map[string]bool{}, cache: w.View}
	if w.config.Controller.Lag > 0 {
		p.cache = w.View.Clone()
	}
	for _, pool := range p.cache.NodePools() {
		p.follow(pool)
	}
	p.assemble()
	w.control = p
	p.began()
	err := p.reconciler.Sweep.Everything(p.ctx)
	p.ended("sweep", err)
	p.reconciler.Gate.Open()
	for _, pool := range w.NodePools() {
		p.wake(pool.Name)
	}
}

// StopController ends the process between two passes; what it remembers is lost.
func (w *World) StopController() {
	if w.control != nil {
		w.tell("controller", "stops")
		w.control = nil
	}
}

func (p *process) assemble() {
	w := p.world
	var writes client.Client = &traced{Client: cluster.NewClient(w.Cluster, p.cache, nil), world: w}
	if wrap := w.config.Controller.Writes; wrap != nil {
		writes = wrap(writes)
	}
	metrics, err := controller.NewMetrics(w.config.Controller.Shown.registry())
	if err != nil {
		panic(err)
	}
	announcer := controller.NewAnnouncer(p, metrics)
	own := controller.NewOwnWrites()
	applier := &controller.Applier{Client: writes, Own: own, Teller: announcer, Clock: w, Term: controller.DefaultTerm}
	p.reconciler = &controller.Reconciler{
		Reader:  &controller.Reader{Cache: p.cache, Policies: controller.NewPolicies(p.cache), Settings: w.config.Settings},
		Machine: w.config.Machine, Applier: applier, Own: own, Announcer: announcer, Clock: w, Gate: controller.NewGate(),
		Sweep:   &controller.Sweep{Cache: p.cache, Live: w.View, Applier: applier, Clock: w, Settings: w.config.Settings},
		Board:   w.config.Controller.Shown.Board,
		Witness: func(pass controller.Pass, err error) { p.last, p.lastErr = pass, err },
	}
	for _, watch := range p.reconciler.Watches() {
		kind, err := cluster.KindOf(watch.Object)
		if err != nil {
			panic(err)
		}
		for len(p.watches) <= int(kind) {
			p.watches = append(p.watches, nil)
		}
		p.watches[kind] = append(p.watches[kind], watch)
	}
}

// notice is told of every change of the cluster.
func (p *process) notice(c cluster.Change) {
	if lag := p.world.config.Controller.Lag; lag > 0 {
		p.unseen = append(p.unseen, c)
		p.world.later(Move{Verb: showChange}, lag)
		return
	}
	p.show(c)
}

// showNext has the cache show the oldest change that it does not show yet.
func (p *process) showNext() {
	if p == nil || len(p.unseen) == 0 {
		return
	}
	next := p.unseen[0]
	p.unseen = p.unseen[1:]
	p.cache.Apply(next)
	p.show(next)
}

// show wakes the pools that a change in the cache concerns, by the product's own watches.
func (p *process) show(c cluster.Change) {
	p.disturb(c)
	if int(c.Kind) >= len(p.watches) {
		return
	}
	for _, watch := range p.watches[c.Kind] {
		if !matters(watch, c) {
			continue
		}
		for _, object := range []client.Object{c.Before, c.After} {
			if object == nil {
				continue
			}
			for _, request := range watch.Pools(p.ctx, object) {
				if c.After == nil && watch.Rest > 0 {
					p.again(request.Name, p.world.now.Add(watch.Rest))
				} else {
					p.wake(request.Name)
				}
			}
		}
	}
}

func matters(watch controller.Watch, c cluster.Change) bool {
	for _, predicate := range watch.Matters {
		var through bool
		switch {
		case c.Before == nil:
			through = predicate.Create(event.CreateEvent{Object: c.After})
		case c.After == nil:
			through = predicate.Delete(event.DeleteEvent{Object: c.Before})
		default:
			through = predicate.Update(event.UpdateEvent{ObjectOld: c.Before, ObjectNew: c.After})
		}
		if !through {
			return false
		}
	}
	return true
}

func (p *process) turnOf(pool string) *turn {
	t := p.pools[pool]
	if t == nil {
		t = &turn{}
		p.pools[pool] = t
	}
	return t
}

// wake puts the pool in the work queue for now.
func (p *process) wake(pool string) {
	t := p.turnOf(pool)
	if t.due && !t.at.After(p.world.now) {
		return
	}
	t.due, t.timed, t.at, t.asleep = true, false, p.world.now, false
	p.world.call(Move{Verb: pass, On: cluster.Key{Name: pool}})
}

// again puts the pool in the work queue for later, unless it is there for an earlier time.
func (p *process) again(pool string, at time.Time) {
	t := p.turnOf(pool)
	if t.due && !t.at.After(at) {
		return
	}
	t.due, t.timed, t.at = true, true, at
	p.world.queue.add(Move{Verb: timedPass, On: cluster.Key{Name: pool}}, at)
}

// come makes the pool's pass, if it is its turn: an entry that a later or an earlier one has replaced is let go.
func (p *process) come(pool string, timed bool, at time.Time) {
	if p == nil {
		return
	}
	t := p.turnOf(pool)
	if !t.due || t.timed != timed || !t.at.Equal(at) {
		return
	}
	t.due, t.asleep = false, false
	p.began()
	result, err := p.reconciler.Reconcile(p.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: pool}})
	p.ended(pool, p.lastErr)
	p.requeue(pool, t, result, err)
}

// requeue does what controller-runtime's work queue does with a pass's result.
func (p *process) requeue(pool string, t *turn, result ctrl.Result, err error) {
	now := p.world.now
	if err != nil {
		wait := min(controller.FirstRetry<<min(t.failures, 20), controller.LongestRetry)
		t.failures++
		p.again(pool, now.Add(wait))
		return
	}
	t.failures = 0
	if result.RequeueAfter <= 0 {
		return
	}
	at := now.Add(result.RequeueAfter)
	if p.world.config.Controller.Skip && p.quiet() {
		if far := p.sleeps(result.RequeueAfter); far.After(at) {
			at = far
			t.asleep, t.base, t.step = true, now, result.RequeueAfter
			t.subject = p.last.Snapshot.SubjectName() != ""
		}
	}
	p.again(pool, at)
}

// quiet is true of a pass that did nothing, and would do nothing again.
func (p *process) quiet() bool {
	return p.lastErr == nil && p.last.Writes == 0 && p.told == 0 && p.last.Decision.Row != nil && p.last.Wake == p.last.Decision.Row.Requeue
}

// sleeps is the first moment at which a pass could differ though nothing changes: a verdict's; or that of the first pass
// after another claim can have become the candidate, or after midnight, when the windows are surveyed anew.
func (p *process) sleeps(step time.Duration) time.Time {
	now := p.world.now
	least := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
	if next := p.last.Snapshot.Selection.Next; next.After(now) && next.Before(least) {
		least = next
	}
	until := now.Add((least.Sub(now) + step - 1) / step * step) //nolint:durationcheck // rounded up to whole steps
	if lasts, known := p.last.Decision.Lasts(now); known && now.Add(lasts).Before(until) {
		until = now.Add(lasts)
		if past := lasts % step; past < lasts && past < machine.ShortestWake {
			until = until.Add(-past) // the pass right before it would have been made, and wakes by the shortest time
		}
	}
	return until
}

// disturb ends the sleep of every pool whose snapshot may be made of the changed object. What matters to the watches
// wakes the pool anyway; what does not is noticed by the next pass that would have been made.
func (p *process) disturb(c cluster.Change) {
	if !p.world.config.Controller.Skip {
		return
	}
	switch c.Kind {
	case cluster.NodePool:
		pool, _ := c.Object().(*karpenterv1.NodePool)
		p.follow(pool)
		p.rouse(pool.Name)
	case cluster.NodeClaim, cluster.Node:
		p.rouse(c.Object().GetLabels()[rotation.LabelNodePool])
	case cluster.Pod:
		pod, _ := c.Object().(*corev1.Pod)
		if pod.Spec.NodeName != "" {
			if node := p.cache.Node(pod.Spec.NodeName); node != nil {
				if pool := node.Labels[rotation.LabelNodePool]; p.turnOf(pool).subject {
					p.rouse(pool)
				}
			}
		}
		before, was := c.Before.(*corev1.Pod)
		if pod.Spec.NodeName != "" && (!was || before.Spec.NodeName != "") {
			return
		}
		if pool, bound := poolOfPod(pod); bound { // it can have induced no other pool's claim
			p.rouse(pool)
		} else {
			p.rouseAnchored()
		}
	case cluster.Budget:
		p.rouseAnchored()
	default:
	}
}

// rouseAnchored rouses the pools with a rotation in flight: only they look at unbound Pods and at budgets.
func (p *process) rouseAnchored() {
	for name := range p.anchored {
		p.rouse(name)
	}
}

// follow keeps track of a pool's anchor.
func (p *process) follow(pool *karpenterv1.NodePool) {
	if pool.Annotations[rotation.KeyActiveRotation] != "" {
		p.anchored[pool.Name] = true
	} else {
		delete(p.anchored, pool.Name)
	}
}

func (p *process) rouse(pool string) {
	t := p.pools[pool]
	if t == nil || !t.asleep {
		return
	}
	t.asleep = false
	steps := p.world.now.Sub(t.base)/t.step + 1
	p.again(pool, t.base.Add(steps*t.step)) //nolint:durationcheck // a count of steps
}

// Eventf takes the announcer's Events.
func (p *process) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	p.told++
	p.world.announced(regarding, reason, note, args...)
}
