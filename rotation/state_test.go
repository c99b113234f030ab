// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = DescribeTable("The state is derived from the annotations (architecture, transitions.yaml)",
	func(s rotation.Snapshot, expected string) { Expect(rotation.State(s)).To(Equal(expected)) },

	Entry("no anchor is idle", APool(AClaim("old")), rotation.StateIdle),
	Entry("no anchor is idle, whatever a claim says", APool(AClaim("old", PendingFor(0))), rotation.StateIdle),
	Entry("no anchor is idle, whatever a companion says", APool(Mirrored(0, 0), PoolAnnotated(rotation.KeyRotationMode, "?")), rotation.StateIdle),
	Entry("an empty anchor is none", APool(Anchored("")), rotation.StateIdle),

	Entry("the anchored claim's state is the pool's: pending", APool(AClaim("old", PendingFor(0)), Anchored("old")), rotation.StatePending),
	Entry("draining", APool(AClaim("old", DrainingFor(0)), Anchored("old")), rotation.StateDraining),
	Entry("failed", APool(AClaim("old", Failed(1, 0)), Anchored("old")), rotation.StateFailed),
	Entry("expired", APool(AClaim("old", InState("expired")), Anchored("old")), rotation.StateExpired),
	Entry("an absent one counts as pending: the start was torn", APool(AClaim("old"), Anchored("old")), rotation.StatePending),
	Entry("an empty one too", APool(AClaim("old", InState("")), Anchored("old")), rotation.StatePending),
	Entry("the claim outweighs the mirror", APool(AClaim("old", PendingFor(0)), Anchored("old"), Mirrored(0, 0)), rotation.StatePending),
	Entry("other claims have no say", APool(AClaim("old"), AClaim("other", DrainingFor(0)), Anchored("old")), rotation.StatePending),

	Entry("without the claim the mirror tells: draining", APool(Anchored("old"), Mirrored(0, 0)), rotation.StateDraining),
	Entry("and without a mirror it never left pending", APool(Anchored("old")), rotation.StatePending),
	Entry("a mirror of any other value is none", APool(Anchored("old"), PoolAnnotated(rotation.KeyActiveRotationState, "pending")), rotation.StatePending),

	Entry("a fallback is draining from its first write on", APool(AClaim("old"), Anchored("old"), ByFallback()), rotation.StateDraining),
	Entry("whatever the claim says", APool(AClaim("old", InState("asleep")), Anchored("old"), ByFallback()), rotation.StateDraining),
	Entry("and when it is gone", APool(Anchored("old"), ByFallback()), rotation.StateDraining),
	Entry("an empty mode is no mode", APool(AClaim("old"), Anchored("old"), PoolAnnotated(rotation.KeyRotationMode, "")), rotation.StatePending),
)

var _ = DescribeTable("A value outside the contract is an error that a person can act on (architecture, Unreadable and absent values)",
	func(s rotation.Snapshot, expected rotation.UnknownValueError, message string) {
		_, err := rotation.State(s)
		Expect(err).To(MatchError(message))
		var unknown *rotation.UnknownValueError
		Expect(errors.As(err, &unknown)).To(BeTrue())
		Expect(*unknown).To(Equal(expected))
	},
	Entry("of the claim's state", APool(AClaim("old", InState("Pending")), Anchored("old")),
		rotation.UnknownValueError{Kind: "NodeClaim", Name: "old", Key: rotation.KeyState, Value: "Pending", Allowed: "pending, draining, failed or expired"},
		`NodeClaim old has noderotation.io/state="Pending", which must be pending, draining, failed or expired or absent; nothing is done for the pool until it is corrected or removed`),
	Entry("of the mode", APool(AClaim("old"), Anchored("old"), PoolAnnotated(rotation.KeyRotationMode, "fast")),
		rotation.UnknownValueError{Kind: "NodePool", Name: "api", Key: rotation.KeyRotationMode, Value: "fast", Allowed: rotation.ModeForcefulFallback},
		`NodePool api has noderotation.io/rotation-mode="fast", which must be forceful-fallback or absent; nothing is done for the pool until it is corrected or removed`),
	Entry("of the mode, also when the claim is gone", APool(Anchored("old"), PoolAnnotated(rotation.KeyRotationMode, "fast")),
		rotation.UnknownValueError{Kind: "NodePool", Name: "api", Key: rotation.KeyRotationMode, Value: "fast", Allowed: rotation.ModeForcefulFallback},
		`NodePool api has noderotation.io/rotation-mode="fast", which must be forceful-fallback or absent; nothing is done for the pool until it is corrected or removed`),
)

var _ = Describe("A state annotation outside the contract", func() {
	It("is no error while the pool is not anchored on its claim", func() {
		Expect(rotation.State(APool(AClaim("other", InState("?")), AClaim("old"), Anchored("old")))).To(Equal(rotation.StatePending))
	})
})

// Whatever a cluster shows, the state is one of five or an error that says why not.
func TestEverySnapshotHasAState(t *testing.T) {
	states := map[string]bool{
		rotation.StateIdle: true, rotation.StatePending: true, rotation.StateDraining: true, rotation.StateFailed: true, rotation.StateExpired: true,
	}
	rapid.Check(t, func(t *rapid.T) {
		s := Snapshots().Draw(t, "snapshot")
		switch state, err := rotation.State(s); {
		case err != nil && state != "":
			t.Errorf("state %q comes with the error %v", state, err)
		case err == nil && !states[state]:
			t.Errorf("there is no state %q", state)
		case err == nil && (state == rotation.StateIdle) != (s.Anchor() == ""):
			t.Errorf("state %s, anchored on %q", state, s.Anchor())
		}
	})
}

var _ = DescribeTable("A claim that says it is being rotated while no rotation is anchored on it (§5.3 startup sweep)",
	func(s rotation.Snapshot, stray string) { Expect(s.Stray()).To(Equal(stray)) },
	Entry("none", APool(AClaim("old")), ""),
	Entry("pending", APool(AClaim("old", PendingFor(time.Minute))), "old"),
	Entry("draining, and not being deleted", APool(AClaim("old", InState(rotation.StateDraining))), "old"),
	Entry("beside another that is anchored", APool(AClaim("old", PendingFor(0)), AClaim("next", PendingFor(0)), Anchored("next")), "old"),
	Entry("but not the anchored one", APool(AClaim("old", PendingFor(0)), Anchored("old")), ""),
	Entry("nor one that is going", APool(AClaim("old", DrainingFor(0))), ""),
	Entry("nor one whose rotation has ended", APool(AClaim("old", Failed(1, 0)), AClaim("other", InState(rotation.StateExpired))), ""),
)

var _ = DescribeTable("A pool is settled when no claim that we deleted is still draining (§3.8)",
	func(s rotation.Snapshot, still string) {
		settled, name := s.Settled()
		Expect(name).To(Equal(still))
		Expect(settled).To(Equal(still == ""))
	},
	Entry("no claims", APool(), ""),
	Entry("a claim marked draining", APool(AClaim("earlier", DrainingFor(time.Minute))), "earlier"),
	Entry("a claim let go while it drained", APool(AClaim("earlier", BeingDeleted(time.Minute), Annotated(rotation.KeyReleasedAt, "2026-01-09T17:59:30Z"))), "earlier"),
	Entry("a claim let go by a clock that is behind", APool(AClaim("earlier", BeingDeleted(time.Minute), Annotated(rotation.KeyReleasedAt, "2026-01-09T17:58:30Z"))), "earlier"),
	Entry("a claim that another hand deletes long after it was let go", APool(AClaim("other", BeingDeleted(time.Minute), Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z"))), ""),
	Entry("an unreadable released-at is one", APool(AClaim("earlier", BeingDeleted(0), Annotated(rotation.KeyReleasedAt, "?"))), "earlier"),
	Entry("the anchored claim itself", APool(AClaim("old", DrainingFor(time.Minute)), Anchored("old")), ""),
	Entry("another one beside the anchored", APool(AClaim("earlier", DrainingFor(0)), AClaim("old", DrainingFor(0)), Anchored("old")), "earlier"),
	Entry("a claim that Karpenter expires", APool(AClaim("other", BeingDeleted(0), InState("expired"))), ""),
	Entry("a claim let go that is not being deleted", APool(AClaim("other", Annotated(rotation.KeyReleasedAt, "2026-01-09T17:00:00Z"))), ""),
)
