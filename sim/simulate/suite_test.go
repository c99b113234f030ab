// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/simulate"
)

func TestSimulate(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "simulate")
}

const day = 24 * time.Hour

var start = time.Date(2026, time.January, 9, 0, 0, 0, 0, time.UTC)

var theTable = func() *controller.Machine {
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		panic(err)
	}
	return machine
}()

// run simulates documents from the start, for so long.
func run(span time.Duration, documents string) (*simulate.Result, error) {
	in := &simulate.Input{}
	if err := in.Read("fleet.yaml", []byte(documents)); err != nil {
		return nil, err
	}
	return simulate.Run(context.Background(), in, simulate.Options{Start: start, For: span, Seed: 1, Machine: theTable})
}

// example simulates one of examples/, as it says itself.
func example(name string) *simulate.Result {
	in := &simulate.Input{}
	file := filepath.Join("..", "..", "examples", name, "fleet.yaml")
	data, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	Expect(in.Read(file, data)).To(Succeed())
	s := in.Simulation
	result, err := simulate.Run(context.Background(), in, simulate.Options{
		Start: s.Start.At, For: time.Duration(*s.For), Seed: s.Seed, Machine: theTable, Trace: true,
	})
	Expect(err).NotTo(HaveOccurred())
	return result
}

func codes(result *simulate.Result) []string {
	var codes []string
	for _, f := range result.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}

const (
	policy = `
kind: RotationPolicy
apiVersion: noderotation.io/v1alpha1
metadata: {name: weekly}
spec:
  nodePoolSelector: {}
  maintenanceWindows:
    - {timezone: Asia/Tokyo, days: [Wed, Sat], start: "02:00", end: "06:00"}
---
`
	fleet = `
kind: Fleet
pool: api
expireAfter: 14d
terminationGracePeriod: 1h
zones: [a, b]
batches: [{nodes: 2, age: 10d}, {nodes: 1, age: 1d}]
workload: {podsPerNode: 2, cpu: 1500m, memory: 1Gi, readyAfter: 10s, endsAfter: 5s, maxUnavailable: 1}
---
`
)
