// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = DescribeTable("A value that cannot be read is told to a person, with what it means (architecture, Unreadable and absent values)",
	func(s rotation.Snapshot, message string) {
		found := rotation.Unreadables(s)
		Expect(found).To(HaveLen(1))
		Expect(found[0].Message()).To(Equal(message))
	},
	Entry("freeze", APool(PoolAnnotated(rotation.KeyFreeze, "soon")),
		`NodePool api: annotation noderotation.io/freeze="soon" cannot be read: the pool counts as frozen. Correct or remove it.`),
	Entry("last-rotation-at", APool(PoolAnnotated(rotation.KeyLastRotationAt, "")),
		`NodePool api: annotation noderotation.io/last-rotation-at="" cannot be read: the pause after a success counts as not over. Correct or remove it.`),
	Entry("last-failure-at", APool(PoolAnnotated(rotation.KeyLastFailureAt, "?")),
		`NodePool api: annotation noderotation.io/last-failure-at="?" cannot be read: the pause after a failure counts as not over. Correct or remove it.`),
	Entry("draining-at", APool(PoolAnnotated(rotation.KeyDrainingAt, "?")),
		`NodePool api: annotation noderotation.io/draining-at="?" cannot be read: the drain's duration will not be observed. Correct or remove it.`),
	Entry("surge-wait", APool(PoolAnnotated(rotation.KeySurgeWait, "5 minutes")),
		`NodePool api: annotation noderotation.io/surge-wait="5 minutes" cannot be read: the surge's duration will not be observed. Correct or remove it.`),
	Entry("rotation-mode", APool(PoolAnnotated(rotation.KeyRotationMode, "fast")),
		`NodePool api: annotation noderotation.io/rotation-mode="fast" cannot be read: nothing is done for the pool. Correct or remove it.`),
	Entry("started-at", APool(AClaim("old", Annotated(rotation.KeyStartedAt, "?"))),
		`NodeClaim old: annotation noderotation.io/started-at="?" cannot be read: the attempt counts as timed out. Correct or remove it.`),
	Entry("started-at in the future", APool(AClaim("old", Annotated(rotation.KeyStartedAt, "2099-01-01T00:00:00.5+09:00"))),
		`NodeClaim old: annotation noderotation.io/started-at="2099-01-01T00:00:00.5+09:00" lies in the future: the attempt counts as timed out. Correct or remove it.`),
	Entry("last-failure-at in the future", APool(PoolAnnotated(rotation.KeyLastFailureAt, "2099-01-01T00:00:00Z")),
		`NodePool api: annotation noderotation.io/last-failure-at="2099-01-01T00:00:00Z" lies in the future: the pause after a failure counts as not over. Correct or remove it.`),
	Entry("active-rotation-state", APool(PoolAnnotated(rotation.KeyActiveRotationState, "Draining")),
		`NodePool api: annotation noderotation.io/active-rotation-state="Draining" cannot be read: the drain counts as not begun once the NodeClaim is gone. Correct or remove it.`),
	Entry("failed-at", APool(AClaim("old", Annotated(rotation.KeyFailedAt, "?"))),
		`NodeClaim old: annotation noderotation.io/failed-at="?" cannot be read: the backoff counts as not over. Correct or remove it.`),
	Entry("retry-count", APool(AClaim("old", Annotated(rotation.KeyRetryCount, "-1"))),
		`NodeClaim old: annotation noderotation.io/retry-count="-1" cannot be read: the backoff counts as not over. Correct or remove it.`),
	Entry("state", APool(AClaim("old", InState("?"))),
		`NodeClaim old: annotation noderotation.io/state="?" cannot be read: the claim is not rotated, and a pool anchored on it holds still. Correct or remove it.`),
)

var _ = Describe("Values that can be read", func() {
	It("are not told of, and absent ones neither", func() {
		for _, situation := range Situations() {
			if situation.Name != "the attempt's start cannot be read" {
				Expect(rotation.Unreadables(situation.Snapshot)).To(BeEmpty(), situation.Name)
			}
		}
	})
	It("count as such on another kind of object: a NodePool's keys mean nothing on a claim", func() {
		Expect(rotation.Unreadables(APool(AClaim("old", Annotated(rotation.KeyFreeze, "?")), PoolAnnotated(rotation.KeyState, "?")))).To(BeEmpty())
	})
})

var _ = Describe("All that cannot be read", func() {
	It("is told at once: the pool's first, then each claim's", func() {
		var keys []string
		for _, u := range rotation.Unreadables(APool(PoolAnnotated(rotation.KeyFreeze, "?"), PoolAnnotated(rotation.KeyRotationMode, "?"),
			AClaim("b", InState("?")), AClaim("a", InState("?"), Annotated(rotation.KeyStartedAt, "?")))) {
			keys = append(keys, u.Name+" "+u.Key)
		}
		Expect(keys).To(Equal([]string{
			"api " + rotation.KeyFreeze, "api " + rotation.KeyRotationMode, "a " + rotation.KeyStartedAt, "a " + rotation.KeyState, "b " + rotation.KeyState,
		}))
	})
})
