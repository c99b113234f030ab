// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

const (
	// statusAgain is how soon a status that was overtaken is written again.
	statusAgain = time.Second
	// statusPace is the least time between two writes of one policy's status where only its pools have moved on: a large
	// fleet's rotations change it all the time. What the policy itself is said to be is written at once.
	statusPace = 5 * time.Second
	// statusAnew is how often a status is looked at with nothing having changed: the survey behind it moves on with
	// the day.
	statusAnew = time.Hour
)

// RotationPolicyStatusReconciler keeps the status of the RotationPolicies (§5.4). A status is what a person reads; no
// decision about a rotation ever does.
type RotationPolicyStatusReconciler struct {
	// Client reads from the cache and writes the status subresource.
	Client   client.Client
	Policies *Policies
	// Board has what the passes found.
	Board *Board
	Clock clock.PassiveClock

	mu sync.Mutex
	// written is when each policy's status was last written.
	written map[string]time.Time
}

// Reconcile brings the status of one policy up to date, and writes only where it differs.
func (r *RotationPolicyStatusReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &v1alpha1.RotationPolicy{}
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("RotationPolicy %s cannot be read: %w", request.Name, err)
	}
	now := r.Clock.Now()
	assessments, err := r.Policies.Assess(ctx, now)
	if err != nil {
		return ctrl.Result{}, err
	}
	pools := &karpenterv1.NodePoolList{}
	if err := r.Client.List(ctx, pools); err != nil {
		return ctrl.Result{}, fmt.Errorf("the NodePools cannot be listed: %w", err)
	}
	status, assessed := PolicyStatus(policy, assessments, pools.Items, r.Board, now)
	anew := ctrl.Result{RequeueAfter: untilAnew(status, now)}
	if !assessed || equality.Semantic.DeepEqual(status, policy.Status) {
		return anew, nil
	}
	if wait := r.pause(policy, status, now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	policy = policy.DeepCopy()
	policy.Status = status
	switch err := r.Client.Status().Update(ctx, policy); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{RequeueAfter: statusAgain}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("the status of RotationPolicy %s cannot be written: %w", policy.Name, err)
	}
	r.wrote(policy.Name, now)
	return anew, nil
}

// untilAnew is how long a status stands if nothing changes: until the window opens that it calls the next.
func untilAnew(status v1alpha1.RotationPolicyStatus, now time.Time) time.Duration {
	if status.NextWindow != nil {
		if opens := status.NextWindow.Sub(now); opens > 0 && opens < statusAnew {
			return opens
		}
	}
	return statusAnew
}

// pause is how long a new status is to wait, so that one policy is not written all the time; none for what the policy
// itself is said to be.
func (r *RotationPolicyStatusReconciler) pause(policy *v1alpha1.RotationPolicy, status v1alpha1.RotationPolicyStatus, now time.Time) time.Duration {
	if policy.Status.ObservedGeneration != status.ObservedGeneration ||
		!equality.Semantic.DeepEqual(policy.Status.Conditions, status.Conditions) {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.written[policy.Name]
	if !known {
		return 0
	}
	return max(0, last.Add(statusPace).Sub(now))
}

func (r *RotationPolicyStatusReconciler) wrote(policy string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[string]time.Time{}
	}
	r.written[policy] = now
}

func (r *RotationPolicyStatusReconciler) forget(policy string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, policy)
}

// PolicyStatus works out the status of a policy from the assessments of all policies and from every NodePool: whom it
// wins, valid or not, and whether it is in force. Invalid takes precedence over Conflict. The time of the last transition
// is kept while Ready does not change. How each pool stands is as board says, or as the policy's status said before this
// process has made its first pass over the pool. The second result is false when the policy is not among those assessed.
func PolicyStatus(
	policy *v1alpha1.RotationPolicy, assessments []rotation.Assessment, pools []karpenterv1.NodePool, board *Board, now time.Time,
) (v1alpha1.RotationPolicyStatus, bool) {
	i := slices.IndexFunc(assessments, func(a rotation.Assessment) bool { return a.Policy.UID == policy.UID })
	if i < 0 {
		return v1alpha1.RotationPolicyStatus{}, false
	}
	own := assessments[i]
	status := v1alpha1.RotationPolicyStatus{
		ObservedGeneration: own.Policy.Generation,
		Conditions:         slices.Clone(policy.Status.Conditions),
	}
	if next, known := own.Windows.Next(now); known {
		status.NextWindow = inStatus(next.Start)
	}
	var won []string
	contested := map[string][]string{}
	for j := range pools {
		resolution := rotation.Resolve(assessments, pools[j].Labels)
		switch {
		case resolution.Winner != nil && resolution.Winner.Name == policy.Name:
			status.MatchedNodePools++
			won = append(won, pools[j].Name)
			if pools[j].Annotations[rotation.KeyActiveRotation] != "" {
				status.RotatingNodePools++
			}
		case slices.Contains(resolution.Tied, policy.Name):
			tied := listed("RotationPolicies", resolution.Tied)
			contested[tied] = append(contested[tied], pools[j].Name)
		}
	}
	status.NodePools, status.OmittedNodePools = poolsShown(won, board, policy.Status.NodePools)
	ready := readiness(own, contested)
	ready.ObservedGeneration, ready.LastTransitionTime = own.Policy.Generation, metav1.NewTime(now)
	meta.SetStatusCondition(&status.Conditions, ready)
	return status, true
}

// mostPoolsShown is how many pools a status lists: an object may not grow without bound.
const mostPoolsShown = 100

// poolsShown are the first of the pools by name, as far as anything is known of them, and the number of the others.
func poolsShown(won []string, board *Board, before []v1alpha1.NodePoolStatus) (shown []v1alpha1.NodePoolStatus, omitted int32) {
	slices.Sort(won)
	if len(won) > mostPoolsShown {
		omitted = int32(len(won) - mostPoolsShown) //nolint:gosec // no cluster has so many
		won = won[:mostPoolsShown]
	}
	for _, pool := range won {
		entry, known := board.Entry(pool)
		if !known {
			i := slices.IndexFunc(before, func(e v1alpha1.NodePoolStatus) bool { return e.Name == pool })
			if i < 0 {
				continue
			}
			entry = before[i]
		}
		shown = append(shown, entry)
	}
	return shown, omitted
}

// mostMessage is the longest message of a condition that the API server accepts, in bytes.
const mostMessage = 32768

// readiness is the Ready condition. contested has the names of the pools under a tie, by the sentence that lists the
// policies that tie.
func readiness(a rotation.Assessment, contested map[string][]string) metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case a.Invalid():
		ready.Reason, ready.Message = v1alpha1.ReasonInvalid, a.Reason()
	case len(contested) > 0:
		ready.Reason, ready.Message = v1alpha1.ReasonConflict, conflict(contested)
	default:
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonAccepted
		ready.Message = "The policy is valid and uncontested."
	}
	for _, f := range a.Findings {
		if f.Severity == rotation.Warn {
			ready.Message += fmt.Sprintf(" Warning %s: %s", f.Code, f.Message)
		}
	}
	ready.Message = cut(ready.Message, mostMessage)
	return ready
}

func conflict(contested map[string][]string) string {
	var ties []string
	for _, tied := range slices.Sorted(maps.Keys(contested)) {
		pools := contested[tied]
		slices.Sort(pools)
		ties = append(ties, fmt.Sprintf("%s select %s with equally many label constraints", tied, listed("NodePools", pools)))
	}
	return strings.Join(ties, "; ") + ". What they tie for is not rotated: give one of them a further constraint, or narrow the others."
}

// mostListed is how many names a sentence carries before it counts the rest.
const mostListed = 10

// listed writes names as "NodePools a, b and c", or with the number of those that are left out.
func listed(kind string, names []string) string {
	if len(names) == 1 {
		return strings.TrimSuffix(kind, "s") + " " + names[0]
	}
	first, last := names[:len(names)-1], names[len(names)-1]
	if len(names) > mostListed {
		first, last = names[:mostListed], fmt.Sprintf("%d more", len(names)-mostListed)
	}
	return kind + " " + strings.Join(first, ", ") + " and " + last
}

// SetupWithManager watches the policies, the NodePools and the board. A change of a policy or a pool can alter any
// policy's status, so that all are looked at; one on the board is about the policy that governs the pool.
func (r *RotationPolicyStatusReconciler) SetupWithManager(mgr ctrl.Manager) error {
	everyPolicy := handler.EnqueueRequestsFromMapFunc(r.everyPolicy)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("rotationpolicy-status").
		Watches(&v1alpha1.RotationPolicy{}, everyPolicy, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&karpenterv1.NodePool{}, everyPolicy, builder.WithPredicates(shownByStatus())).
		WatchesRawSource(posts{r}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("the controller of the RotationPolicies' status cannot be set up: %w", err)
	}
	return nil
}

// posts is the source that wakes the status of the policies whose pools stand otherwise than before.
type posts struct {
	reconciler *RotationPolicyStatusReconciler
}

var _ source.Source = posts{}

// Start has the queue filled by what is posted. To add to it never blocks, and what is in it already is not added twice.
func (p posts) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	p.reconciler.Board.Subscribe(func(policy string) {
		if policy != "" {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: policy}})
			return
		}
		for _, request := range p.reconciler.everyPolicy(ctx, nil) {
			queue.Add(request)
		}
	})
	return nil
}

// String names the source in the log.
func (posts) String() string { return "what the passes found" }

func (r *RotationPolicyStatusReconciler) everyPolicy(ctx context.Context, _ client.Object) []reconcile.Request {
	policies := &v1alpha1.RotationPolicyList{}
	if err := r.Client.List(ctx, policies); err != nil {
		log.FromContext(ctx).Error(err, "the RotationPolicies cannot be listed; their status stays behind", "until", statusAnew)
		return nil
	}
	requests := make([]reconcile.Request, len(policies.Items))
	for i := range policies.Items {
		requests[i].Name = policies.Items[i].Name
	}
	return requests
}

// shownByStatus lets through what of a NodePool a status depends on: that it exists, its labels, and whether a rotation
// is anchored on it.
func shownByStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return !maps.Equal(before.GetLabels(), after.GetLabels()) ||
			(before.GetAnnotations()[rotation.KeyActiveRotation] == "") != (after.GetAnnotations()[rotation.KeyActiveRotation] == "")
	}}
}
