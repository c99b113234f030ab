// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

// demo is one demonstration.
type demo struct {
	fleet      fleet
	binary     string
	dir        string        // for what the cluster and the controller write; a temporary one if empty
	limit      time.Duration // of the rotations
	tell       teller
	now        func() time.Time
	complaints io.Writer

	cluster    *cluster.Cluster
	recorder   *record.Recorder
	controller *process.Controller
	// trouble is where the cluster says which of its parts ended unexpectedly.
	trouble bytes.Buffer
}

// run goes from nothing to the verdict. Whatever it started has ended when it returns. The error is errBad if the verdict
// has been told and is bad.
func (d *demo) run(ctx context.Context) (err error) {
	if _, err := os.Stat(d.binary); err != nil {
		return fmt.Errorf("there is no controller to run: run `make build`, or name its binary with -controller: %w", err)
	}
	if left, _ := os.ReadDir(d.dir); d.dir != "" && len(left) > 0 {
		return fmt.Errorf("the folder %s is not empty: name another, or remove what an earlier demonstration left there", d.dir)
	}
	if _, err := cluster.Build(ctx, d.complaints); err != nil {
		return err
	}
	d.tell = from(d.now(), d.now, d.tell)

	defer func() { err = d.end(ctx, err) }()
	if err := d.startCluster(ctx); err != nil {
		return err
	}
	if d.recorder, err = record.Start(ctx, d.cluster.Dynamic()); err != nil {
		return err
	}
	stood, err := d.fillFleet(ctx)
	if err != nil {
		return err
	}
	if err := d.startController(ctx); err != nil {
		return err
	}
	return d.rotate(ctx, stood)
}

// end ends whatever was started, the controller first, and returns what there is to complain about.
func (d *demo) end(ctx context.Context, err error) error {
	if d.controller != nil {
		if stopped := d.controller.Stop(); err == nil {
			err = stopped
		}
	}
	if d.recorder != nil {
		d.recorder.Stop()
	}
	if d.cluster != nil {
		d.cluster.Stop()
	}
	if err != nil && ctx.Err() == nil {
		_, _ = d.trouble.WriteTo(d.complaints)
	}
	return err
}

// rotate opens the window, tells the rotations until the fleet is new, and judges them.
func (d *demo) rotate(ctx context.Context, stood record.Revision) error {
	begun, w := d.now(), windowFrom(d.now())
	manifest, err := policy(w)
	if err != nil {
		return err
	}
	if err := d.cluster.Apply(ctx, manifest); err != nil {
		return err
	}
	if err := d.tell(by(demonstration, policyApplied, "RotationPolicy/"+d.fleet.Pool,
		"applies RotationPolicy "+d.fleet.Pool+": each node gets 2 chances before Karpenter expires it")); err != nil {
		return err
	}
	if err := d.tell(by(demonstration, windowOpen, "RotationPolicy/"+d.fleet.Pool, fmt.Sprintf(
		"the window is open, daily %s–%s UTC, and all nodes are due", w.Start, w.End))); err != nil {
		return err
	}
	ended, counted, broken := d.watch(ctx, stood)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	recording, err := d.recorder.Recording()
	if err != nil {
		return err
	}
	breaches := judge(d.fleet, recording.Between(stood, ended))
	if broken != nil {
		breaches = slices.Insert(breaches, 0, broken.Error())
	}
	if err := d.tell(conclude(counted, breaches, d.now().Sub(begun))); err != nil || len(breaches) == 0 {
		return err
	}
	return errBad
}

// watch tells what happens until the fleet is new, and returns up to where and what it has counted. The error says why it
// could not wait for that.
func (d *demo) watch(ctx context.Context, stood record.Revision) (ended record.Revision, counted tally, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("the fleet was not new after %s", d.limit))
	defer cancel()
	ctx, broken := context.WithCancelCause(ctx)
	defer broken(nil)
	go func() {
		select {
		case <-d.controller.Ended():
			broken(d.controller.Died())
		case <-ctx.Done():
		}
	}()
	recording, err := d.recorder.Recording()
	if err != nil {
		return stood, tally{}, err
	}
	counted = d.fleet.begin(recording.Between(0, stood).End())
	var unheard error
	ended, err = follow(ctx, d.recorder, stood, func(event record.Event, world record.World) bool {
		counted = counted.count(d.fleet, world)
		completed := false
		for _, h := range d.fleet.narrate(event, world) {
			unheard = errors.Join(unheard, d.tell(h))
			completed = completed || h.What == rotationCompleted
		}
		if completed {
			unheard = errors.Join(unheard, d.tell(counted.progress()))
		}
		return unheard != nil || d.fleet.isNew(world)
	})
	return ended, counted, errors.Join(err, unheard)
}
