// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

const (
	namespace  = "noderotation"
	policyName = "policy"
)

// beginning is when every exploration starts; grid is the step of its clock. Every duration of a scene's policy ends
// between two steps or just on one, so that it is always clear on which side of a limit a moment lies.
var beginning = time.Date(2026, time.January, 10, 5, 0, 0, 0, time.UTC)

const grid = 5 * time.Minute

// The terms of every scene's policy.
const (
	readyTimeout  = 9 * time.Minute
	cooldownAfter = 5 * time.Minute
	failurePause  = 10 * time.Minute
	retryBackoff  = 15 * time.Minute
	gracePeriod   = 7 * time.Minute
	ofAge         = 100 * time.Hour
	expireAfter   = 400 * time.Hour
	freezeFor     = 20 * time.Minute
)

// rotationBound is t_rot, drainBound what a drain may take (§3.2, §3.3).
const (
	rotationBound = readyTimeout + gracePeriod + rotation.Buffer
	drainBound    = gracePeriod + rotation.Buffer
)

// Ages of a claim in a scene.
const (
	// Old is of age.
	Old = 200 * time.Hour
	// Older likewise, and chosen first.
	Older = 201 * time.Hour
	// Young is not of age for as long as anything can last here.
	Young = time.Hour
	// Maturing comes of age soon.
	Maturing = ofAge - 20*time.Minute
	// TooOld is too old for a surge.
	TooOld = expireAfter - 10*time.Minute
	// Closing will be so soon.
	Closing = expireAfter - 40*time.Minute
)

// Scene is a small cluster, and what may happen in it.
type Scene struct {
	// Name of the scene, in words.
	Name string
	// Pools of the scene, in order: api, web.
	Pools []PoolScene
	// Moves that its actors may make, beside those that every scene has.
	Moves []Verb
	// Fallback allows the forceful fallback; Windows opens daily for an hour after the beginning, instead of always.
	Fallback, Windows bool
	// Barren is true where Karpenter launches nothing.
	Barren bool
	// Lags is true where a pass may miss what has just happened, and where a second leader may make a pass in the middle of
	// another; Leaders where both may come together.
	Lags, Leaders bool
	// Share of the states that are explored, among all scenes.
	Share int
}

// PoolScene is one pool of a scene.
type PoolScene struct {
	// Ages of its nodes; each has one Pod of a workload.
	Ages []time.Duration
	// Spare has a further young node, empty, with room for a placeholder.
	Spare bool
	// Full is true where the limits leave no room for one node more.
	Full bool
	// Budget has a PodDisruptionBudget that allows nothing.
	Budget bool
}

// settings of the installation.
func settings() rotation.Settings {
	return rotation.Settings{Namespace: namespace, PauseImage: "registry.k8s.io/pause:3.10", PriorityClass: "noderotation-placeholder"}
}

func (s *Scene) may(verb Verb) bool {
	for _, v := range s.Moves {
		if v == verb {
			return true
		}
	}
	return false
}

// poolNames in order.
func (s *Scene) poolNames() []string { return []string{"api", "web"}[:len(s.Pools)] }

// State is the scene before anything has happened.
func (s *Scene) State() *State {
	state := &State{now: beginning}
	state.Cluster = cluster.New(state, indexes())
	state.PriorityClasses = map[string]cluster.PriorityClass{
		settings().PriorityClass: {Value: -1000, PreemptionPolicy: corev1.PreemptNever},
	}
	objects := []client.Object{s.policy()}
	for i, name := range s.poolNames() {
		objects = append(objects, s.Pools[i].objects(name)...)
	}
	if err := state.Load(objects...); err != nil {
		panic(err)
	}
	for i, name := range s.poolNames() {
		if pool := &s.Pools[i]; pool.Spare {
			spare := state.NodeClaim(name + "-" + string(rune('0'+len(pool.Ages))))
			for _, pod := range state.PodsBy(byNode, spare.Status.NodeName) {
				state.Remove(pod)
			}
		}
		recount(state, name)
	}
	return state
}

// objects of the pool.
func (p *PoolScene) objects(name string) []client.Object {
	ages := p.Ages
	if p.Spare {
		ages = append(append([]time.Duration{}, ages...), Young)
	}
	fleet := sim.Fleet{
		Pool: name, ExpireAfter: expireAfter, TerminationGracePeriod: gracePeriod, Ages: ages, PodsPerNode: 1, CPU: "1",
	}
	if p.Full {
		fleet.Limits = corev1.ResourceList{"nodes": *resource.NewQuantity(int64(len(ages)), resource.DecimalSI)}
	}
	config := sim.Config{Start: beginning}
	objects := fleet.Join(&config, nil)
	objects[0].SetAnnotations(karpentersOwn())
	if p.Budget {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "budget"}}
		all := intstr.FromString("100%")
		budget.Spec.MinAvailable = &all
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		objects = append(objects, budget)
	}
	return objects
}

// karpentersOwn are the annotations that Karpenter keeps on every NodePool: what we patch there is never the first.
func karpentersOwn() map[string]string {
	return map[string]string{karpenterv1.NodePoolHashAnnotationKey: "1"}
}

// policy of the scene, for all of its pools. Its estimates leave it without a finding.
func (s *Scene) policy() *v1alpha1.RotationPolicy {
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: policyName, UID: "policy"}}
	spec := &policy.Spec
	spec.AgeThreshold = v1alpha1.AgeThreshold(ofAge.String())
	chances, end := int32(100), "24:00"
	if s.Windows {
		chances, end = 2, "06:00"
	}
	spec.MinRotationChances = &chances
	spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Timezone: "UTC", Start: "00:00", End: end, Days: []v1alpha1.Day{
		v1alpha1.Monday, v1alpha1.Tuesday, v1alpha1.Wednesday, v1alpha1.Thursday, v1alpha1.Friday, v1alpha1.Saturday, v1alpha1.Sunday,
	}}}
	for _, term := range []struct {
		of *(*metav1.Duration)
		is time.Duration
	}{
		{&spec.Surge.ReadyTimeout, readyTimeout}, {&spec.Surge.CooldownAfter, cooldownAfter},
		{&spec.Surge.FailurePause, failurePause}, {&spec.Surge.RetryBackoff, retryBackoff},
	} {
		*term.of = &metav1.Duration{Duration: term.is}
	}
	spec.Surge.ForcefulFallback.Enabled = s.Fallback
	return policy
}
