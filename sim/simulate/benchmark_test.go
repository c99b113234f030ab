// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"noderotation.io/noderotation/sim/simulate"
)

// BenchmarkYear simulates fleets of the size that the simulator is for. Beside the figures of every benchmark it tells
// what the processors were used for, garbage collection included, which a shared machine does not disturb; and the
// highest that the heap stood at, the garbage in it included.
//
//	go test ./sim/simulate -run '^$' -bench Year -benchtime 1x
func BenchmarkYear(b *testing.B) {
	for _, size := range []struct{ nodes, pools, days int }{{100, 3, 90}, {1_000, 30, 365}, {10_000, 100, 30}} {
		b.Run(fmt.Sprintf("nodes=%d/pools=%d/days=%d", size.nodes, size.pools, size.days), func(b *testing.B) {
			b.ReportAllocs()
			var rotations, peak int
			before := processorTime(b)
			for b.Loop() {
				in := &simulate.Input{}
				if err := in.Read("generated.yaml", []byte(aGeneratedFleet(size.nodes, size.pools))); err != nil {
					b.Fatal(err)
				}
				result, err := simulate.Run(context.Background(), in, simulate.Options{
					Start: start, For: time.Duration(size.days) * day, Seed: 1, Machine: theTable,
					Progress: func(float64) { peak = max(peak, heap()) },
				})
				if err != nil {
					b.Fatal(err)
				}
				if result.Verdict.Expired > 0 || result.Verdict.Rotated == 0 {
					b.Fatalf("this fleet is meant to be healthy, and to be rotated: %s", result.Verdict.Text)
				}
				rotations += len(result.Rotations)
			}
			used := processorTime(b) - before
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(used.Microseconds())/float64(rotations), "cpu-µs/rotation")
			b.ReportMetric(float64(rotations)/float64(b.N), "rotations/op")
			b.ReportMetric(float64(peak)/(1<<20), "heap-MiB")
		})
	}
}

// aGeneratedFleet has nodes born one after the other through the whole of their lives, five Pods on each, a disruption
// budget over every pool's, and windows on three continents. Only what is opened often can keep up with a large pool.
func aGeneratedFleet(nodes, pools int) string {
	var out strings.Builder
	policies := []struct{ name, window string }{
		{"nightly", `{timezone: Europe/Berlin, days: [Mon, Tue, Wed, Thu, Fri, Sat, Sun], start: "01:00", end: "05:00"}`},
		{"weekdays", `{timezone: America/New_York, days: [Mon, Tue, Wed, Thu, Fri], start: "22:00", end: "02:00"}`},
		{"twice-a-week", `{timezone: Asia/Tokyo, days: [Wed, Sat], start: "02:00", end: "06:00"}`},
	}
	for _, p := range policies {
		fmt.Fprintf(&out, "kind: RotationPolicy\napiVersion: noderotation.io/v1alpha1\nmetadata: {name: %s}\nspec:\n"+
			"  nodePoolSelector: {matchLabels: {windows: %s}}\n  maintenanceWindows:\n    - %s\n---\n", p.name, p.name, p.window)
	}
	if nodes/pools > 50 {
		policies = policies[:2]
	}
	for i := range pools {
		size := nodes*(i+1)/pools - nodes*i/pools
		fmt.Fprintf(&out, "kind: Fleet\npool: pool-%d\nlabels: {windows: %s}\nexpireAfter: 14d\nterminationGracePeriod: 1h\nzones: [a, b, c]\n"+
			"nodes: %d\napart: %s\nworkload: {podsPerNode: 5, cpu: 700m, memory: 2Gi, readyAfter: 15s, endsAfter: 5s, maxUnavailable: \"10%%\"}\n---\n",
			i, policies[i%len(policies)].name, size, 7*day/time.Duration(size))
	}
	return out.String()
}

// processorTime is what this process has used of the processors so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano())
}

func heap() int {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}
