// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The defaults of §5.4. The CRD carries the same values, which a test holds.
const (
	DefaultMinRotationChances = 2
	DefaultMaxUnavailable     = 1
	DefaultReadyTimeout       = 15 * time.Minute
	DefaultCooldownAfter      = 10 * time.Minute
	DefaultRetryBackoff       = 30 * time.Minute

	// LeastFailurePause is the least failure pause where none is set.
	LeastFailurePause = 10 * time.Minute
	// DefaultDrainEstimate is what a drain is expected to take, grace permitting.
	DefaultDrainEstimate = 10 * time.Minute
	// DefaultProvisioningEstimate is what a replacement is expected to take,
	// readyTimeout permitting.
	DefaultProvisioningEstimate = 5 * time.Minute
)

// DefaultRequiredKeys returns the node labels that a replacement must share
// unless the policy says otherwise: zone, architecture and capacity type.
func DefaultRequiredKeys() []LabelKey {
	return []LabelKey{"topology.kubernetes.io/zone", "kubernetes.io/arch", "karpenter.sh/capacity-type"}
}

// Default fills in every field that is unset and has a default in the CRD, and
// leaves all others alone. A policy read from an API server needs no call: it
// was defaulted at admission. One read from a file does.
func (p *RotationPolicy) Default() {
	spec, surge := &p.Spec, &p.Spec.Surge
	if spec.AgeThreshold == "" {
		spec.AgeThreshold = AgeThresholdAuto
	}
	fill(&spec.MinRotationChances, DefaultMinRotationChances)
	fill(&surge.MaxUnavailable, DefaultMaxUnavailable)
	fill(&surge.ReadyTimeout, metav1.Duration{Duration: DefaultReadyTimeout})
	fill(&surge.CooldownAfter, metav1.Duration{Duration: DefaultCooldownAfter})
	fill(&surge.RetryBackoff, metav1.Duration{Duration: DefaultRetryBackoff})
	keys := &surge.MatchNodeRequirements
	keys.Required = slices.Clone(p.RequiredKeys())
	if keys.Preferred == nil {
		keys.Preferred = []LabelKey{}
	}
}

// fill points an unset field at its default.
func fill[T any](field **T, value T) {
	if *field == nil {
		*field = ptr.To(value)
	}
}
