// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// The retries of a pass that failed, each twice as late as the one before. The longest is a rotation's ordinary pace, so that a write that keeps being
// refused cannot keep readyTimeout from being noticed.
const (
	FirstRetry   = afterConflict
	LongestRetry = rotation.ShortRequeue
)

// Watch is one kind of object that can wake a pass.
type Watch struct {
	Object client.Object
	// Matters keeps out the churn that no guard reads: a change wakes only if all of them let it through.
	Matters []predicate.Predicate
	// Pools tells whose pass an object wakes.
	Pools handler.MapFunc
	// Rest is how long a pass lets pass after the end of an object; zero for nothing.
	Rest time.Duration
}

// RestAfterPlaceholder keeps whoever ends every placeholder as soon as it is there from a pass that creates the next at
// once, hundreds of times a minute until readyTimeout.
const RestAfterPlaceholder = 5 * time.Second

// handler enqueues the pools of an object.
func (w Watch) handler() handler.EventHandler {
	atOnce := handler.EnqueueRequestsFromMapFunc(w.Pools)
	return handler.Funcs{
		CreateFunc: atOnce.Create, UpdateFunc: atOnce.Update, GenericFunc: atOnce.Generic,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			for _, request := range w.Pools(ctx, e.Object) {
				queue.AddAfter(request, w.Rest)
			}
		},
	}
}

// Watches are all that wakes the reconciler: what can change a decision, and nothing else (§5.2). An in-memory cluster
// wakes it by the same ones.
func (r *Reconciler) Watches() []Watch {
	return []Watch{
		{&karpenterv1.NodePool{}, []predicate.Predicate{changed(poolChanged)}, poolItself, 0},
		{&karpenterv1.NodeClaim{}, []predicate.Predicate{changed(claimChanged)}, poolByLabel, 0},
		{&corev1.Node{}, []predicate.Predicate{changed(nodeChanged)}, poolByLabel, 0},
		{&corev1.Pod{}, []predicate.Predicate{placeholders(), changed(podChanged)}, poolOfPlaceholder, RestAfterPlaceholder},
		{&v1alpha1.RotationPolicy{}, []predicate.Predicate{predicate.GenerationChangedPredicate{}}, r.everyPool, 0},
	}
}

// SetupWithManager has the reconciler woken by its watches. passes is how many pools are worked on side by side.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, passes int) error {
	rotations := ctrl.NewControllerManagedBy(mgr).Named("rotation").WithOptions(controller.Options{
		MaxConcurrentReconciles: passes,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](FirstRetry, LongestRetry),
	})
	for _, w := range r.Watches() {
		rotations.Watches(w.Object, w.handler(), builder.WithPredicates(w.Matters...))
	}
	return rotations.Complete(r)
}

// changed lets creations and deletions through, and an update only if differs says that it matters.
func changed(differs func(before, after client.Object) bool) predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(e event.UpdateEvent) bool { return differs(e.ObjectOld, e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// metaChanged is true when labels, annotations or the deletion changed.
func metaChanged(before, after client.Object) bool {
	return !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		!maps.Equal(before.GetLabels(), after.GetLabels()) ||
		(before.GetDeletionTimestamp() == nil) != (after.GetDeletionTimestamp() == nil)
}

func poolChanged(before, after client.Object) bool {
	was, ok1 := before.(*karpenterv1.NodePool)
	is, ok2 := after.(*karpenterv1.NodePool)
	if !ok1 || !ok2 || was.Generation != is.Generation || metaChanged(was, is) {
		return true
	}
	limited := len(is.Spec.Limits) > 0
	return poolOf(was).NotReady != poolOf(is).NotReady || (limited && !resourcesEqual(was.Status.Resources, is.Status.Resources))
}

func resourcesEqual(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

func claimChanged(before, after client.Object) bool {
	was, ok1 := before.(*karpenterv1.NodeClaim)
	is, ok2 := after.(*karpenterv1.NodeClaim)
	if !ok1 || !ok2 || metaChanged(was, is) {
		return true
	}
	return was.Status.NodeName != is.Status.NodeName || claimOf(was).Ready != claimOf(is).Ready
}

// nodeChanged leaves out the kubelet's heartbeat and everything else that no guard reads.
func nodeChanged(before, after client.Object) bool {
	was, ok1 := before.(*corev1.Node)
	is, ok2 := after.(*corev1.Node)
	if !ok1 || !ok2 || was.Spec.Unschedulable != is.Spec.Unschedulable {
		return true
	}
	for _, key := range append(rotation.NodeMarkers(), rotation.KeyDoNotDisrupt) {
		if was.Annotations[key] != is.Annotations[key] {
			return true
		}
	}
	return was.Labels[rotation.LabelNodePool] != is.Labels[rotation.LabelNodePool] ||
		(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil) ||
		nodeReady(was) != nodeReady(is) || !slices.EqualFunc(was.Spec.Taints, is.Spec.Taints, sameTaint)
}

// sameTaint leaves out when the taint was added.
func sameTaint(a, b corev1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect
}

func nodeReady(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

func podChanged(before, after client.Object) bool {
	was, ok1 := podOf(before)
	is, ok2 := podOf(after)
	return !ok1 || !ok2 || was.Spec.NodeName != is.Spec.NodeName || was.Status.Phase != is.Status.Phase ||
		(was.DeletionTimestamp == nil) != (is.DeletionTimestamp == nil)
}

// placeholders lets only our own Pods through.
func placeholders() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		pod, ok := podOf(object)
		return ok && rotation.IsPlaceholder(pod)
	})
}

func poolItself(_ context.Context, object client.Object) []reconcile.Request {
	return requestFor(object.GetName())
}

func poolByLabel(_ context.Context, object client.Object) []reconcile.Request {
	return requestFor(object.GetLabels()[rotation.LabelNodePool])
}

// poolOfPlaceholder reads the pool off the selector that binds the placeholder to it (§3.3).
func poolOfPlaceholder(_ context.Context, object client.Object) []reconcile.Request {
	pod, ok := podOf(object)
	if !ok {
		return nil
	}
	return requestFor(pod.Spec.NodeSelector[rotation.LabelNodePool])
}

func requestFor(pool string) []reconcile.Request {
	if pool == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pool}}}
}

// everyPool wakes all pools: one policy's change can alter which policy wins for any of them (§5.4).
func (r *Reconciler) everyPool(ctx context.Context, _ client.Object) []reconcile.Request {
	var pools karpenterv1.NodePoolList
	if err := r.Reader.Cache.List(ctx, &pools); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the NodePools cannot be listed after a policy changed; each will notice within a minute")
		return nil
	}
	var requests []reconcile.Request
	for i := range pools.Items {
		requests = append(requests, requestFor(pools.Items[i].Name)...)
	}
	return requests
}
