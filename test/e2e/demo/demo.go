// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"noderotation.io/noderotation/test/cluster"
	"noderotation.io/noderotation/test/e2e/manifests"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
)

const (
	// provisioningDelay lets instances take a little while to come up, as real ones do.
	provisioningDelay = 2 * time.Second
	// fleetTimeout bounds how long the sample fleet takes to stand.
	fleetTimeout = 3 * time.Minute
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
}

// run goes from nothing to the verdict. Whatever it started has ended when it returns. The error is errBad if the verdict
// has been told and is bad.
func (d *demo) run(ctx context.Context) (err error) {
	if _, err := os.Stat(d.binary); err != nil {
		return fmt.Errorf("there is no controller to run: run `make build`, or name its binary with -controller: %w", err)
	}
	if _, err := cluster.Build(ctx, d.complaints); err != nil {
		return err
	}
	d.tell = from(d.now(), d.now, d.tell)

	var trouble bytes.Buffer
	if err := d.startCluster(ctx, &trouble); err != nil {
		return err
	}
	defer func() {
		d.cluster.Stop()
		if err != nil && ctx.Err() == nil {
			_, _ = trouble.WriteTo(d.complaints) // parts of the cluster that ended unexpectedly
		}
	}()
	if d.recorder, err = record.Start(ctx, d.cluster.Dynamic()); err != nil {
		return err
	}
	defer d.recorder.Stop()
	stood, err := d.fillFleet(ctx)
	if err != nil {
		return err
	}
	if err := d.startController(ctx); err != nil {
		return err
	}
	defer func() {
		if stopErr := d.controller.Stop(); err == nil {
			err = stopErr
		}
	}()
	return d.rotate(ctx, stood)
}

func (d *demo) startCluster(ctx context.Context, trouble io.Writer) (err error) {
	if err := d.tell(by(demonstration, demoBegins, "", fmt.Sprintf(
		"shows how a fleet of %d nodes is replaced before it expires; Ctrl-C ends it all", d.fleet.Nodes))); err != nil {
		return err
	}
	if err := d.tell(by(demonstration, clusterStarting, "", "starts etcd, API server, scheduler, controller manager, kwok and Karpenter")); err != nil {
		return err
	}
	if d.cluster, err = cluster.Start(ctx, cluster.Options{Name: "demo", Dir: d.dir, Log: trouble}); err != nil {
		return err
	}
	return d.tell(by(demonstration, clusterReady, "", "the cluster is ready: export KUBECONFIG="+d.cluster.Kubeconfig()))
}

// fillFleet applies the sample and returns the revision at which all of it stands.
func (d *demo) fillFleet(ctx context.Context) (stood record.Revision, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fleetTimeout, fmt.Errorf("it took longer than %s", fleetTimeout))
	defer cancel()
	f := &d.fleet
	if err := d.tell(by(demonstration, fleetApplied, "NodePool/"+f.Pool, fmt.Sprintf(
		"applies NodePool %s and a Deployment of %d Pods, of which its PDB allows 1 to be away", f.Pool, f.Replicas))); err != nil {
		return 0, err
	}
	install, err := manifests.All()
	if err != nil {
		return 0, err
	}
	if err := d.cluster.ProvisioningDelay(ctx, provisioningDelay); err != nil {
		return 0, err
	}
	if err := d.cluster.Apply(ctx, slices.Concat(install, []byte("\n---\n"), fleetManifest)); err != nil {
		return 0, err
	}
	if err := d.recorder.Await(ctx, "the sample fleet stands", f.stands); err != nil {
		return 0, err
	}
	if stood, err = d.recorder.Fence(ctx); err != nil {
		return 0, err
	}
	recording, err := d.recorder.Recording()
	if err != nil {
		return 0, err
	}
	world, zones := recording.Between(0, stood).End(), map[string]bool{}
	for _, claim := range world.ClaimsOf(f.Pool) {
		f.Originals = append(f.Originals, claim.Name)
		zones[zoneOf(claim)] = true
	}
	return stood, d.tell(by(kubernetes, fleetStands, "NodePool/"+f.Pool, fmt.Sprintf(
		"the fleet stands: %d nodes in %d zones, %d of %d Pods Ready", len(f.Originals), len(zones), f.ready(world), f.Replicas)))
}

// startController runs the product with the rights of its ServiceAccount, and no more.
func (d *demo) startController(ctx context.Context) error {
	kubeconfig, err := d.cluster.KubeconfigFor(manifests.User, nil)
	if err != nil {
		return err
	}
	d.controller, err = process.Start(ctx, process.Options{
		Binary: d.binary, Kubeconfig: kubeconfig, Namespace: manifests.Namespace, Log: d.log(), LeaderElection: true,
	})
	if err != nil {
		return err
	}
	return d.tell(by(noderotation, controllerRuns, "", "the controller runs; no policy selects the NodePool, so it is left alone"))
}

// log is the controller's.
func (d *demo) log() string { return filepath.Join(d.cluster.Dir(), "noderotation.log") }

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
		"applies RotationPolicy "+d.fleet.Pool+": replace each node while 2 windows are left to it")); err != nil {
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
