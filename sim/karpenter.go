// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Karpenter says how Karpenter, and the cloud behind it, behave. Zero values stand for those of withDefaults.
type Karpenter struct {
	// Batch is how long pending Pods are collected before they are provisioned for.
	Batch time.Duration
	// Launch is from the claim's creation until the cloud has an instance or refuses one, Register from there until the
	// Node is there, and Initialize until it is Ready.
	Launch, Register, Initialize Delay
	// Finish is from a drained Node until its instance and its objects are gone.
	Finish Delay
	// Zones of the cloud, where a pool does not restrict them.
	Zones []string
	// Shape is what a node has and offers to Pods; the Shapes of its pool, smallest first, go before it.
	Shape  corev1.ResourceList
	Shapes map[string][]Shape
	// Shortages are when and where the cloud refuses instances.
	Shortages []Shortage
	// Slow are when provisioning takes longer.
	Slow []Slowness
	// Unavailable is how long Karpenter leaves an offering alone that the cloud has refused.
	Unavailable time.Duration
	// ConsolidateAfter is how long no Pod comes to a node or leaves it before it is consolidated, if it is empty; zero for
	// never.
	ConsolidateAfter time.Duration
	// Underutilized has a node consolidated as well whose Pods fit on the others.
	Underutilized bool
}

// Shortage is a time in which the cloud refuses instances.
type Shortage struct {
	// Zone that is short; empty for every zone.
	Zone        string
	From, Until time.Time
	// Chance that a launch is refused; zero counts as certain.
	Chance float64
}

// Slowness is a time in which every launch takes longer.
type Slowness struct {
	From, Until time.Time
	Extra       time.Duration
}

// shortages are what Karpenter remembers of refused launches: until when it asks the zone for nothing, by zone. It is
// replaced, never changed.
type shortages map[string]time.Time

// unavailableFor is how long Karpenter's providers leave an offering alone, unless the world says otherwise.
const unavailableFor = 3 * time.Minute

func (k Karpenter) withDefaults() Karpenter {
	set := func(d *Delay, base, spread time.Duration) {
		if *d == (Delay{}) {
			*d = Delay{base, spread}
		}
	}
	if k.Batch == 0 {
		k.Batch = time.Second
	}
	set(&k.Launch, 3*time.Second, 5*time.Second)
	set(&k.Register, 30*time.Second, 20*time.Second)
	set(&k.Initialize, 10*time.Second, 10*time.Second)
	set(&k.Finish, 5*time.Second, 10*time.Second)
	if k.Unavailable == 0 {
		k.Unavailable = unavailableFor
	}
	if len(k.Zones) == 0 {
		k.Zones = []string{"a"}
	}
	if k.Shape == nil {
		k.Shape = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	return k
}

// claimChanged starts what Karpenter does with a claim: its launch, its expiry, its end.
func (w *World) claimChanged(before, after *karpenterv1.NodeClaim) {
	ends := after != nil && after.DeletionTimestamp != nil && (before == nil || before.DeletionTimestamp == nil)
	if after == nil || before == nil || ends {
		w.recount(poolOf(before, after))
	}
	if len(w.disruption.commands) > 0 {
		w.call(Move{Verb: conclude})
	}
	if after == nil {
		w.call(Move{Verb: provision})
		w.claimGone(before)
		return
	}
	move := func(verb Verb) Move { return Move{verb, cluster.KeyOf(after), after.UID} }
	if before == nil {
		if after.Spec.ExpireAfter.Duration != nil {
			w.queue.add(move(expire), after.CreationTimestamp.Add(*after.Spec.ExpireAfter.Duration))
		}
		w.bringOn(after)
	}
	if ends {
		w.call(move(terminate))
		w.later(Move{Verb: provision}, w.config.Karpenter.Batch)
	}
}

// bringOn has a claim get on from where it stands: one that is created has all before it, one that a world begins with may
// be anywhere between. A claim that names its Node has registered, whatever its conditions say.
func (w *World) bringOn(claim *karpenterv1.NodeClaim) {
	move := func(verb Verb) Move { return Move{verb, cluster.KeyOf(claim), claim.UID} }
	k := &w.config.Karpenter
	registered := claim.Status.NodeName != "" || isTrue(claim, karpenterv1.ConditionTypeRegistered)
	switch {
	case registered && !isTrue(claim, karpenterv1.ConditionTypeInitialized):
		w.later(move(initialize), w.delay(k.Initialize, "initialize", claim.Name))
	case registered:
	case isTrue(claim, karpenterv1.ConditionTypeLaunched):
		w.later(move(register), w.delay(k.Register, "register", claim.Name))
	default:
		w.later(move(launch), w.delay(k.Launch, "launch", claim.Name)+w.extra())
	}
	if !registered {
		w.queue.add(move(giveUp), claim.CreationTimestamp.Add(registrationTimeout))
	}
}

func poolOf(before, after *karpenterv1.NodeClaim) string {
	if after != nil {
		return after.Labels[rotation.LabelNodePool]
	}
	return before.Labels[rotation.LabelNodePool]
}

func (w *World) extra() time.Duration {
	extra := w.held
	for _, s := range w.config.Karpenter.Slow {
		if !w.now.Before(s.From) && w.now.Before(s.Until) {
			extra += s.Extra
		}
	}
	return extra
}

// claimOfMove is the claim that a move is about; nil once it is gone.
func (w *World) claimOfMove(move Move) *karpenterv1.NodeClaim {
	claim := w.NodeClaim(move.On.Name)
	if claim == nil || claim.UID != move.UID {
		return nil
	}
	return claim
}

func (w *World) claimOfNode(node *corev1.Node) *karpenterv1.NodeClaim {
	for _, claim := range w.NodeClaimsBy(byClaimed, node.Name) {
		if claim.Labels[rotation.LabelNodePool] == node.Labels[rotation.LabelNodePool] {
			return claim
		}
	}
	return nil
}

// launch has the cloud start an instance, or refuse one: Karpenter then gives the claim up and leaves the zone alone.
func (w *World) launch(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp != nil {
		return
	}
	if w.failing {
		w.launchFailed(move, claim)
		return
	}
	zone := zoneOf(claim)
	if w.short(zone, claim.Name) {
		w.tell("karpenter", "gives NodeClaim %s up: insufficient capacity in zone %s", claim.Name, zone)
		remembered := shortages{zone: w.now.Add(w.config.Karpenter.Unavailable)}
		for z, until := range w.shortages {
			if z != zone && until.After(w.now) {
				remembered[z] = until
			}
		}
		w.shortages = remembered
		w.Remove(claim)
		w.later(Move{Verb: provision}, w.config.Karpenter.Unavailable)
		return
	}
	shape := w.config.Karpenter.shapeOf(claim)
	next := cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.Status.ProviderID = "sim:///" + c.Name
		c.Status.Capacity, c.Status.Allocatable = shape.Capacity, shape.Allocatable
		c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeLaunched)
	})
	w.recount(poolOf(claim, nil))
	if w.stranded() {
		return
	}
	w.later(Move{register, move.On, next.UID}, w.delay(w.config.Karpenter.Register, "register", claim.Name))
}

// short tells whether the cloud refuses this launch.
func (w *World) short(zone, claim string) bool {
	if w.dry != "" && w.dry == zone {
		return true
	}
	for _, s := range w.config.Karpenter.Shortages {
		if (s.Zone != "" && s.Zone != zone) || w.now.Before(s.From) || !w.now.Before(s.Until) {
			continue
		}
		if s.Chance == 0 || float64(w.drawn(1_000_000, "shortage", claim)) < s.Chance*1_000_000 {
			return true
		}
	}
	return false
}

// Taints that a node carries while it starts, and while it is cordoned.
const (
	taintNotReady      = "node.kubernetes.io/not-ready"
	taintUnschedulable = "node.kubernetes.io/unschedulable"
	taintUninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
)

// passing tells whether a taint goes by itself while its node starts.
func passing(t corev1.Taint) bool {
	return t.Key == taintNotReady || t.Key == taintUninitialized || t.Key == karpenterv1.UnregisteredTaintKey
}

// register has the Node of a launched instance appear, not Ready yet.
func (w *World) register(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.NodeName != "" {
		return
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Name, Labels: w.labelsOf(claim), Finalizers: []string{karpenterv1.TerminationFinalizer}},
		Spec: corev1.NodeSpec{
			ProviderID: claim.Status.ProviderID,
			Taints:     slices.Concat(claim.Spec.Taints, claim.Spec.StartupTaints, []corev1.Taint{{Key: taintNotReady, Effect: corev1.TaintEffectNoSchedule}}),
		},
	}
	if err := w.Adopt(node); err != nil {
		w.tell("karpenter", "cannot register Node %s: %v", node.Name, err)
		return
	}
	cluster.Edit(w.Cluster, node, func(n *corev1.Node) {
		shape := w.config.Karpenter.shapeOf(claim)
		n.Status.Capacity, n.Status.Allocatable = shape.Capacity, shape.Allocatable
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	})
	cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.Status.NodeName = node.Name
		c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeRegistered)
	})
	w.later(Move{initialize, move.On, claim.UID}, w.delay(w.config.Karpenter.Initialize, "initialize", claim.Name))
}

// initialize has the Node become Ready, and with it the claim.
func (w *World) initialize(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp != nil {
		return
	}
	node := w.Node(claim.Status.NodeName)
	if node == nil || node.DeletionTimestamp != nil {
		return
	}
	w.tell("karpenter", "has Node %s of NodeClaim %s Ready", node.Name, claim.Name)
	cluster.Edit(w.Cluster, node, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool {
			return passing(t) || slices.ContainsFunc(claim.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
		})
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	})
	cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
		c.Status.Conditions = w.with(c.Status.Conditions, karpenterv1.ConditionTypeInitialized, status.ConditionReady)
	})
}

// with is the conditions with those set to True.
func (w *World) with(conditions []status.Condition, types ...string) []status.Condition {
	out := slices.DeleteFunc(slices.Clone(conditions), func(c status.Condition) bool { return slices.Contains(types, c.Type) })
	for _, t := range types {
		out = append(out, status.Condition{
			Type: t, Status: metav1.ConditionTrue, Reason: t, LastTransitionTime: metav1.NewTime(w.now.Truncate(time.Second)),
		})
	}
	return out
}

func isTrue(claim *karpenterv1.NodeClaim, condition string) bool {
	return slices.ContainsFunc(claim.Status.Conditions, func(c status.Condition) bool {
		return c.Type == condition && c.Status == metav1.ConditionTrue
	})
}

func (w *World) recount(pool string) { w.call(Move{Verb: countPool, On: cluster.Key{Name: pool}}) }

// countPool keeps status.resources of a limited pool, which the limits are held against.
func (w *World) countPool(name string) {
	pool := w.NodePool(name)
	if pool == nil || len(pool.Spec.Limits) == 0 {
		return
	}
	used := w.usage(name, nil, nil)
	same := len(used) == len(pool.Status.Resources)
	for resource, quantity := range used {
		was := pool.Status.Resources[resource]
		same = same && was.Cmp(quantity) == 0
	}
	if !same {
		cluster.Edit(w.Cluster, pool, func(p *karpenterv1.NodePool) { p.Status.Resources = used })
	}
}

// labelsOf is what the Node of a claim is labelled with.
func (w *World) labelsOf(claim *karpenterv1.NodeClaim) map[string]string {
	labels := map[string]string{corev1.LabelHostname: claim.Name}
	for key, value := range claim.Labels {
		labels[key] = value
	}
	return labels
}

func zoneOf(o client.Object) string { return o.GetLabels()[corev1.LabelTopologyZone] }
