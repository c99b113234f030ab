// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/window"
)

// Terms are what a policy demands, with every default of §5.4 resolved. The estimates of §3.2 are not among them: they
// depend on the pool too.
type Terms struct {
	// K is minRotationChances: the chances that each node must get.
	K int
	// MaxUnavailable is m, the rotations in flight per pool.
	MaxUnavailable int
	// AgeThreshold is the operator's override of A; nil when A is derived.
	AgeThreshold *time.Duration
	// ReadyTimeout is how long a rotation may stay pending.
	ReadyTimeout time.Duration
	// CooldownAfter is gate A, the pause after a success.
	CooldownAfter time.Duration
	// FailurePause is gate B, the pause after a failure.
	FailurePause time.Duration
	// RetryBackoff is the first backoff of a failed claim.
	RetryBackoff time.Duration
	// Required and Preferred are the node labels whose values the placeholder takes over.
	Required, Preferred []string
	// FallbackEnabled allows the forceful fallback (§3.6).
	FallbackEnabled bool
}

// maxRotationChances is the most that admission allows for K. Held here too, it keeps K·P within a time.Duration.
const maxRotationChances = 250

// TermsOf resolves a policy's terms. The error joins one sentence for every field that cannot be read or lies outside
// its range: what admission rejects is rejected again here, since a policy may be older than its CRD's validation.
// A K below one and an override that is not positive are findings with codes of their own, and no error.
func TermsOf(p *v1alpha1.RotationPolicy) (Terms, error) {
	terms, problems := termsOf(p)
	return terms, errors.Join(problems...)
}

func termsOf(p *v1alpha1.RotationPolicy) (Terms, []error) {
	terms := Terms{
		K:               p.MinRotationChances(),
		MaxUnavailable:  p.MaxUnavailable(),
		ReadyTimeout:    p.ReadyTimeout(),
		CooldownAfter:   p.CooldownAfter(),
		FailurePause:    p.FailurePause(),
		RetryBackoff:    p.RetryBackoff(),
		Required:        texts(p.RequiredKeys()),
		Preferred:       texts(p.PreferredKeys()),
		FallbackEnabled: p.ForcefulFallback(),
	}
	var problems []error
	switch age, overridden, err := p.AgeThresholdOverride(); {
	case err != nil:
		problems = append(problems, fmt.Errorf("spec.ageThreshold is %q; set it to \"auto\" or to a Go duration such as \"240h\"", p.Spec.AgeThreshold))
	case overridden:
		terms.AgeThreshold = &age
	}
	problems = append(problems, terms.outOfRange(p)...)
	problems = append(problems, unreplicable("required", terms.Required)...)
	problems = append(problems, unreplicable("preferred", terms.Preferred)...)
	return terms, problems
}

// outOfRange checks the numbers and durations. No duration may exceed the horizon of the windows: nothing that takes
// longer can be planned for, and sums and the backoff's doublings then stay within a time.Duration.
func (t Terms) outOfRange(p *v1alpha1.RotationPolicy) []error {
	surge := &p.Spec.Surge
	var problems []error
	if t.K > maxRotationChances {
		problems = append(problems, fmt.Errorf("spec.minRotationChances is %d; set it to at most %d", t.K, maxRotationChances))
	}
	if t.MaxUnavailable != v1alpha1.DefaultMaxUnavailable {
		problems = append(problems, fmt.Errorf("spec.surge.maxUnavailable is %d; this version rotates one node at a time, set it to 1", t.MaxUnavailable))
	}
	if p.Spec.PrePull.Enabled {
		problems = append(problems, errors.New("spec.prePull.enabled is true; this version has no pre-pull, set it to false"))
	}
	for _, d := range []struct {
		field string
		value *metav1.Duration
		least time.Duration
	}{
		{"readyTimeout", surge.ReadyTimeout, 1},
		{"cooldownAfter", surge.CooldownAfter, 0},
		{"failurePause", surge.FailurePause, 1},
		{"drainEstimate", surge.DrainEstimate, 1},
		{"provisioningEstimate", surge.ProvisioningEstimate, 1},
		{"retryBackoff", surge.RetryBackoff, 1},
	} {
		switch {
		case d.value == nil:
		case d.value.Duration < d.least && d.least == 0:
			problems = append(problems, fmt.Errorf("spec.surge.%s is %s; set it to a Go duration of zero or more", d.field, d.value.Duration))
		case d.value.Duration < d.least:
			problems = append(problems, fmt.Errorf("spec.surge.%s is %s; set it to a Go duration greater than zero", d.field, d.value.Duration))
		case d.value.Duration > window.Horizon:
			problems = append(problems, fmt.Errorf("spec.surge.%s is %s; set it to at most %s", d.field, d.value.Duration, Spell(window.Horizon)))
		}
	}
	return problems
}

// unreplicable checks label keys that the placeholder is to replicate. The host name is refused: a replacement is
// another host, and Karpenter refuses a Pod that requires one (§3.3).
func unreplicable(list string, keys []string) []error {
	var problems []error
	for _, key := range keys {
		field := "spec.surge.matchNodeRequirements." + list
		if faults := validation.IsQualifiedName(key); len(faults) > 0 {
			problems = append(problems, fmt.Errorf("%s names %q, which is no label key: %s", field, key, strings.Join(faults, "; ")))
		}
		if key == corev1.LabelHostname {
			problems = append(problems, fmt.Errorf("%s names %s, which no replacement can share; remove it", field, key))
		}
	}
	return problems
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// Assessment is one policy, read and judged for itself, whichever pools it governs. It is a value that holds until the
// policy changes or the day does: taking the survey costs milliseconds, so it is kept rather than made in every pass.
// Only Assess makes one.
type Assessment struct {
	Policy *v1alpha1.RotationPolicy
	Terms  Terms
	// Windows never opens when the policy's windows cannot be read.
	Windows window.Schedule
	// Survey of Windows over the coming 400 days.
	Survey window.Survey
	// Findings at the level of the policy, all at once, in the order of §3.2.
	Findings []Finding

	selector selector
	// constraints counts those of the selector in words; governs says that the policy governs a pool. Both are told of
	// every pool in every pass.
	constraints, governs string
}

// Assess reads a policy and finds everything that is wrong with it at policy level (§3.2, §5.4). The survey of its
// windows begins at from.
func Assess(p *v1alpha1.RotationPolicy, from time.Time) Assessment {
	a := Assessment{Policy: p}
	var problems, faults []error
	a.selector, problems = readSelector(p.Spec.NodePoolSelector)
	a.constraints = plural(a.selector.specificity, "label constraint")
	a.governs = "RotationPolicy " + p.Name + " governs the NodePool, which it selects with " + a.constraints
	a.Terms, faults = termsOf(p)
	problems = append(problems, faults...)

	windows, err := window.Parse(entries(p.Spec.MaintenanceWindows))
	for _, fault := range parts(err) {
		problems = append(problems, fmt.Errorf("spec.%w", fault))
	}
	a.Windows, a.Survey = windows, windows.Survey(from)

	for _, problem := range problems {
		a.Findings = append(a.Findings, Finding{
			Code: InvalidSpec, Severity: Fatal, Level: PolicyLevel,
			Message: fmt.Sprintf("RotationPolicy %s: %s.", p.Name, problem),
		})
	}
	g := grounds{policy: p, terms: a.Terms, survey: a.Survey, unreadableWindows: err != nil}
	a.Findings = append(a.Findings, g.findings(PolicyLevel)...)
	return a
}

// Invalid tells whether the policy has a fatal finding at policy level. It then still wins its pools and stops them;
// it never lets a broader policy take over (§3.8).
func (a Assessment) Invalid() bool {
	return slices.ContainsFunc(a.Findings, Finding.fatal)
}

// Reason says everything that makes the policy Invalid, for its Ready condition; empty when it is valid.
func (a Assessment) Reason() string {
	var messages []string
	for _, f := range a.faults() {
		messages = append(messages, f.Message)
	}
	return strings.Join(messages, " ")
}

// faults are the findings that make the policy Invalid.
func (a Assessment) faults() []Finding {
	return slices.DeleteFunc(slices.Clone(a.Findings), func(f Finding) bool { return !f.fatal() })
}

func entries(windows []v1alpha1.MaintenanceWindow) []window.Entry {
	out := make([]window.Entry, len(windows))
	for i, w := range windows {
		out[i] = window.Entry{Timezone: w.Timezone, Days: texts(w.Days), Start: w.Start, End: w.End}
	}
	return out
}

// parts takes a joined error apart.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
