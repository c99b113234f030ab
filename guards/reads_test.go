// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// A declaration of what is read is the whole of it: whatever else of the snapshot is exchanged for another one's, the
// verdict stays the same to the last word.
func TestGuardsReadNothingThatTheyDoNotDeclare(t *testing.T) {
	readings := slices.Sorted(maps.Keys(fleet.Grafts()))
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		for _, from := range others(t) {
			for _, reading := range readings {
				grafted := fleet.Grafted(s, reading, from)
				for _, g := range guards.All() {
					if slices.Contains(g.Reads, reading) {
						continue
					}
					if was, is := said(g.Check(&s)), said(g.Check(&grafted)); was != is {
						t.Errorf("%s does not declare that it reads %q, which makes of %+v\n%+v", g.Name, reading, was, is)
					}
				}
			}
		}
	})
}

// others are snapshots to exchange something with: a drawn one, or one of a few situations that differ much.
func others(t rapid.TB) []rotation.Snapshot {
	if drawn, can := t.(*rapid.T); can {
		return []rotation.Snapshot{fleet.Snapshots().Draw(drawn, "another")}
	}
	return []rotation.Snapshot{fleet.In("the pool is empty"), fleet.In("the surge is ready"), fleet.In("the drain is overdue")}
}

// What is declared matters somewhere: a reading that changes no verdict would tell the reader of a cause that is none.
func TestGuardsReadWhatTheyDeclare(t *testing.T) {
	pairs := fleet.Pairs()
	for _, g := range guards.All() {
		for _, reading := range g.Reads {
			if fleet.Grafts()[reading] == nil {
				t.Errorf("%s reads %q, which is no reading of package rotation", g.Name, reading)
				continue
			}
			if !fleet.Matters(reading, pairs, func(s rotation.Snapshot) answer { return said(g.Check(&s)) }) {
				t.Errorf("%s declares that it reads %q, which changed no verdict", g.Name, reading)
			}
		}
	}
}
