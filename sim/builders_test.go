// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim"
	"noderotation.io/noderotation/sim/cluster"
)

const day = 24 * time.Hour

// The windows of every policy are those of §3.2's first example, Wed and Sat 02:00–06:00 Asia/Tokyo. The worlds begin at
// midnight UTC of a Friday, so that the first window opens 17 hours later.
var (
	start   = time.Date(2026, time.January, 9, 0, 0, 0, 0, time.UTC)
	opening = start.Add(17 * time.Hour)
)

// theTable is the product's own.
var theTable = func() *controller.Machine {
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		panic(err)
	}
	return machine
}()

// aPolicy has every default and selects every pool, edited.
func aPolicy(edits ...func(*v1alpha1.RotationPolicy)) *v1alpha1.RotationPolicy {
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "weekly"}}
	policy.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{
		Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00",
	}}
	for _, edit := range edits {
		edit(policy)
	}
	return policy
}

// aFleet is the pool of §3.2's first example: expireAfter 14d, terminationGracePeriod 1h, two Pods of 1.5 CPU on each node of 4.
func aFleet(pool string, ages ...time.Duration) sim.Fleet {
	return sim.Fleet{
		Pool: pool, ExpireAfter: 14 * day, TerminationGracePeriod: time.Hour, Ages: ages, Zones: []string{"a"},
		PodsPerNode: 2, CPU: "1500m", Memory: "1Gi", ReadyAfter: 5 * time.Second, EndsAfter: 2 * time.Second,
	}
}

func aBudget(namespace string, minAvailable int) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "budget"}}
	least := intstr.FromInt(minAvailable)
	budget.Spec.MinAvailable = &least
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": namespace}}
	return budget
}

// aConfig begins at start, traced.
func aConfig() sim.Config {
	return sim.Config{Start: start, Seed: 1, Machine: theTable, Trace: &sim.Trace{}}
}

func aWorld(config sim.Config, fleets []sim.Fleet, objects ...client.Object) *sim.World {
	for _, fleet := range fleets {
		objects = fleet.Join(&config, objects)
	}
	w, err := sim.New(config, objects...)
	if err != nil {
		panic(err)
	}
	return w
}

// rowsOf are the rows that fired with an effect for the pool, in order.
func rowsOf(trace *sim.Trace, pool string) []string {
	var rows []string
	for _, line := range trace.Lines() {
		if _, fired, ok := strings.Cut(line, "controller "+pool+": "); ok {
			row, _, _ := strings.Cut(fired, " ")
			rows = append(rows, row)
		}
	}
	return rows
}

// leftovers are the marks of a rotation that are still somewhere.
func leftovers(w *sim.World) []string {
	var left []string
	w.Each(func(kind cluster.Kind, o client.Object) {
		if pod, ok := o.(*corev1.Pod); ok && rotation.IsPlaceholder(pod) {
			left = append(left, "placeholder "+pod.Name)
		}
		for key := range o.GetAnnotations() {
			of := kind.String() + " " + o.GetName() + " " + key
			switch {
			case kind == cluster.NodePool && slices.Contains(rotation.AnchorKeys(), key):
				left = append(left, of)
			case kind == cluster.Node && (rotation.IsNodeMarker(key) || key == rotation.KeyDoNotDisrupt):
				left = append(left, of)
			case kind == cluster.NodeClaim && (key == rotation.KeyStartedAt || key == rotation.KeySurgeClaim):
				left = append(left, of)
			}
		}
		if node, ok := o.(*corev1.Node); ok && node.Spec.Unschedulable {
			left = append(left, "cordon of "+node.Name)
		}
	})
	return left
}

// mostClaims watches a world for the most NodeClaims that a pool has at one time.
func mostClaims(config *sim.Config, w **sim.World, pool string) *int {
	most := new(int)
	config.Seen = func(cluster.Change) {
		if *w != nil {
			*most = max(*most, claimsOf(*w, pool))
		}
	}
	return most
}

func claimsOf(w *sim.World, pool string) int {
	n := 0
	for _, claim := range w.NodeClaims() {
		if claim.Labels[rotation.LabelNodePool] == pool {
			n++
		}
	}
	return n
}

// at is a happening so long after the first window opens.
func at(after time.Duration, what string, do func(*sim.World)) sim.Happening {
	return sim.Happening{At: opening.Add(after), What: what, Do: do}
}

// writesOf are the controller's requests, in order.
func writesOf(trace *sim.Trace) []string {
	var writes []string
	for _, line := range trace.Lines() {
		for _, verb := range []string{"  patch ", "  create ", "  delete "} {
			if strings.HasPrefix(line, verb) {
				writes = append(writes, strings.TrimSpace(line))
			}
		}
	}
	return writes
}

// aFleetPod is a Pod of nobody's that belongs on the pool and asks for so much CPU.
func aFleetPod(name, pool, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: name},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{rotation.LabelNodePool: pool},
			Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *quantity(cpu)},
			}}},
		},
	}
}

func quantity(s string) *resource.Quantity {
	q := resource.MustParse(s)
	return &q
}
