// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

// Situation is a pool in which something is about to happen to a rotation.
type Situation struct {
	Name     string
	Snapshot rotation.Snapshot
}

// In is the pool of the situation of that name, changed by further facts. It panics when there is none.
func In(name string, facts ...Fact) rotation.Snapshot {
	all := Situations()
	i := slices.IndexFunc(all, func(s Situation) bool { return s.Name == name })
	if i < 0 {
		panic("there is no situation " + name)
	}
	s := all[i].Snapshot
	for _, fact := range facts {
		fact(&s)
	}
	return s.Observe()
}

// Situations lists the pools in which a rotation can find itself, one by one: every state, and everything that can
// befall it there. The claim in question is always "old" on "old-node", its replacement "new" on "new-node".
func Situations() []Situation {
	return slices.Concat(beforeRotation(), whilePending(), whileDraining(), afterwards())
}

func of(name string, facts ...Fact) Situation { return Situation{name, APool(facts...)} }

// oldClaim is due and carries a workload; the facts say how far its rotation is.
func oldClaim(facts ...ClaimFact) Fact {
	return func(s *rotation.Snapshot) {
		AClaim("old", append([]ClaimFact{Aged(10 * Day)}, facts...)...)(s)
		WithWorkloadOn("old-node", "web-1", "cpu=1")(s)
	}
}

// heldOld is the old Node as a rotation holds it.
func heldOld() Fact { return ANode("old-node", ProtectedFor("old"), CordonedByUs) }

func beforeRotation() []Situation {
	due := oldClaim()
	young := AClaim("young")
	return []Situation{
		of("the pool is empty"),
		of("every node is young", young),
		of("a node is due", due, young),
		of("a node is due and the window is closed", At(Closing.Add(time.Hour)), due, young),
		of("a node is due and the pool is frozen", due, young, Frozen(3*time.Hour)),
		of("a node is due and the limits leave no room", due, Limited([]string{"cpu=4"}, []string{"cpu=3500m"})),
		of("a node is due and its surge comes too late", WithPolicy(AllowingFallback), oldClaim(Aged(14*Day-30*time.Minute))),
		of("a node is due and no policy governs", due, Ungoverned()),
		of("a node is due and an earlier drain goes on", due,
			AClaim("earlier", BeingDeleted(time.Minute), Annotated(rotation.KeyReleasedAt, stamp(Opening.Add(time.Hour))))),
		of("a node is due and its operator protects it", due, ANode("old-node", ProtectedByOperator)),
		of("a node is due and Karpenter is replacing it", due, ANode("old-node", BeingReplaced)),
		of("a node is due after a failure, an operator has cordoned it", oldClaim(Failed(2, 2*time.Hour)), ANode("old-node", CordonedByOperator)),
	}
}

func whilePending() []Situation {
	anchored := Anchored("old")
	pending := oldClaim(PendingFor(5 * time.Minute))
	late := oldClaim(PendingFor(20 * time.Minute))
	launched := AClaim("new", Aged(2*time.Minute))
	waiting := WithPlaceholderOn("", corev1.PodPending, Unschedulable("0/2 nodes are available: 2 Insufficient cpu."))
	running := WithPlaceholderOn("new-node", corev1.PodRunning)
	return []Situation{
		of("the anchor is written and nothing else", anchored, oldClaim()),
		of("the claim is marked and nothing else", anchored, pending),
		of("the placeholder waits for a node", anchored, pending, heldOld(), waiting),
		of("the placeholder is bound", anchored, pending, heldOld(), launched, WithPlaceholderOn("new-node", corev1.PodPending)),
		of("the surge is ready", anchored, pending, heldOld(), launched, running),
		of("the surge is ready and the pool is frozen", anchored, pending, heldOld(), launched, running, Frozen(time.Hour)),
		of("the placeholder is missing", anchored, pending, heldOld()),
		of("the placeholder has ended", anchored, pending, heldOld(), launched, WithPlaceholderOn("new-node", corev1.PodFailed)),
		of("the placeholder is preempted", anchored, pending, heldOld(), launched, WithPlaceholderOn("new-node", corev1.PodRunning, Preempted)),
		of("the attempt has timed out", anchored, late, heldOld(), waiting),
		of("the attempt has timed out with a node that came late", anchored, oldClaim(PendingFor(20*time.Minute), SurgingOn("new")), heldOld(),
			launched, WithPlaceholderOn("new-node", corev1.PodPending)),
		of("the attempt's start cannot be read", anchored, oldClaim(InState(rotation.StatePending), Annotated(rotation.KeyStartedAt, "yesterday")),
			heldOld(), waiting),
		of("the pending claim is gone", anchored, launched, ANode("new-node", ProtectedFor("old")), waiting),
		of("the pending claim is being deleted", anchored, oldClaim(PendingFor(5*time.Minute), BeingDeleted(time.Minute)), heldOld(), waiting),
		of("no policy governs the pending rotation", anchored, pending, heldOld(), waiting, Ungoverned()),
		of("the pending node is also an operator's", anchored, pending, launched, running,
			ANode("old-node", ProtectedByOperator, CordonedByOperator, NodeAnnotated(rotation.KeySurgeFor, "old"))),
	}
}

func whileDraining() []Situation {
	anchored := Anchored("old")
	draining := oldClaim(DrainingFor(5 * time.Minute))
	mirrored := Mirrored(5*time.Minute, time.Minute)
	replacement := func(s *rotation.Snapshot) {
		AClaim("new", Aged(8*time.Minute))(s)
		ANode("new-node", ProtectedFor("old"))(s)
	}
	placeholder := WithPlaceholderOn("new-node", corev1.PodRunning)
	undeleted := oldClaim(PendingFor(6*time.Minute), InState(rotation.StateDraining))
	return []Situation{
		of("the node drains", anchored, mirrored, draining, heldOld(), replacement),
		of("the node drains and its placeholder is still there", anchored, mirrored, draining, heldOld(), replacement, placeholder),
		of("the drain is decided and nothing is deleted", anchored, mirrored, undeleted, heldOld(), replacement, placeholder),
		of("the drain is overdue", anchored, Mirrored(2*time.Hour, time.Minute), oldClaim(DrainingFor(2*time.Hour)), heldOld(), replacement),
		of("the drained claim is gone", anchored, mirrored, replacement),
		of("no policy governs the drain", anchored, mirrored, draining, heldOld(), replacement, Ungoverned()),
		of("the fallback is anchored and nothing else", WithPolicy(AllowingFallback), anchored, ByFallback(), oldClaim()),
		of("the fallback's claim is gone", WithPolicy(AllowingFallback), anchored, ByFallback(), Mirrored(5*time.Minute, 0), AClaim("young")),
	}
}

func afterwards() []Situation {
	anchored := Anchored("old")
	return []Situation{
		of("a failure is still anchored", anchored, oldClaim(Failed(1, time.Minute))),
		of("a failure is still anchored and its backoff is over", anchored, oldClaim(Failed(1, time.Hour))),
		of("a failure is still anchored and its claim is being deleted", anchored, oldClaim(Failed(1, time.Minute), BeingDeleted(time.Second))),
		of("an expiry is still anchored", anchored, oldClaim(InState(rotation.StateExpired), BeingDeleted(time.Minute)), heldOld(),
			WithPlaceholderOn("", corev1.PodPending)),
	}
}
