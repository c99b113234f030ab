// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// conditionKey tells one condition from another. What its message says may change while it lasts.
type conditionKey struct {
	reason, kind, name string
	// annotation that the condition is about; empty for most.
	annotation string
}

// condition is something that lasts, and is told when it begins. Its message is written only then: a pass over a pool
// in which nothing has changed writes none.
type condition struct {
	conditionKey
	object  rotation.Object
	message func() string
}

// announce is what is told of the condition when it begins. All of them are warnings.
func (c condition) announce(pool string) effects.Announce {
	told := effects.Announce{
		Pool: pool, Target: effects.Target{Kind: c.kind, Object: c.object},
		Reason: c.reason, Severity: effects.Warning, Message: c.message(), Condition: true,
	}
	if c.kind == kindOfClaim {
		told.Claim = c.name
	}
	return told
}

const (
	kindOfPool  = string(kindNodePool)
	kindOfClaim = string(kindNodeClaim)
)

// Conditions derives from a snapshot all that lasts and that a person should know of (§4.2 Events): a tie of policies,
// annotations that cannot be read, every finding by its code, and claims with a short lead. What an effect tells with
// Announce.Condition set lasts too, and is not among them. The order is stable.
func Conditions(s rotation.Snapshot) []effects.Announce {
	var told []effects.Announce
	for _, c := range conditions(&s) {
		told = append(told, c.announce(s.Pool.Name))
	}
	return told
}

// conditions are what lasts, without a message written. Of a pool that no policy governs only a tie is told: nothing
// reads its annotations.
func conditions(s *rotation.Snapshot) []condition {
	switch {
	case s.Governance.Policy != nil:
		return shortLeads(s, found(s, unreadable(s, nil)))
	case s.Governance.Conflict:
		return []condition{ofPool(s, effects.ReasonPolicyConflict, func() string {
			return fmt.Sprintf("NodePool %s is not rotated: %s", s.Pool.Name, s.Governance.Reason)
		})}
	default:
		return nil
	}
}

func unreadable(s *rotation.Snapshot, all []condition) []condition {
	for _, u := range rotation.Unreadables(*s) {
		reason, object := effects.ReasonAnnotationUnreadable, s.Pool.Object
		switch {
		case u.Kind == kindOfClaim:
			claim, _ := s.Claim(u.Name)
			object = claim.Object
		case u.Key == rotation.KeyFreeze:
			reason = effects.ReasonFreezeUnreadable
		}
		all = append(all, condition{conditionKey{reason, u.Kind, u.Name, u.Key}, object, u.Message})
	}
	return all
}

func found(s *rotation.Snapshot, all []condition) []condition {
	for i := range s.Feasibility.Findings {
		f := &s.Feasibility.Findings[i]
		all = append(all, ofPool(s, f.Code, func() string { return f.Message }))
	}
	return all
}

// shortLeads leaves out claims that are on their way out: nothing can be done for them any more.
func shortLeads(s *rotation.Snapshot, all []condition) []condition {
	for _, claim := range s.Claims {
		if !claim.Deleting() && s.Feasibility.ShortLead(claim) {
			key := conditionKey{reason: effects.ReasonShortLead, kind: kindOfClaim, name: claim.Name}
			all = append(all, condition{key, claim.Object, func() string { return shortLead(s, claim) }})
		}
	}
	return all
}

func shortLead(s *rotation.Snapshot, claim *rotation.Claim) string {
	outlook := "it is rotated at the earliest one"
	if finding, fatal := s.Feasibility.Fatal(); fatal {
		outlook = "it is not rotated as long as " + finding.Code + " stands"
	}
	return fmt.Sprintf("NodeClaim %s lives for %s, but would have to be selected %s before its end to get its %d chances; %s. "+
		"Lengthen the NodePool's expireAfter, or open windows closer together.",
		claim.Name, rotation.Spell(*claim.ExpireAfter), rotation.Spell(s.LeadTime(claim)), s.Feasibility.K, outlook)
}

func ofPool(s *rotation.Snapshot, reason string, message func() string) condition {
	return condition{conditionKey{reason: reason, kind: kindOfPool, name: s.Pool.Name}, s.Pool.Object, message}
}
