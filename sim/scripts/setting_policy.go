// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"noderotation.io/noderotation/api/v1alpha1"
)

// policyOf makes a policy of clauses; without any it selects every pool and has no window.
func policyOf(name string, clauses []clause) (*v1alpha1.RotationPolicy, error) {
	if len(strings.Fields(name)) != 1 {
		return nil, errors.New("policy: give it a name")
	}
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, c := range clauses {
		if err := changePolicy(policy, c); err != nil {
			return policy, err
		}
	}
	return policy, nil
}

func changePolicy(policy *v1alpha1.RotationPolicy, c clause) error {
	return policyProperties.set(policy, c)
}

var policyProperties = properties[*v1alpha1.RotationPolicy]{
	"selects":   selects,
	"window":    addWindow,
	"noWindows": flagged(func(p *v1alpha1.RotationPolicy) { p.Spec.MaintenanceWindows = nil }),
	"chances": func(p *v1alpha1.RotationPolicy, args []string) error {
		word, err := one(args)
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(word, 10, 32)
		p.Spec.MinRotationChances = new(int32(n))
		return err
	},
	"ageThreshold": func(p *v1alpha1.RotationPolicy, args []string) error {
		word, err := one(args)
		if d, wrong := span(word); wrong == nil {
			word = d.String()
		}
		p.Spec.AgeThreshold = v1alpha1.AgeThreshold(word)
		return err
	},
	"readyTimeout":         surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.ReadyTimeout = d }),
	"cooldownAfter":        surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.CooldownAfter = d }),
	"failurePause":         surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.FailurePause = d }),
	"retryBackoff":         surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.RetryBackoff = d }),
	"drainEstimate":        surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.DrainEstimate = d }),
	"provisioningEstimate": surge(func(s *v1alpha1.Surge, d *metav1.Duration) { s.ProvisioningEstimate = d }),
	"fallback":             flagged(func(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ForcefulFallback.Enabled = true }),
	"required": listed(func(p *v1alpha1.RotationPolicy, keys []string) error {
		p.Spec.Surge.MatchNodeRequirements.Required = labelKeys(keys)
		return nil
	}),
	"preferred": listed(func(p *v1alpha1.RotationPolicy, keys []string) error {
		p.Spec.Surge.MatchNodeRequirements.Preferred = labelKeys(keys)
		return nil
	}),
}

// surge is a property of a duration beneath spec.surge.
func surge(set func(*v1alpha1.Surge, *metav1.Duration)) func(*v1alpha1.RotationPolicy, []string) error {
	return spanned(func(p *v1alpha1.RotationPolicy, d time.Duration) { set(&p.Spec.Surge, &metav1.Duration{Duration: d}) })
}

func labelKeys(words []string) []v1alpha1.LabelKey {
	keys := []v1alpha1.LabelKey{}
	for _, word := range words {
		keys = append(keys, v1alpha1.LabelKey(word))
	}
	return keys
}

// selects reads label constraints: selects team=a, tier=front.
func selects(p *v1alpha1.RotationPolicy, args []string) error {
	p.Spec.NodePoolSelector.MatchLabels = map[string]string{}
	for _, word := range listOf(args) {
		key, value, err := pair(word)
		if err != nil {
			return err
		}
		p.Spec.NodePoolSelector.MatchLabels[key] = value
	}
	return nil
}

// addWindow reads a window: window Wed,Sat 02:00-06:00 Asia/Tokyo.
func addWindow(p *v1alpha1.RotationPolicy, args []string) error {
	if len(args) != 3 {
		return errors.New("write days, hours and zone, such as `window Wed,Sat 02:00-06:00 Asia/Tokyo`")
	}
	start, end, found := strings.Cut(args[1], "-")
	if !found {
		return fmt.Errorf("%q is no span of hours such as 02:00-06:00", args[1])
	}
	window := v1alpha1.MaintenanceWindow{Timezone: args[2], Start: start, End: end}
	days := strings.Split(args[0], ",")
	if args[0] == "daily" {
		days = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	}
	for _, day := range days {
		window.Days = append(window.Days, v1alpha1.Day(day))
	}
	p.Spec.MaintenanceWindows = append(p.Spec.MaintenanceWindows, window)
	return nil
}

// budgetOf is over the Pods of a pool's workload.
func budgetOf(pool string) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: "budget"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": pool}}
	return budget
}

func changeBudget(budget *policyv1.PodDisruptionBudget, c clause) error {
	return properties[*policyv1.PodDisruptionBudget]{
		"minAvailable": func(b *policyv1.PodDisruptionBudget, args []string) error {
			return number32(args, func(n intstr.IntOrString) { b.Spec.MinAvailable = &n })
		},
		"maxUnavailable": func(b *policyv1.PodDisruptionBudget, args []string) error {
			return number32(args, func(n intstr.IntOrString) { b.Spec.MaxUnavailable = &n })
		},
	}.set(budget, c)
}

func number32(args []string, set func(intstr.IntOrString)) error {
	word, err := one(args)
	if err == nil {
		set(intstr.Parse(word))
	}
	return err
}
