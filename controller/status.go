// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

const (
	// statusAgain is how soon a status that was overtaken is written again.
	statusAgain = time.Second
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
	Clock    clock.PassiveClock
}

// Reconcile brings the status of one policy up to date, and writes only where it differs.
func (r *RotationPolicyStatusReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	policy := &v1alpha1.RotationPolicy{}
	if err := r.Client.Get(ctx, request.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
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
	status, assessed := PolicyStatus(policy, assessments, pools.Items, now)
	if !assessed || equality.Semantic.DeepEqual(status, policy.Status) {
		return ctrl.Result{RequeueAfter: statusAnew}, nil
	}
	policy = policy.DeepCopy()
	policy.Status = status
	switch err := r.Client.Status().Update(ctx, policy); {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{RequeueAfter: statusAgain}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("the status of RotationPolicy %s cannot be written: %w", policy.Name, err)
	}
	return ctrl.Result{RequeueAfter: statusAnew}, nil
}

// PolicyStatus works out the status of a policy from the assessments of all policies and from every NodePool: whom it
// wins, valid or not, and whether it is in force. Invalid takes precedence over Conflict. The time of the last transition
// is kept while Ready does not change. The second result is false when the policy is not among those assessed.
func PolicyStatus(
	policy *v1alpha1.RotationPolicy, assessments []rotation.Assessment, pools []karpenterv1.NodePool, now time.Time,
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
	contested := map[string][]string{}
	for j := range pools {
		resolution := rotation.Resolve(assessments, pools[j].Labels)
		switch {
		case resolution.Winner != nil && resolution.Winner.Name == policy.Name:
			status.MatchedNodePools++
			if pools[j].Annotations[rotation.KeyActiveRotation] != "" {
				status.RotatingNodePools++
			}
		case slices.Contains(resolution.Tied, policy.Name):
			tied := listed("RotationPolicies", resolution.Tied)
			contested[tied] = append(contested[tied], pools[j].Name)
		}
	}
	ready := readiness(own, contested)
	ready.ObservedGeneration, ready.LastTransitionTime = own.Policy.Generation, metav1.NewTime(now)
	meta.SetStatusCondition(&status.Conditions, ready)
	return status, true
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

// SetupWithManager watches the policies and the NodePools. A change of either can alter any policy's status, so that
// all are looked at.
func (r *RotationPolicyStatusReconciler) SetupWithManager(mgr ctrl.Manager) error {
	everyPolicy := handler.EnqueueRequestsFromMapFunc(r.everyPolicy)
	err := ctrl.NewControllerManagedBy(mgr).
		Named("rotationpolicy-status").
		Watches(&v1alpha1.RotationPolicy{}, everyPolicy, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&karpenterv1.NodePool{}, everyPolicy, builder.WithPredicates(shownByStatus())).
		Complete(r)
	if err != nil {
		return fmt.Errorf("the controller of the RotationPolicies' status cannot be set up: %w", err)
	}
	return nil
}

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
