// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"noderotation.io/noderotation/test/e2e/record"
)

// tally is what is counted while the story goes on.
type tally struct {
	New         int `json:"new"`   // original nodes that are gone, their replacements standing
	Of          int `json:"of"`    // nodes to be replaced
	Nodes       int `json:"nodes"` // in the pool now
	MostNodes   int `json:"mostNodes"`
	FewestReady int `json:"fewestReady"` // Pods
	Replicas    int `json:"replicas"`
}

// begin counts the fleet as it stands.
func (f fleet) begin(world record.World) tally {
	return tally{Of: f.Nodes, Replicas: f.Replicas, FewestReady: f.Replicas}.count(f, world)
}

// count is the tally after another event.
func (t tally) count(f fleet, world record.World) tally {
	t.New = f.replaced(world)
	t.Nodes = f.size(world)
	t.MostNodes = max(t.MostNodes, t.Nodes)
	t.FewestReady = min(t.FewestReady, f.ready(world))
	return t
}

// progress tells how far the fleet is.
func (t tally) progress() happening {
	return happening{What: progress, Tally: &t, Text: fmt.Sprintf("%s%s  %d of %d nodes new; the pool has %d nodes, and never had more than %d",
		strings.Repeat("■", t.New), strings.Repeat("□", t.Of-t.New), t.New, t.Of, t.Nodes, t.MostNodes)}
}
