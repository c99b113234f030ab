// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"fmt"
	"testing"
	"time"

	"noderotation.io/noderotation/sim"
)

func BenchmarkFleet(b *testing.B) {
	for _, size := range []struct{ pools, nodes, days int }{{10, 10, 60}, {30, 33, 365}} {
		b.Run(fmt.Sprintf("%dpools-%dnodes-%ddays", size.pools, size.pools*size.nodes, size.days), func(b *testing.B) {
			for b.Loop() {
				config := aConfig()
				config.Trace, config.Controller.Skip = nil, true
				var fleets []sim.Fleet
				for i := range size.pools {
					fleets = append(fleets, aFleet(fmt.Sprintf("pool%d", i), sim.Ages(size.nodes, 0, 14*day/time.Duration(size.nodes))...))
				}
				aWorld(config, fleets, aPolicy()).RunUntil(start.Add(time.Duration(size.days) * day))
			}
		})
	}
}
