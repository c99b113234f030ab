// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// Happening is something that happens to the world from outside, at its time.
type Happening struct {
	At time.Time
	// What is the happening in words, for the trace.
	What string
	Do   func(*World)
}

func (w *World) followScript(index string) {
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(w.config.Script) {
		return
	}
	h := w.config.Script[i]
	w.tell("operator", "%s", h.What)
	h.Do(w)
}

// annotated is a change of one annotation; an empty value removes it.
func annotated[P client.Object](key, value string) func(P) {
	return func(o P) {
		if value == "" {
			o.SetAnnotations(rotation.Annotate(o.GetAnnotations(), nil, key))
		} else {
			o.SetAnnotations(rotation.Annotate(o.GetAnnotations(), map[string]string{key: value}))
		}
	}
}

// Freeze has an operator hold the pool until then, or let it go for the zero time.
func (w *World) Freeze(pool string, until time.Time) {
	value := ""
	if !until.IsZero() {
		value = rotation.FormatStamp(until)
	}
	w.AnnotatePool(pool, rotation.KeyFreeze, value)
}

// AnnotatePool has an operator set an annotation of a NodePool; an empty value removes it.
func (w *World) AnnotatePool(pool, key, value string) {
	if np := w.NodePool(pool); np != nil {
		cluster.Edit(w.Cluster, np, annotated[*karpenterv1.NodePool](key, value))
	}
}

// Protect has an operator protect a node, or take the protection away.
func (w *World) Protect(node string, protected bool) {
	value := ""
	if protected {
		value = rotation.ValueTrue
	}
	if n := w.Node(node); n != nil {
		cluster.Edit(w.Cluster, n, annotated[*corev1.Node](rotation.KeyDoNotDisrupt, value))
	}
}

// Cordon has an operator cordon a node, or uncordon it.
func (w *World) Cordon(node string, cordoned bool) {
	if n := w.Node(node); n != nil {
		cluster.Edit(w.Cluster, n, func(n *corev1.Node) { n.Spec.Unschedulable = cordoned })
	}
}

// EditPolicy has an operator change a policy.
func (w *World) EditPolicy(name string, change func(*v1alpha1.RotationPolicy)) error {
	policy := &v1alpha1.RotationPolicy{}
	if err := w.Get(context.Background(), client.ObjectKey{Name: name}, policy); err != nil {
		return err
	}
	policy = policy.DeepCopy()
	change(policy)
	return w.Update(policy)
}

// SlowDown has the Pods of every workload from now on take at least so long to end, as far as their grace period lets
// them; zero lets each take its own time again.
func (w *World) SlowDown(endsAfter time.Duration) { w.slow = endsAfter }

// RunOut has the cloud refuse every launch in the zone from now on; an empty one gives every zone its capacity back.
func (w *World) RunOut(zone string) { w.dry = zone }

// HoldUp has every launch from now on take so much longer than usual.
func (w *World) HoldUp(extra time.Duration) { w.held = extra }
