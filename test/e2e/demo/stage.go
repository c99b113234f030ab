// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
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

// startCluster starts the control plane, whose executable has been built.
func (d *demo) startCluster(ctx context.Context) (err error) {
	d.say(by(demonstration, demoBegins, "", fmt.Sprintf(
		"shows a fleet of %d nodes being replaced before it expires; Ctrl-C ends it", d.fleet.Nodes)))
	d.say(by(demonstration, clusterStarting, "", "starts etcd, API server, scheduler, controller manager, kwok and Karpenter"))
	if d.cluster, err = cluster.Start(ctx, cluster.Options{Name: "demo", Dir: d.dir, Log: &d.trouble}); err != nil {
		return err
	}
	d.say(by(demonstration, clusterReady, "", "the cluster is ready: export KUBECONFIG="+d.cluster.Kubeconfig()))
	return nil
}

// startRecorder begins to record what happens in the cluster.
func (d *demo) startRecorder(ctx context.Context) (err error) {
	d.recorder, err = record.Start(ctx, d.cluster.Dynamic())
	return err
}

// fillFleet applies the sample and waits until all of it stands.
func (d *demo) fillFleet(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, fleetTimeout, fmt.Errorf("it took longer than %s", fleetTimeout))
	defer cancel()
	f := &d.fleet
	d.say(by(demonstration, fleetApplied, "NodePool/"+f.Pool, fmt.Sprintf(
		"applies NodePool %s and a Deployment of %d Pods; its PDB allows 1 away", f.Pool, f.Replicas)))
	if err := d.applyFleet(ctx); err != nil {
		return err
	}
	if err := d.recorder.Await(ctx, "the sample fleet stands", f.stands); err != nil {
		return err
	}
	stood, err := d.recorder.Fence(ctx)
	if err != nil {
		return err
	}
	recording, err := d.recorder.Recording()
	if err != nil {
		return err
	}
	d.stood = stood
	world, zones := recording.Between(0, stood).End(), map[string]bool{}
	for _, claim := range world.ClaimsOf(f.Pool) {
		f.Originals = append(f.Originals, claim.Name)
		zones[zoneOf(claim)] = true
	}
	d.say(by(kubernetes, fleetStands, "NodePool/"+f.Pool, fmt.Sprintf(
		"the fleet stands: %d nodes in %d zones, %d of %d Pods Ready", len(f.Originals), len(zones), f.ready(world), f.Replicas)))
	return nil
}

// applyFleet installs what the controller needs, and the sample.
func (d *demo) applyFleet(ctx context.Context) error {
	if err := d.cluster.ProvisioningDelay(ctx, provisioningDelay); err != nil {
		return err
	}
	install, err := manifests.All()
	if err != nil {
		return err
	}
	return d.cluster.Apply(ctx, slices.Concat(install, []byte("\n---\n"), fleetManifest))
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
	d.say(by(noderotation, controllerRuns, "", "runs; no policy selects NodePool "+d.fleet.Pool+", so it is left alone"))
	return nil
}

// openWindow applies the policy, whose window is open.
func (d *demo) openWindow(ctx context.Context) error {
	w := windowFrom(d.now())
	manifest, err := policy(w)
	if err == nil {
		err = d.cluster.Apply(ctx, manifest)
	}
	if err != nil {
		return err
	}
	object := "RotationPolicy/" + d.fleet.Pool
	d.say(by(demonstration, policyApplied, object, "applies RotationPolicy "+d.fleet.Pool+": each node gets 2 chances before it expires"))
	d.say(by(demonstration, windowOpen, object, fmt.Sprintf("the window is open, daily %s–%s UTC, and all nodes are due", w.Start, w.End)))
	return nil
}

// log is the controller's.
func (d *demo) log() string { return filepath.Join(d.cluster.Dir(), "noderotation.log") }
