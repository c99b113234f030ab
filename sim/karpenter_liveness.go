// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/sim/cluster"
)

// Karpenter's patience with a claim that does not get on, both counted from the claim's creation. A launch that the cloud
// answers with an error is tried again, more and more seldom, and given up with the claim at the first failure after
// launchTimeout. A claim without a registered Node is deleted at registrationTimeout. Either way a new claim is made while
// a Pod still wants one. A claim that has registered is given all the time it takes to initialize.
const (
	launchTimeout       = 5 * time.Minute
	registrationTimeout = 15 * time.Minute
	// The waits between two launches of one claim grow from the first to the longest.
	firstRelaunch, longestRelaunch = time.Second, time.Minute
)

// reasonLaunchFailed is Karpenter's, on the condition Launched.
const reasonLaunchFailed = "LaunchFailed"

// KeepFromRegistering has the Nodes of the next so many launches never register: the instance runs, and nothing comes of
// it.
func (w *World) KeepFromRegistering(launches int) { w.strand = launches }

// FailLaunches has the cloud answer every launch from now on with an error that is not one of capacity, or no longer.
func (w *World) FailLaunches(fail bool) { w.failing = fail }

// giveUp deletes a claim whose Node has not registered in time.
func (w *World) giveUp(move Move) {
	claim := w.claimOfMove(move)
	if claim == nil || claim.DeletionTimestamp != nil || isTrue(claim, karpenterv1.ConditionTypeRegistered) {
		return
	}
	w.tell("karpenter", "gives NodeClaim %s up: no Node has registered within %s", claim.Name, registrationTimeout)
	_ = w.Delete(claim, nil)
}

// launchFailed puts a launch off that the cloud has answered with an error, or gives the claim up.
func (w *World) launchFailed(move Move, claim *karpenterv1.NodeClaim) {
	age := w.now.Sub(claim.CreationTimestamp.Time)
	if age >= launchTimeout {
		w.tell("karpenter", "gives NodeClaim %s up: it has not been launched within %s", claim.Name, launchTimeout)
		_ = w.Delete(claim, nil)
		return
	}
	if !slices.ContainsFunc(claim.Status.Conditions, func(c status.Condition) bool { return c.Reason == reasonLaunchFailed }) {
		w.tell("karpenter", "cannot launch NodeClaim %s, and tries again: the cloud answers with an error", claim.Name)
		cluster.Edit(w.Cluster, claim, func(c *karpenterv1.NodeClaim) {
			c.Status.Conditions = append(slices.Clone(c.Status.Conditions), status.Condition{
				Type: karpenterv1.ConditionTypeLaunched, Status: metav1.ConditionUnknown, Reason: reasonLaunchFailed,
				LastTransitionTime: claim.CreationTimestamp,
			})
		})
	}
	w.later(move, min(max(age, firstRelaunch), longestRelaunch))
}

// stranded takes one off the launches that are kept from registering; false where none is.
func (w *World) stranded() bool {
	if w.strand == 0 {
		return false
	}
	w.strand--
	return true
}
