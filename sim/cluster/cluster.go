// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Change is one write that took effect: a creation without Before, a removal without After.
type Change struct {
	Kind          Kind
	Before, After client.Object
	Version       uint64
}

// Object is the object as the change left it, or as it was when it was removed.
func (c Change) Object() client.Object {
	if c.After != nil {
		return c.After
	}
	return c.Before
}

// Key names the object.
func (c Change) Key() Key { return KeyOf(c.Object()) }

// PriorityClass is what admission puts into a Pod that names the class.
type PriorityClass struct {
	Value            int32
	PreemptionPolicy corev1.PreemptionPolicy
}

// Cluster is the live objects and the API server in front of them.
type Cluster struct {
	// View reads the live objects.
	*View
	// Clock stamps creations and deletions.
	Clock clock.PassiveClock
	// Changed, where set, is told of every write that took effect, in order.
	Changed func(Change)
	// PriorityClasses by name, read only.
	PriorityClasses map[string]PriorityClass

	uids uint64
	// selectors are those of budgets, ready for matching: a cache, no state.
	selectors map[*metav1.LabelSelector]labels.Selector
}

// New is an empty cluster with these indexes.
func New(clock clock.PassiveClock, indexes []Index) *Cluster {
	view := newView(indexes)
	return &Cluster{View: &view, Clock: clock}
}

// Clone is an independent cluster with the same objects, whose changes go to nobody yet.
func (c *Cluster) Clone(clock clock.PassiveClock) *Cluster {
	return &Cluster{View: c.View.Clone(), Clock: clock, PriorityClasses: c.PriorityClasses, uids: c.uids}
}

// Load puts objects into the cluster as they are, status, ages and deletions included: a cluster's beginning. UID and
// creationTimestamp are given where they are missing.
func (c *Cluster) Load(objects ...client.Object) error {
	for _, o := range objects {
		if copied, ok := o.DeepCopyObject().(client.Object); ok {
			o = copied
		}
		if err := c.Place(o); err != nil {
			return err
		}
	}
	return nil
}

// Place is Load of objects that the caller leaves to the cluster: they become the stored ones, without a copy.
func (c *Cluster) Place(objects ...client.Object) error {
	for _, o := range objects {
		kind, err := KindOf(o)
		if err != nil {
			return err
		}
		if c.tables[kind].get(KeyOf(o)) != nil {
			return fmt.Errorf("%s %s is there twice", kind, KeyOf(o))
		}
		if o.GetUID() == "" {
			o.SetUID(c.nextUID())
		}
		if created := o.GetCreationTimestamp(); created.IsZero() {
			o.SetCreationTimestamp(c.now())
		}
		if kinds[kind].generations && o.GetGeneration() == 0 {
			o.SetGeneration(1)
		}
		if pod, ok := o.(*corev1.Pod); ok {
			c.admit(pod)
		}
		c.put(kind, nil, o)
	}
	return nil
}

// Edit changes an object directly, as a controller of the cluster's own does that is never in anybody's way: no
// precondition, and status and metadata alike. change gets a copy that shares maps and slices with the object: it
// replaces those that it changes. It returns the new object, or nil when the object is gone.
func Edit[V any, P pointer[V]](c *Cluster, object P, change func(P)) P {
	kind, err := KindOf(object)
	if err != nil {
		panic(err)
	}
	current, _ := c.tables[kind].get(KeyOf(object)).(P)
	if current == nil || current.GetUID() != object.GetUID() {
		return nil
	}
	next := P(ptrTo(*current))
	change(next)
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && kind != Pod {
		c.take(kind, current)
		return nil
	}
	c.put(kind, current, next)
	return next
}

// Remove takes an object out at once, finalizers or not: what a kubelet, a garbage collector or a cloud does.
func (c *Cluster) Remove(object client.Object) {
	kind, err := KindOf(object)
	if err != nil {
		panic(err)
	}
	if current := c.tables[kind].get(KeyOf(object)); current != nil && current.GetUID() == object.GetUID() {
		c.take(kind, current)
	}
}

// put stores an object under the next resourceVersion. An empty map of annotations is none: JSON leaves it out.
func (c *Cluster) put(kind Kind, before, after client.Object) {
	c.version++
	if len(after.GetAnnotations()) == 0 {
		after.SetAnnotations(nil)
	}
	after.SetResourceVersion(strconv.FormatUint(c.version, 10))
	c.tables[kind].set(KeyOf(after), before, after)
	c.tell(Change{kind, before, after, c.version})
}

// take removes an object.
func (c *Cluster) take(kind Kind, before client.Object) {
	c.version++
	c.tables[kind].set(KeyOf(before), before, nil)
	c.tell(Change{kind, before, nil, c.version})
}

func (c *Cluster) tell(change Change) {
	if c.Changed != nil {
		c.Changed(change)
	}
}

// now is the time at the resolution that the API server keeps.
func (c *Cluster) now() metav1.Time { return metav1.NewTime(c.Clock.Now().UTC().Truncate(time.Second)) }

// nextUID counts: the same run gives the same UIDs.
func (c *Cluster) nextUID() types.UID {
	c.uids++
	return types.UID("uid-" + strconv.FormatUint(c.uids, 10))
}

// admit does what the priority admission plugin does.
func (c *Cluster) admit(pod *corev1.Pod) {
	if pod.Spec.Priority != nil {
		return
	}
	class := c.PriorityClasses[pod.Spec.PriorityClassName]
	pod.Spec.Priority = &class.Value
	if class.PreemptionPolicy != "" {
		pod.Spec.PreemptionPolicy = &class.PreemptionPolicy
	}
}

// Condition returns the condition list with this Pod condition set.
func Condition(conditions []corev1.PodCondition, set corev1.PodCondition) []corev1.PodCondition {
	i := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool { return c.Type == set.Type })
	out := slices.Clone(conditions)
	if i < 0 {
		return append(out, set)
	}
	out[i] = set
	return out
}
