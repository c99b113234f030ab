// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

// unreliable refuses every nth write, before it takes effect or after.
type unreliable struct {
	client.Client
	nth   int
	after bool
	count *int
}

var errLost = errors.New("the connection was lost")

func (u unreliable) through(do func() error) error {
	*u.count++
	if *u.count%u.nth != 0 {
		return do()
	}
	if u.after {
		_ = do()
	}
	return errLost
}

func (u unreliable) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return u.through(func() error { return u.Client.Create(ctx, o, options...) })
}

func (u unreliable) Patch(ctx context.Context, o client.Object, p client.Patch, options ...client.PatchOption) error {
	return u.through(func() error { return u.Client.Patch(ctx, o, p, options...) })
}

func (u unreliable) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return u.through(func() error { return u.Client.Delete(ctx, o, options...) })
}

// After any trouble a quiet time must leave a cluster with nothing of ours in it, and the fleet as large as before: the
// claims about crash safety of architecture.md, by example. The explorer is exhaustive.
var _ = DescribeTable("Trouble that ends leaves nothing behind", func(seed uint64) {
	config := aConfig()
	config.Seed = seed
	config.Controller.Lag = time.Duration(seed%3) * time.Second
	count := 0
	config.Controller.Writes = func(c client.Client) client.Client {
		return unreliable{c, 3 + int(seed%5), seed%2 == 0, &count}
	}
	trouble := opening.Add(2 * time.Hour)
	config.Karpenter.Shortages = []sim.Shortage{{From: opening, Until: trouble, Chance: 0.4}}
	config.Karpenter.Slow = []sim.Slowness{{From: opening, Until: trouble, Extra: time.Duration(seed%4) * 4 * time.Minute}}
	config.Karpenter.ConsolidateAfter = 5 * time.Minute
	for i := range 20 {
		down := time.Duration(i)*6*time.Minute + time.Duration(seed*37%300)*time.Second
		config.Script = append(config.Script,
			at(down, "kills the controller", func(w *sim.World) { w.StopController() }),
			at(down+time.Duration(seed*7%90)*time.Second, "starts it", func(w *sim.World) { w.StartController() }))
	}
	var w *sim.World
	pools := []string{"api", "web"}
	var overfull []string
	config.Seen = func(c cluster.Change) {
		for _, pool := range pools {
			if n := 0; w != nil && c.Kind == cluster.NodeClaim {
				if n = claimsOf(w, pool); n > 4 {
					overfull = append(overfull, fmt.Sprintf("%s has %d claims at %s", pool, n, w.Now()))
				}
			}
		}
	}
	w = aWorld(config, []sim.Fleet{aFleet("api", 10*day, 9*day, day), aFleet("web", 10*day, 9*day, day)}, aPolicy(), aBudget("api", 5))
	w.RunUntil(start.Add(2 * day))
	Expect(leftovers(w)).To(BeEmpty(), config.Trace.String())
	Expect(w.NodeClaim("api-0")).To(BeNil(), config.Trace.String())
	Expect(overfull).To(BeEmpty(), config.Trace.String())
	for _, pool := range pools {
		Expect(claimsOf(w, pool)).To(Equal(3), config.Trace.String())
	}
}, func() []TableEntry {
	var entries []TableEntry
	for seed := range uint64(24) {
		entries = append(entries, Entry(fmt.Sprintf("seed %d", seed), seed+1))
	}
	return entries
}())
