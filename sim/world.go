// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Config is what a world is made of.
type Config struct {
	// Start is when the world begins.
	Start time.Time
	// Seed of every chance.
	Seed uint64
	// Machine runs the table.
	Machine *controller.Machine
	// Settings of the placeholder.
	Settings rotation.Settings
	// Controller says how the controller runs.
	Controller Process
	// Karpenter says how fast and how able Karpenter and the cloud behind it are.
	Karpenter Karpenter
	// Workloads keep their Pods running.
	Workloads []Workload
	// Daemons have a Pod on every node that they are for.
	Daemons []Daemon
	// Script is what happens to the world from outside.
	Script []Happening
	// Trace takes down what happens; nil for nothing.
	Trace *Trace
	// Seen, where set, is told of every change of the cluster.
	Seen func(cluster.Change)
	// Passed, where set, is told of every pass that was made, and how many things were announced in it.
	Passed func(pass controller.Pass, told int)
}

// World is a cluster, those who act in it, and the time. It is used by one goroutine.
type World struct {
	*cluster.Cluster

	config    *Config
	now       time.Time
	queue     queue
	control   *process
	shortages shortages
	// slow is how long every Pod takes to end while an operator has slowed workloads down.
	slow time.Duration
	// dry is the zone that an operator has taken the capacity out of, and held by how much every launch is held up.
	dry  string
	held time.Duration
	// strand is how many launches to come never register, and failing is true while the cloud answers them with errors.
	strand  int
	failing bool
	// affinities are those of Pods that were looked at lately, ready for matching: a cache, no state.
	affinities map[*corev1.Affinity]*affinity
	rooms      rooms
	news       news
	disruption disruption
	crews      map[cluster.Key]*crew
	daemons    []daemon
}

// New is a world with these objects in it, its controller about to start. They become the world's: the caller leaves them
// alone from then on. The error names an object that cannot be placed.
func New(config Config, objects ...client.Object) (*World, error) {
	config = config.withDefaults()
	w := &World{config: &config, now: config.Start.UTC(), crews: crewsOf(config.Workloads), news: newNews(), rooms: rooms{berths: map[string][]berth{}}}
	w.daemons = w.daemonsOf(config.Daemons)
	w.Cluster = cluster.New(w, indexes())
	w.PriorityClasses = map[string]cluster.PriorityClass{
		config.Settings.PriorityClass: {Value: placeholderPriority, PreemptionPolicy: corev1.PreemptNever},
		daemonClass:                   {Value: daemonPriority},
	}
	w.Changed = w.changed
	for i, h := range config.Script {
		w.queue.add(Move{Verb: followScript, On: cluster.Key{Name: fmt.Sprint(i)}}, h.At)
	}
	if !config.Controller.Absent {
		w.call(Move{Verb: startController})
	}
	own(objects)
	if err := w.Place(objects...); err != nil {
		return nil, err
	}
	for i := range config.Workloads {
		w.call(Move{Verb: fillWorkload, On: config.Workloads[i].key()})
	}
	return w, nil
}

// placeholderPriority is that of the placeholder's class in the chart; daemonPriority is system-node-critical's.
const (
	placeholderPriority = -1000
	daemonPriority      = 2000001000
	daemonClass         = "system-node-critical"
)

// Now is the world's time.
func (w *World) Now() time.Time { return w.now }

// Since is how long ago t was in the world's time.
func (w *World) Since(t time.Time) time.Duration { return w.now.Sub(t) }

// RunUntil makes every move that is due by then, and leaves the world at that time.
func (w *World) RunUntil(until time.Time) {
	for w.Step(until) {
	}
	w.now = until.UTC()
}

// Run lets so much time pass.
func (w *World) Run(d time.Duration) { w.RunUntil(w.now.Add(d)) }

// Step makes the next move if one is due by then; the result is false if none is.
func (w *World) Step(by time.Time) bool {
	next, due := w.queue.pop(by)
	if !due {
		return false
	}
	if next.At.After(w.now) {
		w.now = next.At.UTC()
	}
	w.make(next)
	return true
}

// call asks for a move at the present instant, once.
func (w *World) call(move Move) { w.queue.once(move, w.now) }

// later asks for a move after a delay.
func (w *World) later(move Move, delay time.Duration) { w.queue.add(move, w.now.Add(delay)) }

// make makes one move. What it is done to may be gone by now: every actor looks before it acts.
func (w *World) make(due Due) {
	switch move := due.Move; move.Verb {
	case timedPass, pass:
		w.control.come(move.On.Name, move.Verb == timedPass, due.At)
	case showChange:
		w.control.showNext()
	case startController:
		w.StartController()
	case stopController:
		w.StopController()
	case schedule:
		w.schedule()
	case runPod:
		w.runPod(move)
	case endPod:
		w.endPod(move)
	case fillWorkload:
		w.fillWorkload(move.On)
	case fillDaemons:
		w.fillDaemons(move.On.Name)
	case countBudget:
		w.countBudget(move.On)
	case collect:
		w.collect(move)
	case followScript:
		w.followScript(move.On.Name)
	default:
		w.makeKarpenters(move)
	}
}

func (w *World) makeKarpenters(move Move) {
	switch move.Verb {
	case provision:
		w.provision()
	case launch:
		w.launch(move)
	case register:
		w.register(move)
	case initialize:
		w.initialize(move)
	case giveUp:
		w.giveUp(move)
	case expire:
		w.expire(move)
	case terminate:
		w.terminate(move)
	case drain:
		w.drain(move.On.Name)
	case finishNode:
		w.finishNode(move)
	case countPool:
		w.countPool(move.On.Name)
	case disrupt:
		w.disrupt()
	case conclude:
		w.conclude()
	default:
		panic(fmt.Sprintf("sim: nobody makes move %d", move.Verb))
	}
}

// changed tells everybody of a change whom it concerns.
func (w *World) changed(c cluster.Change) {
	w.note(c)
	w.furnish(c)
	if w.control != nil {
		w.control.notice(c)
	}
	switch c.Kind {
	case cluster.Pod:
		before, _ := c.Before.(*corev1.Pod)
		after, _ := c.After.(*corev1.Pod)
		w.podChanged(before, after)
	case cluster.Node:
		before, _ := c.Before.(*corev1.Node)
		after, _ := c.After.(*corev1.Node)
		w.nodeChanged(before, after)
	case cluster.NodeClaim:
		before, _ := c.Before.(*karpenterv1.NodeClaim)
		after, _ := c.After.(*karpenterv1.NodeClaim)
		w.claimChanged(before, after)
	case cluster.NodePool:
		before, _ := c.Before.(*karpenterv1.NodePool)
		after, _ := c.After.(*karpenterv1.NodePool)
		w.poolChanged(before, after)
	case cluster.Budget:
		before, _ := c.Before.(*policyv1.PodDisruptionBudget)
		after, _ := c.After.(*policyv1.PodDisruptionBudget)
		w.budgetChanged(before, after)
	default:
	}
	w.stir(c)
	if w.config.Seen != nil {
		w.config.Seen(c)
	}
}

// podChanged wakes the scheduler, the kubelet, the Pod's owner, its budgets, and whoever drains its node.
//
//nolint:gocognit // one line for each that is woken
func (w *World) podChanged(before, after *corev1.Pod) {
	pod := after
	if pod == nil {
		pod = before
	}
	if crew := w.workloadOf(pod); crew != nil {
		crew.count(before, after)
	}
	began := after != nil && after.DeletionTimestamp != nil && (before == nil || before.DeletionTimestamp == nil)
	freed := after == nil || (before != nil && before.Spec.NodeName != after.Spec.NodeName)
	bound := after != nil && after.Spec.NodeName != "" && (before == nil || before.Spec.NodeName == "")
	if freed || (after != nil && after.Spec.NodeName == "" && before == nil) {
		w.call(Move{Verb: schedule})
	}
	switch {
	case bound && after.Status.Phase == corev1.PodPending:
		w.later(Move{runPod, cluster.KeyOf(after), after.UID}, w.startup(after))
	case after != nil && after.Spec.NodeName == "" && unschedulable(after) && (before == nil || !unschedulable(before)):
		w.later(Move{Verb: provision}, w.config.Karpenter.Batch)
	}
	if began {
		w.later(Move{endPod, cluster.KeyOf(after), after.UID}, w.ending(after))
	}
	if after == nil || began {
		w.ownerCalled(pod)
	}
	if before == nil || after == nil || began || podReady(before) != podReady(after) {
		w.budgetsCalled(pod)
	}
	if node := pod.Spec.NodeName; node != "" && (after == nil || began) {
		w.podLeft(node)
	}
}

// nodeChanged wakes the scheduler, the daemon sets, and Karpenter.
func (w *World) nodeChanged(before, after *corev1.Node) {
	if after == nil {
		w.call(Move{Verb: schedule})
		return
	}
	w.call(Move{Verb: schedule})
	if cordoned := hasTaint(after, taintUnschedulable); cordoned != after.Spec.Unschedulable {
		w.markCordon(after)
		return
	}
	if before == nil {
		w.call(Move{Verb: fillDaemons, On: cluster.KeyOf(after)})
	}
	if after.DeletionTimestamp != nil && (before == nil || before.DeletionTimestamp == nil) {
		w.nodeDeleted(after)
	}
}

// markCordon is the node lifecycle controller's: a cordoned Node is tainted so.
func (w *World) markCordon(node *corev1.Node) {
	cluster.Edit(w.Cluster, node, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == taintUnschedulable })
		if n.Spec.Unschedulable {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: taintUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
	})
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// drawn is a number from 0 up to n that depends on the seed and on what it is drawn for alone.
func (w *World) drawn(n uint64, what ...string) uint64 {
	if n == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, w.config.Seed)
	for _, part := range what {
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(part))
	}
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x % n
}

// Delay is how long something takes: at least Base, and up to Spread longer by chance.
type Delay struct{ Base, Spread time.Duration }

func (w *World) delay(d Delay, what ...string) time.Duration {
	return d.Base + time.Duration(w.drawn(uint64(d.Spread/time.Second)+1, what...))*time.Second
}

// Indexes that the product registers with its cache, by the names that it gives them, and those of the actors.
const (
	byPool     = "noderotation/pool"
	byNode     = "noderotation/node"
	unbound    = "<unbound>"
	byClaimed  = "sim/claimed-node"
	byDeletion = "sim/deletion"
	deleting   = "deleting"
)

func indexes() []cluster.Index {
	all := []cluster.Index{
		{Of: cluster.Node, Field: byDeletion, Extract: ifDeleting},
		{Of: cluster.NodeClaim, Field: byClaimed, Extract: claimedNode},
	}
	for _, i := range controller.Indexes() {
		kind, err := cluster.KindOf(i.Object)
		if err != nil {
			panic(err)
		}
		all = append(all, cluster.Index{Of: kind, Field: i.Field, Extract: i.Extract})
	}
	return all
}

func ifDeleting(o client.Object) []string {
	if o.GetDeletionTimestamp() == nil {
		return nil
	}
	return []string{deleting}
}

func claimedNode(o client.Object) []string {
	if claim, ok := o.(*karpenterv1.NodeClaim); ok && claim.Status.NodeName != "" {
		return []string{claim.Status.NodeName}
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.Karpenter = c.Karpenter.withDefaults()
	if c.Settings.Namespace == "" {
		c.Settings = rotation.Settings{
			Namespace: "noderotation", PauseImage: "registry.k8s.io/pause:3.10", PriorityClass: "noderotation-placeholder",
		}
	}
	return c
}
