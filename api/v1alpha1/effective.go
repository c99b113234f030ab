// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// Selector returns the selector of the NodePools that the policy may govern;
// an empty one matches every NodePool. A selector that can't be read is an
// error, and the policy then matches none.
func (p *RotationPolicy) Selector() (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.NodePoolSelector)
	if err != nil {
		return labels.Nothing(), fmt.Errorf("RotationPolicy %q: correct spec.nodePoolSelector: %w", p.Name, err)
	}
	return selector, nil
}

// Specificity is the number of label constraints in the selector, matchLabels
// and matchExpressions together (§5.4). Of the policies that match a NodePool
// the one with the highest specificity governs it; the catch-all scores 0.
func (p *RotationPolicy) Specificity() int {
	return len(p.Spec.NodePoolSelector.MatchLabels) + len(p.Spec.NodePoolSelector.MatchExpressions)
}

// AgeThresholdOverride returns the age A that the operator set, or overridden =
// false where the threshold is derived (§3.2). The age may come out zero or
// negative from a policy that never passed admission; that is a finding for
// the feasibility check and no error here. An unreadable value is an error.
func (p *RotationPolicy) AgeThresholdOverride() (age time.Duration, overridden bool, err error) {
	threshold := p.Spec.AgeThreshold
	if threshold == "" || threshold == AgeThresholdAuto {
		return 0, false, nil
	}
	age, err = time.ParseDuration(string(threshold))
	if err != nil {
		return 0, false, fmt.Errorf("RotationPolicy %q: set spec.ageThreshold to \"auto\" or a Go duration such as \"240h\": %w", p.Name, err)
	}
	return age, true, nil
}

// MinRotationChances is K, the chances that each node must get (§3.2).
func (p *RotationPolicy) MinRotationChances() int {
	return int(ptr.Deref(p.Spec.MinRotationChances, DefaultMinRotationChances))
}

// MaxUnavailable is m, the rotations in flight per NodePool: 1 in this version.
func (p *RotationPolicy) MaxUnavailable() int {
	return int(ptr.Deref(p.Spec.Surge.MaxUnavailable, DefaultMaxUnavailable))
}

// ReadyTimeout is how long a rotation may stay pending before it is rolled
// back (§3.8).
func (p *RotationPolicy) ReadyTimeout() time.Duration {
	return durationOr(p.Spec.Surge.ReadyTimeout, DefaultReadyTimeout)
}

// CooldownAfter is the pause after a completed rotation: gate A (§5.2).
func (p *RotationPolicy) CooldownAfter() time.Duration {
	return durationOr(p.Spec.Surge.CooldownAfter, DefaultCooldownAfter)
}

// FailurePause is the pause after a failed rotation: gate B (§5.2). Unset, it
// is the longer of 10m and CooldownAfter.
func (p *RotationPolicy) FailurePause() time.Duration {
	return durationOr(p.Spec.Surge.FailurePause, max(LeastFailurePause, p.CooldownAfter()))
}

// RetryBackoff is how long a claim whose rotation failed once is left alone,
// before escalation (§3.2).
func (p *RotationPolicy) RetryBackoff() time.Duration {
	return durationOr(p.Spec.Surge.RetryBackoff, DefaultRetryBackoff)
}

// DrainEstimate is what a drain is expected to take on nodes with the given
// termination grace period (§3.2). Unset, it is the shorter of that period and
// 10m; a longer explicit estimate is clamped to the period, and clamped is true.
func (p *RotationPolicy) DrainEstimate(terminationGracePeriod time.Duration) (estimate time.Duration, clamped bool) {
	return estimateWithin(terminationGracePeriod, p.Spec.Surge.DrainEstimate, DefaultDrainEstimate)
}

// ProvisioningEstimate is what a replacement is expected to take to become
// ready (§3.2). Unset, it is the shorter of ReadyTimeout and 5m; a longer
// explicit estimate is clamped to ReadyTimeout, and clamped is true.
func (p *RotationPolicy) ProvisioningEstimate() (estimate time.Duration, clamped bool) {
	return estimateWithin(p.ReadyTimeout(), p.Spec.Surge.ProvisioningEstimate, DefaultProvisioningEstimate)
}

// RequiredKeys are the node labels that a replacement must share with the node
// it replaces (§3.3). An explicit empty list requires none.
func (p *RotationPolicy) RequiredKeys() []LabelKey {
	if keys := p.Spec.Surge.MatchNodeRequirements.Required; keys != nil {
		return keys
	}
	return DefaultRequiredKeys()
}

// PreferredKeys are the node labels that a replacement should share if it can
// (§3.3).
func (p *RotationPolicy) PreferredKeys() []LabelKey {
	return p.Spec.Surge.MatchNodeRequirements.Preferred
}

// ForcefulFallback reports whether the surge-less fallback is allowed (§3.6).
func (p *RotationPolicy) ForcefulFallback() bool {
	return p.Spec.Surge.ForcefulFallback.Enabled
}

// Weekday returns the day as Go counts it, and false for a value that is no day.
func (d Day) Weekday() (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if day.String()[:3] == string(d) {
			return day, true
		}
	}
	return 0, false
}

func durationOr(set *metav1.Duration, otherwise time.Duration) time.Duration {
	if set == nil {
		return otherwise
	}
	return set.Duration
}

// estimateWithin bounds an estimate. Only an explicit estimate counts as
// clamped: the default is meant to give way.
func estimateWithin(bound time.Duration, set *metav1.Duration, otherwise time.Duration) (estimate time.Duration, clamped bool) {
	estimate = durationOr(set, otherwise)
	return min(estimate, bound), set != nil && estimate > bound
}
