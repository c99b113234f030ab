// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

const conditionReady = "Ready"

// poolOf translates Karpenter's NodePool. Maps and slices are shared with np, which is the cache's: they are read only.
func poolOf(np *karpenterv1.NodePool) rotation.Pool {
	template := np.Spec.Template
	pool := rotation.Pool{
		Object:                 objectOf(np),
		Labels:                 np.Labels,
		Annotations:            np.Annotations,
		Deleting:               np.DeletionTimestamp != nil,
		Static:                 np.Spec.Replicas != nil,
		ExpireAfter:            template.Spec.ExpireAfter.Duration,
		TerminationGracePeriod: durationOf(template.Spec.TerminationGracePeriod),
		Taints:                 template.Spec.Taints,
		TemplateLabels:         template.Labels,
		Requirements:           requirementsOf(template.Spec.Requirements),
		Limits:                 corev1.ResourceList(np.Spec.Limits),
		Used:                   np.Status.Resources,
	}
	for _, c := range np.Status.Conditions {
		if c.Type == conditionReady && c.Status == metav1.ConditionFalse {
			pool.NotReady = c.Reason + ": " + c.Message
		}
	}
	return pool
}

// claimOf translates Karpenter's NodeClaim. Maps and slices are shared with nc, which is the cache's: they are read only.
func claimOf(nc *karpenterv1.NodeClaim) *rotation.Claim {
	claim := &rotation.Claim{
		Object:                 objectOf(nc),
		Labels:                 nc.Labels,
		Annotations:            nc.Annotations,
		Created:                nc.CreationTimestamp.Time,
		ExpireAfter:            nc.Spec.ExpireAfter.Duration,
		TerminationGracePeriod: durationOf(nc.Spec.TerminationGracePeriod),
		NodeName:               nc.Status.NodeName,
		Allocatable:            nc.Status.Allocatable,
		Requirements:           requirementsOf(nc.Spec.Requirements),
	}
	if nc.DeletionTimestamp != nil {
		claim.Deleted = nc.DeletionTimestamp.Time
	}
	for _, c := range nc.Status.Conditions {
		if c.Type == conditionReady {
			claim.Ready = c.Status == metav1.ConditionTrue
		}
	}
	return claim
}

// translations remembers the claims of each pool as they were last translated, and how the pool was judged: on most
// passes over a large pool nothing has changed since. A Snapshot is a value, so that several may share them. Safe for
// concurrent use.
type translations struct {
	mu     sync.Mutex
	pools  map[string]translated
	judged map[string]*rotation.Judged
}

// translated are the claims of a pool, sorted by name, and what each was translated to.
type translated struct {
	from []*karpenterv1.NodeClaim
	to   []*rotation.Claim
}

// of translates the claims of the pool, which are sorted by name: those that have changed.
func (t *translations) of(pool string, claims []*karpenterv1.NodeClaim) []*rotation.Claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.pools[pool]
	if slices.EqualFunc(claims, known.from, sameClaim) {
		return known.to
	}
	now := translated{slices.Clone(claims), make([]*rotation.Claim, len(claims))}
	at := 0
	for i, nc := range claims {
		for at < len(known.from) && known.from[at].Name < nc.Name {
			at++
		}
		if at < len(known.from) && sameClaim(nc, known.from[at]) {
			now.to[i] = known.to[at]
		} else {
			now.to[i] = claimOf(nc)
		}
	}
	if t.pools == nil {
		t.pools = map[string]translated{}
	}
	t.pools[pool] = now
	return now.to
}

// sameClaim tells whether both are one claim at one version. A cache keeps an object where it is for as long as it is the
// same, and most are told by that.
func sameClaim(a, b *karpenterv1.NodeClaim) bool {
	return a == b || (a.UID == b.UID && a.ResourceVersion == b.ResourceVersion)
}

// forget drops what is remembered of a pool that is gone.
func (t *translations) forget(pool string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pools, pool)
	delete(t.judged, pool)
}

// judge concludes what the policy means for the snapshot's pool.
func (t *translations) judge(s *rotation.Snapshot) rotation.Feasibility {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.judged[s.Pool.Name]
	if known == nil {
		known = &rotation.Judged{}
		if t.judged == nil {
			t.judged = map[string]*rotation.Judged{}
		}
		t.judged[s.Pool.Name] = known
	}
	return known.Judge(s)
}

func objectOf(o metav1.Object) rotation.Object {
	return rotation.Object{Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
}

func requirementsOf(in []karpenterv1.NodeSelectorRequirementWithMinValues) []rotation.Requirement {
	if len(in) == 0 {
		return nil
	}
	out := make([]rotation.Requirement, len(in))
	for i, r := range in {
		out[i] = rotation.Requirement{Key: r.Key, Operator: string(r.Operator), Values: r.Values}
	}
	return out
}

func durationOf(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}
