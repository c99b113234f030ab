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
	if err := d.tell(by(demonstration, demoBegins, "", fmt.Sprintf(
		"shows how a fleet of %d nodes is replaced before it expires; Ctrl-C ends it all", d.fleet.Nodes))); err != nil {
		return err
	}
	if err := d.tell(by(demonstration, clusterStarting, "", "starts etcd, API server, scheduler, controller manager, kwok and Karpenter")); err != nil {
		return err
	}
	if d.cluster, err = cluster.Start(ctx, cluster.Options{Name: "demo", Dir: d.dir, Log: &d.trouble}); err != nil {
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
	return d.tell(by(noderotation, controllerRuns, "", "runs; no policy selects NodePool "+d.fleet.Pool+", so it is left alone"))
}

// log is the controller's.
func (d *demo) log() string { return filepath.Join(d.cluster.Dir(), "noderotation.log") }
