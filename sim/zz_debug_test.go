package sim_test

import (
	"os"
	"testing"
	"time"

	"noderotation.io/noderotation/sim"
)

func debugRun(edit func(*sim.Config), days int) string {
	config := aConfig()
	config.Karpenter.Shortages = []sim.Shortage{{From: start, Until: start.Add(60 * day), Chance: 0.3}}
	config.Karpenter.Zones = []string{"a", "b", "c"}
	edit(&config)
	var fleets []sim.Fleet
	for _, pool := range []string{"api", "web", "batch"} {
		fleet := aFleet(pool, sim.Ages(5, 4*day, 2*day)...)
		fleet.Zones = []string{"a", "b", "c"}
		fleets = append(fleets, fleet)
	}
	w := aWorld(config, fleets, aPolicy(), aBudget("api", 9))
	w.RunUntil(start.Add(time.Duration(days) * day))
	return config.Trace.String()
}

func TestSkipDiff(t *testing.T) {
	os.WriteFile("/tmp/a.txt", []byte(debugRun(func(c *sim.Config) {}, 10)), 0o644)
	b := time.Now()
	os.WriteFile("/tmp/b.txt", []byte(debugRun(func(c *sim.Config) { c.Controller.Skip = true }, 10)), 0o644)
	t.Log(time.Since(b))
}

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		debugRun(func(c *sim.Config) {c.Trace=nil; c.Trace=&sim.Trace{}}, 5)
	}
}
