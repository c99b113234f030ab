// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// Policies reads the RotationPolicies and remembers what each was judged to be: the survey of a year of windows is
// taken once per policy generation and day, not once per pass. Safe for concurrent use.
type Policies struct {
	reader client.Reader

	mu sync.Mutex
	// day and judged are those of the last answer: its assessments are shared, and never changed.
	day         time.Time
	judged      []judged
	assessments []rotation.Assessment
}

// judged says which policy an assessment is of.
type judged struct {
	uid        types.UID
	generation int64
}

// NewPolicies reads through the cache behind reader.
func NewPolicies(reader client.Reader) *Policies {
	return &Policies{reader: reader}
}

// Assess lists every RotationPolicy and judges it as of the UTC day of now.
func (p *Policies) Assess(ctx context.Context, now time.Time) ([]rotation.Assessment, error) {
	var list v1alpha1.RotationPolicyList
	if err := p.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the RotationPolicies cannot be listed: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if day := now.UTC().Truncate(24 * time.Hour); !day.Equal(p.day) {
		p.day, p.judged, p.assessments = day, nil, nil
	}
	if p.judges(list.Items) {
		return p.assessments, nil
	}
	current := make([]judged, len(list.Items))
	assessments := make([]rotation.Assessment, len(list.Items))
	for i := range list.Items {
		policy := &list.Items[i]
		current[i] = judged{policy.UID, policy.Generation}
		if known := slices.Index(p.judged, current[i]); known >= 0 {
			assessments[i] = p.assessments[known]
		} else {
			assessments[i] = rotation.Assess(policy, p.day)
		}
	}
	p.judged, p.assessments = current, assessments
	return assessments, nil
}

// judges tells whether the last answer is about these policies, as they are now.
func (p *Policies) judges(policies []v1alpha1.RotationPolicy) bool {
	if len(p.judged) == 0 || len(p.judged) != len(policies) {
		return false
	}
	for i, known := range p.judged {
		if known != (judged{policies[i].UID, policies[i].Generation}) {
			return false
		}
	}
	return true
}
