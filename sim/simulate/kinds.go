// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fleet describes a NodePool with its nodes and what runs on them, for those who have no manifests at hand. Where the
// input has a NodePool of this name, the nodes are that pool's, and what the pool's template says must not be said again.
type Fleet struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Pool is the NodePool's name, Labels are its labels, by which policies select it.
	Pool   string            `json:"pool"`
	Labels map[string]string `json:"labels"`
	// ExpireAfter of its nodes; they never expire without one.
	ExpireAfter            *Span               `json:"expireAfter"`
	TerminationGracePeriod *Span               `json:"terminationGracePeriod"`
	Limits                 corev1.ResourceList `json:"limits"`
	Zones                  []string            `json:"zones"`
	// Nodes, the youngest of the age Youngest and each Apart older than the one before.
	Nodes    int  `json:"nodes"`
	Youngest Span `json:"youngest"`
	Apart    Span `json:"apart"`
	// Batches are nodes born together.
	Batches []Batch `json:"batches"`
	// Node is what one node has to offer.
	Node     Shape  `json:"node"`
	Workload Burden `json:"workload"`

	place Place
}

// Batch is so many nodes of one age.
type Batch struct {
	Nodes int  `json:"nodes"`
	Age   Span `json:"age"`
}

// Shape is what a node has to offer to Pods.
type Shape struct {
	CPU    *resource.Quantity `json:"cpu"`
	Memory *resource.Quantity `json:"memory"`
}

// Burden is what runs on a fleet: one workload.
type Burden struct {
	PodsPerNode int                `json:"podsPerNode"`
	CPU         *resource.Quantity `json:"cpu"`
	Memory      *resource.Quantity `json:"memory"`
	// ReadyAfter and EndsAfter are how long a Pod takes to be Ready, and to end; Grace is its grace period, 30 s if unset.
	ReadyAfter Span  `json:"readyAfter"`
	EndsAfter  Span  `json:"endsAfter"`
	Grace      *Span `json:"gracePeriod"`
	// MinAvailable or MaxUnavailable make a PodDisruptionBudget.
	MinAvailable   *intstr.IntOrString `json:"minAvailable"`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
}

// Simulation says how a run goes, where the command line does not.
type Simulation struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Start      Moment `json:"start"`
	For        *Span  `json:"for"`
	Seed       uint64 `json:"seed"`
	// Title and Lesson are for the reader of the report.
	Title  string `json:"title"`
	Lesson string `json:"lesson"`
}

// Trouble is what goes wrong during a run.
type Trouble struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Shortages are when the cloud refuses instances.
	Shortages []Shortage `json:"shortages"`
	// SlowProvisioning is when every launch takes Extra longer.
	SlowProvisioning []Slowness `json:"slowProvisioning"`
	// SlowDrains is when every Pod takes at least EndsAfter to end, whatever its grace period was.
	SlowDrains []SlowDrain `json:"slowDrains"`
	// BlockingBudgets is when a PodDisruptionBudget over every Pod of a namespace allows no disruption.
	BlockingBudgets []Blockade `json:"blockingBudgets"`
	// Outages is when no controller runs.
	Outages []Stretch `json:"outages"`
	// Freezes is when an operator holds a pool.
	Freezes []Freeze `json:"freezes"`

	place Place
}

// Stretch is a time of a run: from a moment on, for so long; without For, to the end of the run.
type Stretch struct {
	From Moment `json:"from"`
	For  *Span  `json:"for"`
}

// Shortage is a time in which the cloud refuses instances.
type Shortage struct {
	Stretch
	// Zone that is short; empty for every zone.
	Zone string `json:"zone"`
	// Chance that a launch is refused, above 0 and up to 1; unset counts as certain.
	Chance *float64 `json:"chance"`
}

// Slowness is a time in which launches take longer.
type Slowness struct {
	Stretch
	Extra Span `json:"extra"`
}

// SlowDrain is a time in which Pods end slowly.
type SlowDrain struct {
	Stretch
	EndsAfter Span `json:"endsAfter"`
}

// Blockade is a time in which a namespace's Pods may not be disrupted. A Fleet's Pods are in the namespace of its
// pool's name.
type Blockade struct {
	Stretch
	Namespace string `json:"namespace"`
}

// Freeze is a time in which a pool is held.
type Freeze struct {
	Stretch
	Pool string `json:"pool"`
}
