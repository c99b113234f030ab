// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
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

	mu     sync.Mutex
	judged map[types.UID]judged
}

type judged struct {
	generation int64
	day        time.Time
	assessment rotation.Assessment
}

// NewPolicies reads through the cache behind reader.
func NewPolicies(reader client.Reader) *Policies {
	return &Policies{reader: reader, judged: map[types.UID]judged{}}
}

// Assess lists every RotationPolicy and judges it as of the UTC day of now.
func (p *Policies) Assess(ctx context.Context, now time.Time) ([]rotation.Assessment, error) {
	var list v1alpha1.RotationPolicyList
	if err := p.reader.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("the RotationPolicies cannot be listed: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	day := now.UTC().Truncate(24 * time.Hour)
	assessments := make([]rotation.Assessment, len(list.Items))
	current := make(map[types.UID]judged, len(list.Items))
	for i := range list.Items {
		policy := &list.Items[i]
		known, found := p.judged[policy.UID]
		if !found || known.generation != policy.Generation || !known.day.Equal(day) {
			known = judged{policy.Generation, day, rotation.Assess(policy, day)}
		}
		current[policy.UID] = known
		assessments[i] = known.assessment
	}
	p.judged = current
	return assessments, nil
}
