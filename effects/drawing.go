// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/graph"
	"noderotation.io/noderotation/rotation"
)

// Drawing tells what the rows of a table mean for a rotation, as far as their effects say: what may be drawn of them.
//
// A row that starts a rotation without a surge is a fallback. One that leaves the claim failed or expired, or lets the
// anchor go without a success, is a failure: the status quo is back, or another hand was faster (§3.6, §3.8).
func Drawing(m *machine.Model) graph.Options {
	return graph.Options{
		Title: "States of a node's rotation",
		Kind:  func(row *machine.Row) graph.Kind { return kind(m.Writes(row)) },
	}
}

func kind(writes []machine.Write) graph.Kind {
	wrote := map[string]bool{}
	for _, w := range writes {
		wrote[w.What] = true
	}
	switch ended := wrote[rotation.WriteAnchorCleared]; {
	case wrote[rotation.WriteMode]:
		return graph.Fallback
	case ended && !wrote[rotation.WriteLastRotation],
		wrote[rotation.WriteState(rotation.StateFailed)], wrote[rotation.WriteState(rotation.StateExpired)]:
		return graph.Failure
	default:
		return graph.Ordinary
	}
}
