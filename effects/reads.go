// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"slices"

	"noderotation.io/noderotation/rotation"
)

// ofSubject is what tells which claim the pass is about, and what else is read.
func ofSubject(more ...string) []string {
	return slices.Concat([]string{rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadClaims}, more)
}

// ofAnchor is what every later write of an anchored pool is conditional on, and what else is read.
func ofAnchor(more ...string) []string {
	return slices.Concat([]string{rotation.ReadAnchor, rotation.ReadAnchoredOn}, more)
}

// telling is what every announcement reads: the claim, and which attempt of it this is.
func telling(more ...string) []string {
	return slices.Concat(ofSubject(rotation.ReadDrainingAt, rotation.ReadStartedAt, rotation.ReadRetryCount), more)
}
