// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed" // the sample's manifests
	"fmt"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

var (
	//go:embed fleet.yaml
	fleetManifest []byte
	//go:embed policy.yaml
	policyManifest string
)

const (
	// windowLength is how long the sample's daily window stays open.
	windowLength = 4 * time.Hour
	// wallClock is how a policy writes the hour of a window's start and end.
	wallClock = "15:04"
)

// fleet is what the story is about, as fleet.yaml and policy.yaml describe it.
type fleet struct {
	Pool     string
	App      string // the label app of its Pods; the name of their Deployment and PodDisruptionBudget
	Nodes    int
	Replicas int
	Cooldown time.Duration
	// Originals are the NodeClaims that it stands on before the first rotation.
	Originals []string
}

func sample() fleet {
	return fleet{Pool: "web", App: "web", Nodes: 4, Replicas: 12, Cooldown: 5 * time.Second}
}

// window is the daily maintenance window of the sample's policy.
type window struct{ Start, End string }

// windowFrom is the window that opens in the minute of now, in UTC.
func windowFrom(now time.Time) window {
	now = now.UTC()
	return window{Start: now.Format(wallClock), End: now.Add(windowLength).Format(wallClock)}
}

// policy is the manifest of the RotationPolicy with its window.
func policy(w window) ([]byte, error) {
	text, err := template.New("policy.yaml").Parse(policyManifest)
	if err != nil {
		return nil, fmt.Errorf("the sample's policy cannot be read: %w", err)
	}
	var manifest bytes.Buffer
	if err := text.Execute(&manifest, w); err != nil {
		return nil, fmt.Errorf("the window cannot be written into the sample's policy: %w", err)
	}
	return manifest.Bytes(), nil
}

// budget names the fleet's PodDisruptionBudget.
func (f fleet) budget() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespaceDefault, Name: f.App}
}

// owns tells whether an object belongs to the fleet's NodePool.
func (f fleet) owns(object record.Object) bool {
	return object.GetLabels()[karpenterv1.NodePoolLabelKey] == f.Pool
}

// runs tells whether the Pod is one of the fleet's workload.
func (f fleet) runs(pod *corev1.Pod) bool { return pod.Labels["app"] == f.App }

// ready counts the Pods of the workload that are Ready and not on their way out.
func (f fleet) ready(world record.World) (ready int) {
	for _, pod := range world.Pods {
		if f.runs(pod) && record.PodReady(pod) {
			ready++
		}
	}
	return ready
}

// size is how many nodes the pool has: those that exist, and those that are being launched or ended.
func (f fleet) size(world record.World) int {
	return max(len(world.ClaimsOf(f.Pool)), len(world.NodesOf(f.Pool)))
}

// stands tells whether every node has been launched and initialized, and every Pod is Ready.
func (f fleet) stands(world record.World) bool {
	claims := world.ClaimsOf(f.Pool)
	for _, claim := range claims {
		if !holds(claim, karpenterv1.ConditionTypeInitialized) {
			return false
		}
	}
	return len(claims) == f.Nodes && f.ready(world) == f.Replicas
}

// replaced counts the original nodes that are gone.
func (f fleet) replaced(world record.World) int {
	gone := len(f.Originals)
	for _, name := range f.Originals {
		if world.Claims[name] != nil {
			gone--
		}
	}
	return gone
}

// isNew tells whether every original node has been replaced, no rotation is under way, and all Pods are back.
func (f fleet) isNew(world record.World) bool {
	pool := world.Pools[f.Pool]
	return pool != nil && pool.Annotations[rotation.KeyActiveRotation] == "" &&
		f.replaced(world) == f.Nodes && f.ready(world) == f.Replicas
}

// holds tells whether a condition of the claim is True.
func holds(claim *karpenterv1.NodeClaim, condition string) bool {
	for _, c := range claim.Status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
