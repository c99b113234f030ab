// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

func TestEffects(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "effects")
}

// effect is the registered effect of that name.
func effect(name string) effects.Effect {
	for _, e := range effects.All() {
		if e.Name == name {
			return e
		}
	}
	panic("no effect is registered as " + name)
}

// apply is the effect on a snapshot that is only looked at.
func apply(e effects.Effect, s rotation.Snapshot) (rotation.Snapshot, []effects.Action, error) {
	next, actions, err := e.Apply(&s)
	return *next, actions, err
}

// after applies the effects one after the other, as a row does: how things are then, and what was asked for.
func after(s rotation.Snapshot, names ...string) (rotation.Snapshot, []effects.Action) {
	var all []effects.Action
	for _, name := range names {
		next, actions, err := apply(effect(name), s)
		Expect(err).NotTo(HaveOccurred(), name)
		s, all = next, append(all, actions...)
	}
	return s, all
}

// nextPass is what a pass sees so much later of what an earlier one left: what that has written has another version. What was
// concluded, the candidate above all, is as it was.
func nextPass(s rotation.Snapshot, later time.Duration, done ...effects.Action) rotation.Snapshot {
	const next = "1000"
	s.Now, s.Cleared = s.Now.Add(later), nil
	written := func(name string) {
		claim, _ := s.Claim(name)
		claim.ResourceVersion = next
		s = *s.WithClaim(claim)
	}
	for _, action := range done {
		switch a := action.(type) {
		case effects.PatchPool:
			s.Pool.ResourceVersion = next
		case effects.PatchClaim:
			written(a.Claim.Name)
		case effects.DeleteClaim:
			written(a.Claim.Name)
		}
	}
	return s
}

// asks is what the effects ask for, in order, as a dry run would print it.
func asks(s rotation.Snapshot, names ...string) []string {
	_, actions := after(s, names...)
	return told(actions)
}

// told writes actions as a dry run does, without the prefix that every key of ours has.
func told(actions []effects.Action) []string {
	lines := []string{}
	for _, action := range actions {
		lines = append(lines, strings.ReplaceAll(action.String(), "noderotation.io/", ""))
	}
	return lines
}

// announced are the announcements among the actions of the effects.
func announced(s rotation.Snapshot, names ...string) []effects.Announce {
	_, actions := after(s, names...)
	var all []effects.Announce
	for _, action := range actions {
		if a, is := action.(effects.Announce); is {
			all = append(all, a)
		}
	}
	return all
}

// pool, claim and node have one object's annotations once the effects are done.
func pool(s rotation.Snapshot, names ...string) map[string]string {
	s, _ = after(s, names...)
	return s.Pool.Annotations
}

func claim(s rotation.Snapshot, names ...string) map[string]string {
	s, _ = after(s, names...)
	c, found := s.Claim("old")
	Expect(found).To(BeTrue())
	return c.Annotations
}

// writes are the actions that the API server gets to see.
func writes(actions []effects.Action) []effects.Action {
	var all []effects.Action
	for _, action := range actions {
		if _, is := action.(effects.Announce); !is {
			all = append(all, action)
		}
	}
	return all
}

// now is the Now of every snapshot that does not say otherwise, as annotations carry it.
const now = "2026-01-09T18:00:00Z"

// theOldClaim is the identity of old.
var theOldClaim = rotation.Object{Name: "old", UID: "uid-of-old", ResourceVersion: "1"}

// old is the claim in question, ten days old, on the Ready node old-node.
func old(facts ...fleet.ClaimFact) fleet.Fact {
	return fleet.AClaim("old", append([]fleet.ClaimFact{fleet.Aged(10 * fleet.Day)}, facts...)...)
}
