// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

const aDay = 24 * time.Hour

// newYear is the instant at which the surveys of these tests begin.
var newYear = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

type policyEdit func(*v1alpha1.RotationPolicy)

// policyNamed is the policy of §3.2's first worked example, edited: all defaults, Asia/Tokyo Wed and Sat 02:00–06:00,
// a catch-all selector.
func policyNamed(name string, edits ...policyEdit) *v1alpha1.RotationPolicy {
	p := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{
		{Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00"},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// opening replaces the windows with one.
func opening(zone, start, end string, days ...v1alpha1.Day) policyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Timezone: zone, Days: days, Start: start, End: end}}
	}
}

var everyDay = []v1alpha1.Day{
	v1alpha1.Monday, v1alpha1.Tuesday, v1alpha1.Wednesday, v1alpha1.Thursday,
	v1alpha1.Friday, v1alpha1.Saturday, v1alpha1.Sunday,
}

// openingEveryHalfHour opens at each full and half hour for the given minutes, less than 30.
func openingEveryHalfHour(minutes int) policyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.MaintenanceWindows = nil
		for hour := range 24 {
			for _, start := range []int{0, 30} {
				p.Spec.MaintenanceWindows = append(p.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{
					Timezone: "UTC", Days: everyDay,
					Start: fmt.Sprintf("%02d:%02d", hour, start), End: fmt.Sprintf("%02d:%02d", hour, start+minutes),
				})
			}
		}
	}
}

func neverOpening() policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.MaintenanceWindows = nil }
}

func alwaysOpen() policyEdit { return opening("UTC", "00:00", "24:00", everyDay...) }

func chances(k int32) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.MinRotationChances = ptr.To(k) }
}

func ageThreshold(value v1alpha1.AgeThreshold) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.AgeThreshold = value }
}

func readyTimeout(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ReadyTimeout = &metav1.Duration{Duration: d} }
}

func cooldownAfter(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.CooldownAfter = &metav1.Duration{Duration: d} }
}

func failurePause(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.FailurePause = &metav1.Duration{Duration: d} }
}

func retryBackoff(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.RetryBackoff = &metav1.Duration{Duration: d} }
}

func drainEstimate(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.DrainEstimate = &metav1.Duration{Duration: d} }
}

func provisioningEstimate(d time.Duration) policyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.Surge.ProvisioningEstimate = &metav1.Duration{Duration: d}
	}
}

// requiring replaces the required keys; without any it requires none.
func requiring(keys ...v1alpha1.LabelKey) policyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.Surge.MatchNodeRequirements.Required = append([]v1alpha1.LabelKey{}, keys...)
	}
}

func selecting(matchLabels map[string]string, expressions ...metav1.LabelSelectorRequirement) policyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.NodePoolSelector = metav1.LabelSelector{MatchLabels: matchLabels, MatchExpressions: expressions}
	}
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
}

type poolEdit func(*rotation.Pool)

// poolNamed is the pool of §3.2's first worked example, edited: expireAfter 14d, terminationGracePeriod 1h.
func poolNamed(name string, edits ...poolEdit) rotation.Pool {
	pool := rotation.Pool{
		Object:      rotation.Object{Name: name},
		ExpireAfter: ptr.To(14 * aDay), TerminationGracePeriod: ptr.To(time.Hour),
	}
	for _, edit := range edits {
		edit(&pool)
	}
	return pool
}

func expiringAfter(d time.Duration) poolEdit { return func(p *rotation.Pool) { p.ExpireAfter = &d } }
func neverExpiring() poolEdit                { return func(p *rotation.Pool) { p.ExpireAfter = nil } }
func grace(d time.Duration) poolEdit         { return func(p *rotation.Pool) { p.TerminationGracePeriod = &d } }
func withoutGrace() poolEdit                 { return func(p *rotation.Pool) { p.TerminationGracePeriod = nil } }

// fleetOf is a number of claims, born at the new year, in the order of their names.
func fleetOf(n int) []*rotation.Claim {
	claims := make([]*rotation.Claim, n)
	for i := range claims {
		claims[i] = &rotation.Claim{Object: rotation.Object{Name: fmt.Sprintf("claim-%04d", i)}, Created: newYear}
	}
	return claims
}

// judged judges one policy for a pool with a fleet of n nodes, the way a pass does.
func judged(policy *v1alpha1.RotationPolicy, pool rotation.Pool, n int) rotation.Feasibility {
	governance := rotation.Govern([]rotation.Assessment{rotation.Assess(policy, newYear)}, pool.Labels)
	return rotation.Judge(rotation.Snapshot{Now: newYear, Pool: pool, Governance: governance, Claims: fleetOf(n)})
}

// codes lists the codes of findings, in their order.
func codes(findings []rotation.Finding) []string {
	out := []string{}
	for _, f := range findings {
		out = append(out, f.Code)
	}
	return out
}

// message is the message of the finding with the code; empty without one.
func message(findings []rotation.Finding, code string) string {
	for _, f := range findings {
		if f.Code == code {
			return f.Message
		}
	}
	return ""
}
