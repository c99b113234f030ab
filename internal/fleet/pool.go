// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// Day is 24 hours of elapsed time.
const Day = 24 * time.Hour

// PoolName is the name of every pool of this package, PolicyName of the policy that governs it.
const (
	PoolName   = "api"
	PolicyName = "api-policy"
)

// The windows of every policy of this package are those of §3.2's first example, Wed and Sat 02:00–06:00 Asia/Tokyo.
// Opening and Closing are one occurrence, a Saturday's; NextOpening is the Wednesday's after it.
var (
	Opening     = time.Date(2026, time.January, 9, 17, 0, 0, 0, time.UTC)
	Closing     = Opening.Add(4 * time.Hour)
	NextOpening = Opening.Add(4 * Day)
)

// Fact is one thing that is so in a pool.
type Fact func(*rotation.Snapshot)

// APool is the pool of §3.2's first example: expireAfter 14d, terminationGracePeriod 1h, no limits, no claims, governed
// by a policy with every default, an hour into the window. Nodes come of age at 5d22h43m. The facts change it, in order.
func APool(facts ...Fact) rotation.Snapshot {
	s := rotation.Snapshot{
		Now: Opening.Add(time.Hour),
		Settings: rotation.Settings{
			Namespace: "noderotation", PauseImage: "registry.k8s.io/pause:3.10", PriorityClass: "noderotation-placeholder",
		},
		Pool: rotation.Pool{
			Object: object(PoolName), ExpireAfter: new(14 * Day), TerminationGracePeriod: new(time.Hour),
		},
		Nodes:      map[string]*corev1.Node{},
		PodsByNode: map[string][]*corev1.Pod{},
	}
	WithPolicy()(&s)
	for _, fact := range facts {
		fact(&s)
	}
	return s.Observe()
}

// LookedAt is the same pool, seen at another instant.
func LookedAt(s rotation.Snapshot, now time.Time) rotation.Snapshot {
	s.Now = now
	return s.Observe()
}

// At makes it another instant than an hour into the window.
func At(now time.Time) Fact { return func(s *rotation.Snapshot) { s.Now = now } }

// PolicyEdit changes the policy that governs.
type PolicyEdit func(*v1alpha1.RotationPolicy)

// WithPolicy is governed by a policy with every default, edited.
func WithPolicy(edits ...PolicyEdit) Fact {
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: PolicyName}}
	policy.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{
		Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00",
	}}
	for _, edit := range edits {
		edit(policy)
	}
	return func(s *rotation.Snapshot) {
		s.Governance = rotation.Govern([]rotation.Assessment{rotation.Assess(policy, Opening)}, s.Pool.Labels)
	}
}

// Ungoverned has no policy.
func Ungoverned() Fact {
	return func(s *rotation.Snapshot) { s.Governance = rotation.Govern(nil, s.Pool.Labels) }
}

// AllowingFallback allows the forceful fallback (§3.6).
func AllowingFallback(p *v1alpha1.RotationPolicy) { p.Spec.Surge.ForcefulFallback.Enabled = true }

// AlwaysOpen replaces the windows with one that never closes.
func AlwaysOpen(p *v1alpha1.RotationPolicy) {
	p.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{{Timezone: "UTC", Start: "00:00", End: "24:00", Days: []v1alpha1.Day{
		v1alpha1.Monday, v1alpha1.Tuesday, v1alpha1.Wednesday, v1alpha1.Thursday, v1alpha1.Friday, v1alpha1.Saturday, v1alpha1.Sunday,
	}}}
}

// OfAgeAt overrides the age at which a node is due.
func OfAgeAt(age time.Duration) PolicyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.AgeThreshold = v1alpha1.AgeThreshold(age.String()) }
}

// AskingForChances sets minRotationChances.
func AskingForChances(k int32) PolicyEdit {
	return func(p *v1alpha1.RotationPolicy) { p.Spec.MinRotationChances = &k }
}

// CoolingDown sets cooldownAfter and failurePause.
func CoolingDown(afterSuccess, afterFailure time.Duration) PolicyEdit {
	return func(p *v1alpha1.RotationPolicy) {
		p.Spec.Surge.CooldownAfter = &metav1.Duration{Duration: afterSuccess}
		p.Spec.Surge.FailurePause = &metav1.Duration{Duration: afterFailure}
	}
}

// Anchored names the claim in active-rotation.
func Anchored(on string) Fact {
	return func(s *rotation.Snapshot) {
		PoolAnnotated(rotation.KeyActiveRotation, on)(s)
		PoolAnnotated(rotation.KeyAnchoredOn, "1")(s)
	}
}

// Mirrored has the draining phase on the pool, with its stamps.
func Mirrored(ago, surgeWait time.Duration) Fact {
	return func(s *rotation.Snapshot) {
		PoolAnnotated(rotation.KeyActiveRotationState, rotation.StateDraining)(s)
		PoolAnnotated(rotation.KeyDrainingAt, stamp(s.Now.Add(-ago)))(s)
		PoolAnnotated(rotation.KeySurgeWait, surgeWait.String())(s)
	}
}

// ByFallback marks the anchored rotation as surge-less.
func ByFallback() Fact { return PoolAnnotated(rotation.KeyRotationMode, rotation.ModeForcefulFallback) }

// Frozen carries an operator's freeze that lasts so long from now; one that is over when negative.
func Frozen(left time.Duration) Fact {
	return func(s *rotation.Snapshot) { PoolAnnotated(rotation.KeyFreeze, stamp(s.Now.Add(left)))(s) }
}

// Rotated had its last success so long ago.
func Rotated(ago time.Duration) Fact {
	return func(s *rotation.Snapshot) { PoolAnnotated(rotation.KeyLastRotationAt, stamp(s.Now.Add(-ago)))(s) }
}

// FailedLast had its last failure so long ago.
func FailedLast(ago time.Duration) Fact {
	return func(s *rotation.Snapshot) { PoolAnnotated(rotation.KeyLastFailureAt, stamp(s.Now.Add(-ago)))(s) }
}

// PoolAnnotated carries an annotation on the NodePool.
func PoolAnnotated(key, value string) Fact {
	return func(s *rotation.Snapshot) {
		s.Pool.Annotations = rotation.Annotate(s.Pool.Annotations, map[string]string{key: value})
	}
}

// PoolThat changes anything else about the NodePool.
func PoolThat(change func(*rotation.Pool)) Fact {
	return func(s *rotation.Snapshot) { change(&s.Pool) }
}

// Limited has limits, and what the pool uses of them: "cpu=8", "nodes=2".
func Limited(limits, used []string) Fact {
	return PoolThat(func(p *rotation.Pool) { p.Limits, p.Used = Amounts(limits...), Amounts(used...) })
}

// Amounts reads "cpu=1" and the like.
func Amounts(quantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, q := range quantities {
		name, amount, _ := strings.Cut(q, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

func object(name string) rotation.Object {
	return rotation.Object{Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1"}
}

func stamp(t time.Time) string { return rotation.FormatStamp(t) }
