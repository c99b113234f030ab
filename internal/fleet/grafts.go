// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"noderotation.io/noderotation/rotation"
)

// Graft puts one reading of a snapshot into another one. What was concluded, findings and selection, stays as it was:
// each is a reading of its own.
type Graft func(onto *rotation.Snapshot, from rotation.Snapshot)

// Grafts has every reading that a guard or an effect may declare, by its word.
func Grafts() map[string]Graft {
	return map[string]Graft{
		rotation.ReadClock:    func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Now = from.Now },
		rotation.ReadSettings: func(onto *rotation.Snapshot, _ rotation.Snapshot) { onto.Settings.Namespace += "-other" },
		rotation.ReadGovernance: func(onto *rotation.Snapshot, from rotation.Snapshot) {
			onto.Governance.Policy, onto.Governance.Reason = from.Governance.Policy, from.Governance.Reason
			onto.Governance.Conflict = from.Governance.Conflict
		},
		rotation.ReadTerms: func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Governance.Terms = from.Governance.Terms },
		rotation.ReadWindows: func(onto *rotation.Snapshot, from rotation.Snapshot) {
			onto.Governance.Windows, onto.Governance.Survey = from.Governance.Windows, from.Governance.Survey
		},
		rotation.ReadFindings:  func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Feasibility = from.Feasibility },
		rotation.ReadSelection: func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Selection = from.Selection },

		rotation.ReadAnchor:       ofPool(rotation.KeyActiveRotation),
		rotation.ReadAnchoredOn:   ofPool(rotation.KeyAnchoredOn),
		rotation.ReadMirror:       ofPool(rotation.KeyActiveRotationState),
		rotation.ReadDrainingAt:   ofPool(rotation.KeyDrainingAt),
		rotation.ReadSurgeWait:    ofPool(rotation.KeySurgeWait),
		rotation.ReadMode:         ofPool(rotation.KeyRotationMode),
		rotation.ReadLastRotation: ofPool(rotation.KeyLastRotationAt),
		rotation.ReadLastFailure:  ofPool(rotation.KeyLastFailureAt),
		rotation.ReadFreeze:       ofPool(rotation.KeyFreeze, rotation.KeyFreezeReason),
		rotation.ReadPoolLimits: func(onto *rotation.Snapshot, from rotation.Snapshot) {
			onto.Pool.Limits, onto.Pool.Used = from.Pool.Limits, from.Pool.Used
		},
		rotation.ReadPoolTemplate: func(onto *rotation.Snapshot, from rotation.Snapshot) {
			onto.Pool.Labels, onto.Pool.TemplateLabels, onto.Pool.Requirements = from.Pool.Labels, from.Pool.TemplateLabels, from.Pool.Requirements
			onto.Pool.Taints, onto.Pool.ExpireAfter = from.Pool.Taints, from.Pool.ExpireAfter
			onto.Pool.TerminationGracePeriod = from.Pool.TerminationGracePeriod
			onto.Pool.Deleting, onto.Pool.Static, onto.Pool.NotReady = from.Pool.Deleting, from.Pool.Static, from.Pool.NotReady
		},

		rotation.ReadClaims:        existence,
		rotation.ReadClaimDeletion: ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.Deleted = from.Deleted }),
		rotation.ReadClaimAge:      ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.Created = from.Created }),
		rotation.ReadClaimExpiry:   ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.ExpireAfter = from.ExpireAfter }),
		rotation.ReadClaimGrace: ofClaims(func(onto *rotation.Claim, from rotation.Claim) {
			onto.TerminationGracePeriod = from.TerminationGracePeriod
		}),
		rotation.ReadClaimReady:       ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.Ready = from.Ready }),
		rotation.ReadClaimNode:        ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.NodeName = from.NodeName }),
		rotation.ReadClaimAllocatable: ofClaims(func(onto *rotation.Claim, from rotation.Claim) { onto.Allocatable = from.Allocatable }),
		rotation.ReadClaimKind: ofClaims(func(onto *rotation.Claim, from rotation.Claim) {
			onto.Labels, onto.Requirements = from.Labels, from.Requirements
		}),
		rotation.ReadClaimState: ofClaimAnnotation(rotation.KeyState),
		rotation.ReadStartedAt:  ofClaimAnnotation(rotation.KeyStartedAt),
		rotation.ReadFailedAt:   ofClaimAnnotation(rotation.KeyFailedAt),
		rotation.ReadRetryCount: ofClaimAnnotation(rotation.KeyRetryCount),
		rotation.ReadSurgeClaim: ofClaimAnnotation(rotation.KeySurgeClaim),
		rotation.ReadReleasedAt: ofClaimAnnotation(rotation.KeyReleasedAt),

		rotation.ReadNodes:       func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Nodes = from.Nodes },
		rotation.ReadPlaceholder: func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Placeholders = from.Placeholders },
		rotation.ReadPods:        func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.PodsByNode = from.PodsByNode },
		rotation.ReadUnbound:     func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Unbound = from.Unbound },
		rotation.ReadBudgets:     func(onto *rotation.Snapshot, from rotation.Snapshot) { onto.Budgets = from.Budgets },
	}
}

// Grafted is the snapshot with another one's reading in it.
func Grafted(s rotation.Snapshot, reading string, from rotation.Snapshot) rotation.Snapshot {
	s.Claims = cloneAll(s.Claims, func(c *rotation.Claim) *rotation.Claim { return new(*c) })
	Grafts()[reading](&s, from)
	return s
}

// ofPool grafts annotations of the pool that are read together.
func ofPool(keys ...string) Graft {
	return func(onto *rotation.Snapshot, from rotation.Snapshot) {
		for _, key := range keys {
			onto.Pool.Annotations = annotated(onto.Pool.Annotations, from.Pool.Annotations, key)
		}
	}
}

// ofClaims grafts something of each claim that both snapshots have.
func ofClaims(graft func(onto *rotation.Claim, from rotation.Claim)) Graft {
	return func(onto *rotation.Snapshot, from rotation.Snapshot) {
		for i := range onto.Claims {
			if other, both := from.Claim(onto.Claims[i].Name); both {
				graft(onto.Claims[i], other)
			}
		}
	}
}

func ofClaimAnnotation(key string) Graft {
	return ofClaims(func(onto *rotation.Claim, from rotation.Claim) {
		onto.Annotations = annotated(onto.Annotations, from.Annotations, key)
	})
}

func annotated(onto, from map[string]string, key string) map[string]string {
	out := maps.Clone(onto)
	if out == nil {
		out = map[string]string{}
	}
	delete(out, key)
	if value, present := from[key]; present {
		out[key] = value
	}
	return out
}

// existence takes away the claims that the other snapshot lacks, and adds those that it has beyond.
func existence(onto *rotation.Snapshot, from rotation.Snapshot) {
	kept := slices.DeleteFunc(onto.Claims, func(c *rotation.Claim) bool {
		_, both := from.Claim(c.Name)
		return !both
	})
	for _, c := range from.Claims {
		if !slices.ContainsFunc(kept, func(k *rotation.Claim) bool { return k.Name == c.Name }) {
			kept = append(kept, c)
		}
	}
	slices.SortFunc(kept, func(a, b *rotation.Claim) int { return strings.Compare(a.Name, b.Name) })
	onto.Claims = kept
}

// Pair is two snapshots of one pool, to see what differs.
type Pair struct{ One, Other rotation.Snapshot }

// Pairs are pools that differ in little first, and then many that nobody would think of; the same ones every time.
func Pairs() []Pair {
	const drawn, partners = 1000, 5
	snapshots := make([]rotation.Snapshot, drawn)
	for seed := range snapshots {
		snapshots[seed] = Snapshots().Example(seed)
	}
	pairs := contrasts()
	for i, one := range snapshots {
		for n := range partners {
			pairs = append(pairs, Pair{one, snapshots[(i+n+1)%drawn]})
		}
	}
	return pairs
}

// Matters tells whether the reading of one of a pair, grafted onto the other, anywhere changes what is asked.
func Matters[T any](reading string, pairs []Pair, ask func(rotation.Snapshot) T) bool {
	return slices.ContainsFunc(pairs, func(p Pair) bool {
		return !reflect.DeepEqual(ask(p.One), ask(Grafted(p.One, reading, p.Other)))
	})
}
