package sim_test

import (
	"fmt"
	"testing"
	"time"

	"noderotation.io/noderotation/sim"
)

func TestCount(t *testing.T) {
	config := aConfig()
	config.Controller.Skip = true
	var fleets []sim.Fleet
	for i := range 10 {
		fleets = append(fleets, aFleet(fmt.Sprintf("pool%d", i), sim.Ages(10, 0, 14*day/time.Duration(10))...))
	}
	b := time.Now()
	aWorld(config, fleets, aPolicy()).RunUntil(start.Add(time.Duration(60) * day))
	n := map[string]int{}
	for i := range 10 {
		for _, r := range rowsOf(config.Trace, fmt.Sprintf("pool%d", i)) {
			n[r]++
		}
	}
	t.Log(time.Since(b), n)
	for v, c := range sim.Counts {
		if c > 0 {
			t.Log(v, c)
		}
	}
}
