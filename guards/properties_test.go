// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// everywhere runs a check over every situation and over many pools that nobody would think of.
func everywhere(t *testing.T, check func(t rapid.TB, s rotation.Snapshot)) {
	t.Helper()
	for _, situation := range fleet.Situations() {
		t.Run(situation.Name, func(t *testing.T) { check(t, situation.Snapshot) })
	}
	t.Run("anything", rapid.MakeCheck(func(t *rapid.T) { check(t, fleet.Snapshots().Draw(t, "snapshot")) }))
}

func TestGuardsChangeNoSnapshot(t *testing.T) {
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		before := fleet.Clone(s)
		for _, g := range guards.All() {
			first := said(g.Check(&s))
			if !reflect.DeepEqual(before, s) {
				t.Fatalf("%s changed the snapshot in place", g.Name)
			}
			if again := said(g.Check(&s)); again != first {
				t.Errorf("%s says %+v and then %+v of one snapshot", g.Name, first, again)
			}
		}
	})
}

// A declaration that is not true of Check makes the laws blind to real cases.
func TestGuardsImplyWhatTheyDeclare(t *testing.T) {
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		for _, g := range guards.All() {
			if !g.Check(&s).Holds {
				continue
			}
			for _, implied := range g.Implies {
				if v := ask(implied.Guard, s); v.Holds == implied.Not {
					t.Errorf("%s holds (%s) and declares %q, but: %s", g.Name, g.Check(&s).Reason(), implied, v.Reason())
				}
			}
		}
	})
}

func TestReasonsAreSentences(t *testing.T) {
	malformed := regexp.MustCompile(`^\s*$|%!|\n| {2}`)
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		for _, g := range guards.All() {
			if reason := g.Check(&s).Reason(); malformed.MatchString(reason) {
				t.Errorf("%s gives the reason %q", g.Name, reason)
			}
		}
	})
}

// Until is the first instant at which the answer changes by itself: a pass that sleeps until then is neither late nor
// early. Three guards depend on which claim is chosen, and another claim's coming of age may answer for them.
func TestUntilIsTheInstantOfChange(t *testing.T) {
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		for _, g := range guards.All() {
			now := g.Check(&s)
			if now.Until.IsZero() {
				continue
			}
			if !now.Until.After(s.Now) {
				t.Fatalf("%s changes at %s, which is not after now, %s", g.Name, now.Until, s.Now)
			}
			just, then := fleet.LookedAt(s, now.Until.Add(-1)), fleet.LookedAt(s, now.Until)
			switch g.Name {
			case guards.Candidate:
				changes(t, s, just, then)
			case guards.Eligible:
				claim, _ := s.Subject()
				if s.Standing(&claim) != just.Standing(&claim) || s.Standing(&claim) == then.Standing(&claim) {
					t.Errorf("%s stands otherwise before %s, or does not then", claim.Name, now.Until)
				}
			case guards.ForcefulFallback, guards.SurgeHeadroom:
				if now.Until.Equal(s.Selection.Overtaken) {
					changes(t, s, just, then)
					continue
				}
				fallthrough
			default:
				if v := g.Check(&just); v.Holds != now.Holds {
					t.Errorf("%s changes before %s: %s", g.Name, now.Until, v.Reason())
				}
				if v := g.Check(&then); v.Holds == now.Holds {
					t.Errorf("%s does not change at %s: %s", g.Name, now.Until, v.Reason())
				}
			}
		}
	})
}

// What lasts of a reason is the same a second later, where the answer is: a status that carries it is not written anew
// with the clock.
func TestWhatLastsOfAReasonDoesNotMoveWithTheClock(t *testing.T) {
	everywhere(t, func(t rapid.TB, s rotation.Snapshot) {
		later := fleet.LookedAt(s, s.Now.Add(time.Second))
		if !reflect.DeepEqual(s.Selection, later.Selection) {
			return
		}
		for _, g := range guards.All() {
			now, then := g.Check(&s), g.Check(&later)
			if now.Holds == then.Holds && now.Lasting() != then.Lasting() {
				t.Errorf("%s: %q, and a second later %q", g.Name, now.Lasting(), then.Lasting())
			}
			if !strings.HasPrefix(now.Reason(), now.Lasting()) {
				t.Errorf("%s: %q does not begin %q", g.Name, now.Reason(), now.Lasting())
			}
		}
	})
}

// changes checks that the claims stand just before then as they do now, and otherwise at then.
func changes(t rapid.TB, now, just, then rotation.Snapshot) {
	if !reflect.DeepEqual(now.Candidacies(), just.Candidacies()) {
		t.Errorf("a claim stands otherwise before %s", then.Now)
	}
	if reflect.DeepEqual(now.Candidacies(), then.Candidacies()) {
		t.Errorf("no claim stands otherwise at %s", then.Now)
	}
}

// What depends on time says so: where an answer is another one later, the verdict named an instant up to then. Only what
// no row asks of a candidate may change with it unannounced: it is asked of the anchored claim alone.
func TestNoAnswerChangesUnannounced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := fleet.Snapshots().Draw(t, "snapshot")
		later := fleet.LookedAt(s, s.Now.Add(time.Duration(rapid.Int64Range(1, int64(20*fleet.Day)).Draw(t, "later"))))
		for _, g := range guards.All() {
			now, then := g.Check(&s), g.Check(&later)
			anchoredOnly := slices.Contains([]string{guards.BackoffElapsed, guards.Eligible, guards.SurgeReady}, g.Name)
			if now.Holds == then.Holds || (anchoredOnly && s.SubjectName() != later.SubjectName()) {
				continue
			}
			if now.Until.IsZero() || now.Until.After(later.Now) {
				t.Errorf("%s: %q at %s, %q at %s, and Until was %s", g.Name, now.Reason(), s.Now, then.Reason(), later.Now, now.Until)
			}
		}
	})
}
