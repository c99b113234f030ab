// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// answer is what an effect asks for, or why it cannot say.
type answer struct {
	actions []effects.Action
	failure string
}

func asked(e effects.Effect, s rotation.Snapshot) answer {
	_, actions, err := apply(e, s)
	if err != nil {
		return answer{failure: err.Error()}
	}
	return answer{actions: append([]effects.Action{}, actions...)}
}

// A declaration of what is read is the whole of it: whatever else of the snapshot is exchanged for another one's, the same
// is asked for.
func TestEffectsReadNothingThatTheyDoNotDeclare(t *testing.T) {
	readings := slices.Sorted(maps.Keys(fleet.Grafts()))
	check := func(t rapid.TB, s, from rotation.Snapshot) {
		for _, reading := range readings {
			grafted := fleet.Grafted(s, reading, from)
			for _, e := range effects.All() {
				if slices.Contains(e.Reads, reading) {
					continue
				}
				if was, is := asked(e, s), asked(e, grafted); !reflect.DeepEqual(was, is) {
					t.Errorf("%s does not declare that it reads %q, which makes of\n%+v\n%+v", e.Name, reading, was, is)
				}
			}
		}
	}
	for _, situation := range fleet.Situations() {
		t.Run(situation.Name, func(t *testing.T) {
			for _, other := range []string{"the pool is empty", "the surge is ready", "the drain is overdue"} {
				check(t, situation.Snapshot, fleet.In(other))
			}
		})
	}
	t.Run("anything", rapid.MakeCheck(func(t *rapid.T) {
		check(t, fleet.Snapshots().Draw(t, "snapshot"), fleet.Snapshots().Draw(t, "another"))
	}))
}

// What is declared matters somewhere: a reading that changes nothing would tell the reader of a cause that is none.
func TestEffectsReadWhatTheyDeclare(t *testing.T) {
	pairs := fleet.Pairs()
	for _, e := range effects.All() {
		for _, reading := range e.Reads {
			if fleet.Grafts()[reading] == nil {
				t.Errorf("%s reads %q, which is no reading of package rotation", e.Name, reading)
				continue
			}
			if !fleet.Matters(reading, pairs, func(s rotation.Snapshot) answer { return asked(e, s) }) {
				t.Errorf("%s declares that it reads %q, which changed nothing", e.Name, reading)
			}
		}
	}
}

// there tells whether a snapshot has what an effect may need.
func there() map[string]func(rotation.Snapshot) bool {
	marked := func(s rotation.Snapshot) bool {
		for _, node := range s.Nodes {
			if slices.ContainsFunc(rotation.NodeMarkers(), func(key string) bool { _, has := node.Annotations[key]; return has }) {
				return true
			}
		}
		return false
	}
	return map[string]func(rotation.Snapshot) bool{
		rotation.NeedSubject: func(s rotation.Snapshot) bool { return s.SubjectName() != "" },
		rotation.NeedClaim:   func(s rotation.Snapshot) bool { _, exists := s.Subject(); return exists },
		rotation.NeedNode:    func(s rotation.Snapshot) bool { return s.SubjectNode() != nil },
		rotation.NeedHost:    func(s rotation.Snapshot) bool { return rotation.SurgeHost(s) != "" },
		rotation.NeedPod:     func(s rotation.Snapshot) bool { return len(s.Placeholders) > 0 },
		rotation.NeedInduced: func(s rotation.Snapshot) bool { _, found, _ := rotation.Induced(s); return found },
		rotation.NeedAnchor: func(s rotation.Snapshot) bool {
			return slices.ContainsFunc(rotation.AnchorKeys(), func(key string) bool { _, has := s.Pool.Annotations[key]; return has })
		},
		rotation.NeedMarkers: marked,
	}
}

// Where what an effect needs is not there, it writes nothing.
func TestEffectsWriteNothingWithoutWhatTheyNeed(t *testing.T) {
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		_, actions, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		for _, need := range e.Needs {
			has := there()[need]
			if has == nil {
				t.Fatalf("%s needs %q, which is no need of package rotation", e.Name, need)
			}
			if asks := writes(actions); len(asks) > 0 && !has(s) {
				t.Errorf("%s asks for %v without %s", e.Name, told(asks), need)
			}
		}
	})
}
