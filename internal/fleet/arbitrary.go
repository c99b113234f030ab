// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"noderotation.io/noderotation/rotation"
)

// Snapshots draws pools in which anything may be so that a cluster can show, however unlikely: torn rotations, values
// that cannot be read, markers of rotations long gone, and operators everywhere.
func Snapshots() *rapid.Generator[rotation.Snapshot] { return rapid.Custom(anySnapshot) }

// maybe draws a fact half of the time.
func maybe[F any](t *rapid.T, label string, facts ...F) []F {
	if !rapid.Bool().Draw(t, label+"?") {
		return nil
	}
	return []F{rapid.SampledFrom(facts).Draw(t, label)}
}

// anAgo draws a distance to the past at which something of the domain changes, or one in between.
func anAgo(t *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{
		0, time.Second, time.Minute, 10 * time.Minute, 15 * time.Minute, 15*time.Minute + 1, 30 * time.Minute,
		time.Hour, 62 * time.Minute, 62*time.Minute + 1, 4 * time.Hour, 5 * Day, 5*Day + 22*time.Hour + 43*time.Minute,
		10 * Day, 14*Day - time.Hour - 17*time.Minute, 14*Day - time.Minute, 15 * Day, -time.Minute,
	}).Draw(t, label)
}

func anySnapshot(t *rapid.T) rotation.Snapshot {
	now := Opening.Add(time.Duration(rapid.Int64Range(-int64(Day), int64(5*Day)).Draw(t, "now")))
	facts := []Fact{At(now)}
	facts = append(facts, maybe(t, "policy", Ungoverned(), WithPolicy(AllowingFallback), WithPolicy(OfAgeAt(5*Day)),
		WithPolicy(AlwaysOpen), WithPolicy(AskingForChances(4)), WithPolicy(AllowingFallback, AlwaysOpen))...)
	facts = append(facts, maybe(t, "the pool itself",
		PoolThat(func(p *rotation.Pool) { p.Deleting = true }), PoolThat(func(p *rotation.Pool) { p.Static = true }),
		PoolThat(func(p *rotation.Pool) { p.NotReady = "its NodeClass is missing" }),
		Limited([]string{"cpu=4", "nodes=3"}, []string{"cpu=3500m", "nodes=2"}), Limited([]string{"memory=1Gi"}, nil))...)
	facts = append(facts, anyPoolAnnotations(t)...)
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"old", "new", "other"}), rapid.ID[string]).Draw(t, "claims") {
		facts = append(facts, anyClaim(t, name)...)
	}
	facts = append(facts, maybe(t, "placeholder", anyPlaceholder(t))...)
	return APool(facts...)
}

func anyPoolAnnotations(t *rapid.T) []Fact {
	facts := maybe(t, "anchor", Anchored("old"), Anchored("new"), Anchored("gone"))
	facts = append(facts, maybe(t, "anchored on", PoolAnnotated(rotation.KeyAnchoredOn, "0"))...)
	facts = append(facts, maybe(t, "mode", ByFallback(), PoolAnnotated(rotation.KeyRotationMode, "slowly"))...)
	facts = append(facts, maybe(t, "mirror", Mirrored(anAgo(t, "mirrored"), time.Minute),
		PoolAnnotated(rotation.KeyActiveRotationState, rotation.StateDraining), PoolAnnotated(rotation.KeySurgeWait, "long"))...)
	facts = append(facts, maybe(t, "freeze", Frozen(anAgo(t, "freeze")), Frozen(-anAgo(t, "thaw")), PoolAnnotated(rotation.KeyFreeze, "soon"))...)
	facts = append(facts, maybe(t, "last rotation", Rotated(anAgo(t, "rotated")), PoolAnnotated(rotation.KeyLastRotationAt, "?"))...)
	return append(facts, maybe(t, "last failure", FailedLast(anAgo(t, "failed last")), PoolAnnotated(rotation.KeyLastFailureAt, ""))...)
}

func anyClaim(t *rapid.T, name string) []Fact {
	claim := []ClaimFact{Aged(anAgo(t, name+" aged"))}
	ago := anAgo(t, name+" since")
	claim = append(claim, maybe(t, name+" progress", PendingFor(ago), DrainingFor(max(ago, 0)), Failed(int(ago%5)+1, ago), InState(rotation.StateExpired),
		InState(rotation.StatePending), InState("sleeping"), InState(""))...)
	claim = append(claim, maybe(t, name+" leavings", Annotated(rotation.KeyStartedAt, "?"), Annotated(rotation.KeyFailedAt, "?"),
		Annotated(rotation.KeyRetryCount, "-1"), Annotated(rotation.KeyReleasedAt, stamp(Opening)), SurgingOn("new"), SurgingOn("gone"))...)
	claim = append(claim, maybe(t, name+" itself", NotReady, NeverExpiring, Expiring(7*Day), Graceful(Day), OnNode(""), BeingDeleted(time.Minute))...)
	facts := []Fact{AClaim(name, claim...)}
	node := name + "-node"
	marks := maybe(t, name+" protection", ProtectedByOperator, ProtectedFor("old"), ProtectedFor("gone"), NodeAnnotated(rotation.KeyDoNotDisrupt, "false"))
	marks = append(marks, maybe(t, name+" cordon", CordonedByOperator, CordonedByUs, NodeAnnotated(rotation.KeyCordoned, rotation.ValueTrue))...)
	marks = append(marks, maybe[NodeFact](t, name+" node itself", GoingAway, NodeNotReady, BeingReplaced)...)
	if len(marks) > 0 {
		facts = append(facts, ANode(node, marks...))
	}
	return append(facts, maybe(t, name+" surroundings", WithoutNode(node), WithWorkloadOn(node, name+"-web", "cpu=1"), WithWorkloadOn(node, name+"-web", "memory=1Gi"))...)
}

func anyPlaceholder(t *rapid.T) Fact {
	node := rapid.SampledFrom([]string{"", "old-node", "new-node", "other-node", "gone-node"}).Draw(t, "placeholder on")
	phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "placeholder phase")
	return WithPlaceholderOn(node, phase, maybe(t, "placeholder itself", Preempted, Unschedulable("no node fits"), RunningFor(time.Second), RunningFor(time.Minute))...)
}
