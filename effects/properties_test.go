// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// everywhere runs a check of every effect over every situation and over many pools that nobody would think of.
func everywhere(t *testing.T, check func(t rapid.TB, e effects.Effect, s rotation.Snapshot)) {
	t.Helper()
	all := func(t rapid.TB, s rotation.Snapshot) {
		for _, e := range effects.All() {
			check(t, e, s)
		}
	}
	for _, situation := range fleet.Situations() {
		t.Run(situation.Name, func(t *testing.T) { all(t, situation.Snapshot) })
	}
	t.Run("anything", rapid.MakeCheck(func(t *rapid.T) { all(t, fleet.Snapshots().Draw(t, "snapshot")) }))
}

// Every effect says what must be true: where it is, nothing is written. Announcements may repeat.
func TestEffectsAskForNoWriteTheSecondTime(t *testing.T) {
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		once, _, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		twice, again, err := apply(e, once)
		if err != nil {
			t.Fatalf("%s, the second time: %v", e.Name, err)
		}
		if repeated := writes(again); len(repeated) > 0 {
			t.Errorf("%s asks the second time for %v", e.Name, told(repeated))
		}
		if !reflect.DeepEqual(once, twice) {
			t.Errorf("%s changes the snapshot the second time", e.Name)
		}
	})
}

// anew is an effect that a later pass would have write again, and why none comes to.
type anew struct {
	effect string
	// where it does.
	where   func(rotation.Snapshot) bool
	because string
}

// writtenAnew are all of them.
var writtenAnew = []anew{
	{effects.RecordSuccess, func(rotation.Snapshot) bool { return true },
		"it is one update with the end of its rotation (law outcome-recorded), and until that is accepted nothing is written"},
	{effects.RecordFailure, func(s rotation.Snapshot) bool {
		claim, exists := s.Subject()
		return !exists || !claim.FailedAt().Readable
	}, "as record_success; where the claim tells when it failed, that is written, and once"},
}

// A pass may be cut, or refused, between any two writes, and the next one has the same row: what is written is not written
// again only because time has gone by and the object has another version.
func TestEffectsAskForNoWriteInALaterPass(t *testing.T) {
	met := map[string]bool{}
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		once, actions, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		for _, later := range []time.Duration{time.Second, time.Hour} {
			next := nextPass(once, later, actions...)
			twice, again, err := apply(e, next)
			if err != nil {
				t.Fatalf("%s, %s later: %v", e.Name, later, err)
			}
			repeated := writes(again)
			if slices.ContainsFunc(writtenAnew, func(a anew) bool { return a.effect == e.Name && a.where(next) }) {
				met[e.Name] = met[e.Name] || len(repeated) > 0
				continue
			}
			if len(repeated) > 0 {
				t.Errorf("%s asks %s later for %v", e.Name, later, told(repeated))
			}
			if !reflect.DeepEqual(next, twice) {
				t.Errorf("%s changes the snapshot %s later", e.Name, later)
			}
		}
	})
	for _, a := range writtenAnew {
		if !met[a.effect] {
			t.Errorf("%s nowhere writes anew; it needs no exception, that %s", a.effect, a.because)
		}
	}
}

// The reason of the exceptions: with the end of the anchor they are one write, so there is no pass that comes between.
func TestWhatIsWrittenAnewIsOneWriteWithTheEndOfTheAnchor(t *testing.T) {
	for _, a := range writtenAnew {
		everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
			if e.Name != a.effect || s.Anchor() == "" {
				return
			}
			next, actions, _ := apply(e, s)
			_, cleared, _ := apply(effect(effects.ClearAnchor), next)
			if merged := effects.Merge(append(actions, cleared...)); len(merged) != 1 {
				t.Errorf("%s and the end of the anchor are %v", a.effect, told(merged))
			}
		})
	}
}

// The pointers of a snapshot lead into the cache: nothing is changed in place (architecture, One pass).
func TestEffectsChangeNoSnapshotInPlace(t *testing.T) {
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		before := fleet.Clone(s)
		if _, _, err := e.Apply(&s); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if !reflect.DeepEqual(before, s) {
			t.Errorf("%s changed the snapshot in place", e.Name)
		}
	})
}

// The next effect of a row builds on the new snapshot instead of reading again, so it must be what the actions bring about.
func TestTheNewSnapshotIsWhatTheActionsBringAbout(t *testing.T) {
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		next, actions, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if expected, is := shown(s).carryOut(actions), shown(next); !reflect.DeepEqual(expected, is) {
			t.Errorf("%s asks for %v, which makes of the cluster\n%+v\nand not\n%+v", e.Name, told(actions), expected, is)
		}
	})
}

// An effect that declares no write only announces, and is no cause for a requeue of a pass that has nothing to do.
func TestEffectsWriteWhatTheyDeclare(t *testing.T) {
	wrote := map[string]bool{}
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		_, actions, err := apply(e, s)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		asked := writes(actions)
		wrote[e.Name] = wrote[e.Name] || len(asked) > 0
		if len(asked) > 0 && len(e.Writes) == 0 {
			t.Errorf("%s declares no write and asks for %v", e.Name, told(asked))
		}
	})
	for _, e := range effects.All() {
		if len(e.Writes) > 0 && !wrote[e.Name] {
			t.Errorf("%s declares %v, and nowhere writes anything", e.Name, e.Writes)
		}
	}
}

// The registry of keys names who writes and who clears each of them (§5.3); it is what people read.
func TestEffectsTouchTheKeysThatNameThem(t *testing.T) {
	writers, clearers := map[string]string{}, map[string]string{}
	for _, key := range rotation.Keys() {
		writers[key.Name], clearers[key.Name] = key.Writer, key.Clearer
	}
	everywhere(t, func(t rapid.TB, e effects.Effect, s rotation.Snapshot) {
		_, actions, _ := apply(e, s)
		for _, change := range changes(actions) {
			for key := range change.Set {
				if !names(writers[key], e.Name) {
					t.Errorf("%s writes %s, whose writer is said to be %q", e.Name, key, writers[key])
				}
			}
			for _, key := range change.Remove {
				if !names(clearers[key], e.Name) {
					t.Errorf("%s removes %s, whose clearer is said to be %q", e.Name, key, clearers[key])
				}
			}
		}
	})
}

// names tells whether a list of the registry names the effect.
func names(list, effect string) bool { return slices.Contains(strings.Split(list, ", "), effect) }

func changes(actions []effects.Action) []effects.Change {
	var all []effects.Change
	for _, action := range actions {
		switch a := action.(type) {
		case effects.PatchPool:
			all = append(all, a.Change)
		case effects.PatchClaim:
			all = append(all, a.Change)
		case effects.PatchNode:
			all = append(all, a.Change)
		}
	}
	return all
}

// Merging joins writes and changes nothing of what they do, in any row that could be written (architecture, One applier).
func TestMergingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fleet.Snapshots().Draw(t, "snapshot")
		start := s
		var actions []effects.Action
		for _, e := range rapid.SliceOfN(rapid.SampledFrom(effects.All()), 1, 12).Draw(t, "row") {
			next, step, err := apply(e, s)
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			s, actions = next, append(actions, step...)
		}
		before := told(actions)
		merged := effects.Merge(actions)
		if !slices.Equal(before, told(actions)) {
			t.Errorf("merging changed the actions that it was given")
		}
		if one, all := shown(start).carryOut(merged), shown(start).carryOut(actions); !reflect.DeepEqual(one, all) {
			t.Errorf("%v comes to\n%+v\nand one by one\n%+v", told(merged), one, all)
		}
		if again := effects.Merge(merged); !slices.Equal(told(again), told(merged)) {
			t.Errorf("merging again makes %v of %v", told(again), told(merged))
		}
	})
}

// Then composes changes: the joined one does what the two do in turn.
func TestThenDoesBothInTurn(t *testing.T) {
	keys := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	change := rapid.Custom(func(t *rapid.T) effects.Change {
		c := effects.Change{Set: rapid.MapOf(keys, rapid.SampledFrom([]string{"1", "2"})).Draw(t, "set")}
		for _, key := range rapid.SliceOfDistinct(keys, rapid.ID[string]).Draw(t, "remove") {
			if _, set := c.Set[key]; !set {
				c.Remove = append(c.Remove, key)
			}
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		first, second := change.Draw(t, "first"), change.Draw(t, "second")
		have := rapid.MapOf(keys, rapid.Just("0")).Draw(t, "annotations")
		joined := first.Then(second)
		if one, both := changed(have, joined), changed(changed(have, first), second); !maps.Equal(one, both) {
			t.Errorf("%q then %q is %q: it makes %v of %v, the two in turn %v", first, second, joined, one, have, both)
		}
	})
}
