// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// Sweep removes what no anchor references: once, before the first pass of a process that leads (§5.3 startup sweep), for a
// NodePool that went away with its anchor (§3.8), and for one that has lost its anchor to another hand.
type Sweep struct {
	Cache client.Reader
	// Live asks the API server. Only the NodePools are read through it, after everything else: whatever a cached claim,
	// Node or Pod says of a rotation was written after its anchor, which the answer then shows. A cache of NodePools that
	// lags behind would have the sweep take a rotation in flight for a leftover.
	Live     client.Reader
	Applier  *Applier
	Clock    clock.PassiveClock
	Settings rotation.Settings
}

// Everything sweeps the whole cluster. It is best effort: what cannot be removed is logged, and never fatal. The error
// says what cannot be listed.
func (w *Sweep) Everything(ctx context.Context) error {
	inventory, err := w.inventory(ctx)
	if err != nil {
		return err
	}
	_, _ = w.remove(ctx, inventory.Now, inventory.Leftovers()) // logged item by item
	return nil
}

// Abandoned sweeps what belonged to a NodePool that no longer exists. Its claims are Karpenter's to finish. The error is
// returned so that the pass is made again: no other will come by.
func (w *Sweep) Abandoned(ctx context.Context, pool string) error {
	inventory, err := w.inventory(ctx)
	if err != nil {
		return err
	}
	inventory.Claims = nil
	_, err = w.remove(ctx, inventory.Now, leftIn(pool, inventory.Leftovers()))
	return err
}

// Unanchored sweeps one pool that has lost its anchor to another hand, so that nobody has to restart the controller for
// it. The result is the number of writes; what cannot be removed is logged, and looked at again by the next pass. The error
// says what cannot be listed.
func (w *Sweep) Unanchored(ctx context.Context, pool string) (int, error) {
	inventory, err := w.inventory(ctx)
	if err != nil {
		return 0, err
	}
	writes, _ := w.remove(ctx, inventory.Now, leftIn(pool, inventory.Leftovers())) // logged item by item
	return writes, nil
}

// leftIn keeps the leftovers of the pool.
func leftIn(pool string, left []effects.Leftover) []effects.Leftover {
	return slices.DeleteFunc(left, func(l effects.Leftover) bool { return l.Pool != pool })
}

// remove carries out what it can of what was found at that time. It returns the number of writes and the last error.
func (w *Sweep) remove(ctx context.Context, found time.Time, left []effects.Leftover) (writes int, last error) {
	run := w.Applier.begin(found)
	for _, l := range left {
		wrote, err := run.apply(ctx, l.Pool, l.Actions)
		writes += wrote
		if err != nil {
			last = err
			notRemoved(ctx, l.Pool, err)
			continue
		}
		for _, action := range l.Actions {
			log.FromContext(ctx).Info("swept", "pool", l.Pool, "action", action.String())
		}
	}
	return writes, last
}

// notRemoved tells of a leftover that is still there. One that somebody else has changed meanwhile may not be one any more.
func notRemoved(ctx context.Context, pool string, err error) {
	logger := log.FromContext(ctx).WithValues("pool", pool)
	if heldUp(err) {
		logger.Info("a leftover of an earlier rotation is left to the next sweep: this one took too long", "reason", err.Error())
		return
	}
	if overtaken(err) {
		logger.V(1).Info("a leftover of an earlier rotation has changed and is looked at again", "reason", err.Error())
		return
	}
	logger.Error(err, "a leftover of an earlier rotation could not be removed")
}

func (w *Sweep) inventory(ctx context.Context) (effects.Inventory, error) {
	inventory := effects.Inventory{Now: w.Clock.Now()}
	var (
		pools  karpenterv1.NodePoolList
		claims karpenterv1.NodeClaimList
		nodes  corev1.NodeList
		pods   corev1.PodList
	)
	for _, list := range []struct {
		from    client.Reader
		of      client.ObjectList
		options []client.ListOption
	}{
		{w.Cache, &claims, nil}, {w.Cache, &nodes, nil},
		{w.Cache, &pods, []client.ListOption{client.InNamespace(w.Settings.Namespace)}},
		{w.Live, &pools, nil},
	} {
		if err := list.from.List(ctx, list.of, list.options...); err != nil {
			return inventory, fmt.Errorf("the sweep cannot list %T: %w", list.of, err)
		}
	}
	for i := range pools.Items {
		inventory.Pools = append(inventory.Pools, poolOf(&pools.Items[i]))
	}
	for i := range claims.Items {
		inventory.Claims = append(inventory.Claims, claimOf(&claims.Items[i]))
	}
	for i := range nodes.Items {
		inventory.Nodes = append(inventory.Nodes, &nodes.Items[i])
	}
	for i := range pods.Items {
		if rotation.IsPlaceholder(&pods.Items[i]) {
			inventory.Placeholders = append(inventory.Placeholders, &pods.Items[i])
		}
	}
	return inventory, nil
}

// Gate lets passes through once the startup sweep is done.
type Gate struct{ open chan struct{} }

// NewGate is closed.
func NewGate() *Gate { return &Gate{make(chan struct{})} }

// Open lets everybody through. It is called once.
func (g *Gate) Open() { close(g.open) }

// Wait returns when the gate is open, or with the context's error if it was not by then.
func (g *Gate) Wait(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	default:
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
