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
	// stood is the revision at which the fleet stood, before anything was rotated.
	stood record.Revision
	// unheard is why nobody listens any more.
	unheard error
	// trouble is where the cluster says which of its parts ended unexpectedly.
	trouble bytes.Buffer
}

// run goes from nothing to the verdict. Whatever it started has ended when it returns. The error is errBad if the verdict
// has been told and is bad.
func (d *demo) run(ctx context.Context) error {
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
	err := errors.Join(d.play(ctx), d.end())
	if err != nil && ctx.Err() == nil {
		_, _ = d.trouble.WriteTo(d.complaints)
	}
	return err
}

// play is what is to be seen, act by act.
func (d *demo) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{
		d.startCluster, d.startRecorder, d.fillFleet, d.startController, d.openWindow, d.rotate,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end ends whatever was started, the controller first.
func (d *demo) end() (err error) {
	if d.controller != nil {
		err = d.controller.Stop()
	}
	if d.recorder != nil {
		d.recorder.Stop()
	}
	if d.cluster != nil {
		d.cluster.Stop()
	}
	return err
}

// say tells a happening, unless nobody listens any more.
func (d *demo) say(h happening) {
	if d.unheard == nil {
		d.unheard = d.tell(h)
	}
}

// rotate tells the rotations until the fleet is new, and judges them.
func (d *demo) rotate(ctx context.Context) error {
	begun := d.now()
	ended, counted, broken := d.watch(ctx)
	if interrupted := errors.Join(ctx.Err(), d.unheard); interrupted != nil {
		return interrupted
	}
	recording, err := d.recorder.Recording()
	if err != nil {
		return err
	}
	breaches := judge(d.fleet, recording.Between(d.stood, ended))
	if broken != nil {
		breaches = slices.Insert(breaches, 0, broken.Error())
	}
	d.say(conclude(counted, breaches, d.now().Sub(begun)))
	if len(breaches) > 0 {
		return errBad
	}
	return d.unheard
}

// watch tells what happens until the fleet is new, and returns up to where and what it has counted. The error says why it
// could not wait for that.
func (d *demo) watch(ctx context.Context) (record.Revision, tally, error) {
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
		return d.stood, tally{}, err
	}
	counted := d.fleet.begin(recording.Between(0, d.stood).End())
	ended, err := follow(ctx, d.recorder, d.stood, func(event record.Event, world record.World) bool {
		counted = counted.count(d.fleet, world)
		for _, h := range d.fleet.narrate(event, world) {
			d.say(h)
			if h.What == rotationCompleted {
				d.say(counted.progress())
			}
		}
		return d.unheard != nil || d.fleet.isNew(world)
	})
	return ended, counted, err
}
