// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// oneRotation is what happens to a fleet of two while its node old is replaced by fresh, a Pod at a time.
func oneRotation() []record.Event {
	freshNode := func(ready bool, annotations ...string) *corev1.Node { return node("fresh", ready, annotations...) }
	return []record.Event{
		turns(pool(rotation.KeyActiveRotation, "old")),
		turns(claim("old", rotation.KeyState, "pending")),
		turns(node("old", true, rotation.KeySurgeFor, "old", rotation.KeyCordoned, "true")),
		comes(placeholder(corev1.PodPending, "")),
		comes(claim("fresh")),
		comes(freshNode(false)),
		turns(freshNode(true)),
		turns(placeholder(corev1.PodPending, "fresh")),
		turns(placeholder(corev1.PodRunning, "fresh")),
		turns(freshNode(true, rotation.KeySurgeFor, "old")),
		turns(pool(rotation.KeyActiveRotation, "old", rotation.KeyActiveRotationState, "draining")),
		turns(claim("old", rotation.KeyState, "draining")),
		turns(deleted(claim("old", rotation.KeyState, "draining"))),
		turns(deleted(placeholder(corev1.PodRunning, "fresh"))),
		goes(placeholder(corev1.PodRunning, "fresh")),
		turns(evictedPod("a", "old")),
		comes(pod("c", "fresh", false)),
		turns(pod("c", "fresh", true)),
		goes(pod("a", "old", true)),
		goes(node("old", true)),
		goes(claim("old")),
		turns(freshNode(true)),
		turns(pool(rotation.KeyLastRotationAt, "2026-03-02T09:31:00Z")),
	}
}

func TestARotationIsToldStepByStep(t *testing.T) {
	want := []string{
		"noderotation selects NodeClaim old, next to expire: deadline Tue 3 Mar 09:30:00 UTC",
		"noderotation cordons node old and protects it from voluntary disruption",
		"noderotation asks for the room its Pods need: a placeholder of 3 CPU in test-zone-b",
		"karpenter launches NodeClaim fresh in test-zone-b",
		"kubernetes node fresh is Ready",
		"kubernetes the placeholder runs on node fresh: the room stands",
		"noderotation protects node fresh as well",
		"noderotation deletes NodeClaim old: the drain begins",
		"noderotation removes the placeholder: the room is for the Pods that now move",
		"karpenter evicts Pod a (PDB allows 1): 1 of 2 Ready",
		"kubernetes Pod c is Ready on node fresh: 2 of 2 Ready",
		"karpenter ends node old, which is empty: NodeClaim gone",
		"noderotation takes its protection off node fresh",
		"noderotation completes the rotation; cooldown: the pool rests for 5s",
	}
	if got := told(two, standing(), oneRotation()...); !slices.Equal(got, want) {
		t.Errorf("told\n%q\nnot\n%q", got, want)
	}
}

func TestWhatGoesWrongIsTold(t *testing.T) {
	anchored := pool(rotation.KeyActiveRotation, "old")
	for name, c := range map[string]struct {
		start  []record.Object
		events []record.Event
		want   []string
	}{
		"no replacement in time": {
			start: []record.Object{anchored, claim("old", rotation.KeyState, "pending")},
			events: []record.Event{
				turns(claim("old", rotation.KeyState, "failed")),
				turns(pool(rotation.KeyLastFailureAt, "2026-03-02T09:31:00Z")),
			},
			want: []string{
				"noderotation rolls back: no replacement stood in time for NodeClaim old",
				"noderotation lets the failed rotation go; the pool pauses before the next attempt",
			},
		},
		"another hand deletes the claim": {
			start: []record.Object{anchored, claim("old", rotation.KeyState, "pending")},
			events: []record.Event{
				turns(deleted(claim("old", rotation.KeyState, "pending"))),
				turns(deleted(claim("old", rotation.KeyState, "expired"))),
				turns(pool()),
			},
			want: []string{
				"karpenter drains NodeClaim old, deleted by another hand than ours",
				"noderotation gives way: NodeClaim old is being deleted by another hand",
				"noderotation lets the rotation of NodeClaim old go",
			},
		},
		"the placeholder is lost": {
			start:  append(standing(), placeholder(corev1.PodRunning, "other")),
			events: []record.Event{goes(placeholder(corev1.PodRunning, "other"))},
			want:   []string{"kubernetes the placeholder is gone, and no drain has begun"},
		},
		"one node too many": {
			start:  append(standing(), claim("fresh")),
			events: []record.Event{comes(claim("surplus"))},
			want:   []string{"karpenter launches NodeClaim surplus in test-zone-b: 4 nodes, which is too many"},
		},
		"a node fails": {
			start:  standing(),
			events: []record.Event{turns(node("other", false))},
			want:   []string{"kubernetes node other is not Ready any more"},
		},
		"a Pod is deleted past its budget": {
			start:  standing(),
			events: []record.Event{turns(deleted(pod("a", "old", true)))},
			want:   []string{"kubernetes Pod a is deleted: 1 of 2 Ready"},
		},
		"a claim that is not the next to expire is selected": {
			start:  standing(),
			events: []record.Event{turns(pool(rotation.KeyActiveRotation, "other"))},
			want:   []string{"noderotation selects NodeClaim other: deadline Tue 3 Mar 10:30:00 UTC"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(two, c.start, c.events...); !slices.Equal(got, c.want) {
				t.Errorf("told\n%q\nnot\n%q", got, c.want)
			}
		})
	}
}

func TestWhatIsNotOursIsLeftUntold(t *testing.T) {
	foreign := claim("foreign")
	foreign.Labels = nil
	system := pod("dns", "old", true)
	system.Labels = nil
	if got := told(two, standing(), comes(foreign), comes(system), turns(node("old", true)), turns(pool())); len(got) > 0 {
		t.Errorf("told %q", got)
	}
}
