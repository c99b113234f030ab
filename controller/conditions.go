// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"

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
// what makes the pool's policy Invalid, annotations that cannot be read, every finding by its code, claims with a short lead,
// and what is missing of a Node that is due. What an effect tells with Announce.Condition set lasts too, and is not among
// them. The order is stable.
func Conditions(s rotation.Snapshot) []effects.Announce {
	var told []effects.Announce
	for _, c := range conditions(&s) {
		told = append(told, c.announce(s.Pool.Name))
	}
	return told
}

// conditions are what lasts, without a message written. Of a pool that no policy governs only a tie and an Invalid policy
// are told: nothing reads its annotations.
func conditions(s *rotation.Snapshot) []condition {
	switch {
	case s.Governance.Policy != nil:
		return missing(s, shortLeads(s, findings(s, s.Feasibility.Findings, unreadable(s, nil))))
	case s.Governance.Conflict:
		return []condition{ofPool(s, effects.ReasonPolicyConflict, func() string {
			return fmt.Sprintf("NodePool %s is not rotated: %s", s.Pool.Name, s.Governance.Reason)
		})}
	default:
		return findings(s, s.Governance.Faults, nil)
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

// findings are told by their codes. Those of one code, such as several fields of a policy that cannot be read, are told
// together.
func findings(s *rotation.Snapshot, found []rotation.Finding, all []condition) []condition {
	for i := range found {
		code := found[i].Code
		told := slices.ContainsFunc(found[:i], func(f rotation.Finding) bool { return f.Code == code })
		if !told {
			all = append(all, ofPool(s, code, func() string { return messages(found[i:], code) }))
		}
	}
	return all
}

func messages(found []rotation.Finding, code string) string {
	var said []string
	for i := range found {
		if found[i].Code == code {
			said = append(said, found[i].Message)
		}
	}
	return strings.Join(said, " ")
}

// shortLeads leaves out claims that are on their way out: nothing can be done for them any more.
func shortLeads(s *rotation.Snapshot, all []condition) []condition {
	for _, claim := range s.Claims {
		if !claim.Deleting() && s.Feasibility.ShortLead(claim) {
			all = append(all, ofClaim(claim, effects.ReasonShortLead, func() string { return shortLead(s, claim) }))
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

// missing tells what keeps a node that is due from being rotated, or from being replaced by one of its own kind.
func missing(s *rotation.Snapshot, all []condition) []condition {
	for _, claim := range s.Strangers() {
		all = append(all, ofClaim(claim, effects.ReasonNodeUnknown, func() string {
			return fmt.Sprintf("NodeClaim %s is Ready and due, but %s: it is not rotated. Look for its Node, or delete the NodeClaim.", claim.Name, nodeless(s, claim))
		}))
	}
	if subject, exists := s.Subject(); exists && !subject.Deleting() {
		if unknown := rotation.Unreplicated(s); len(unknown) > 0 {
			all = append(all, ofClaim(&subject, effects.ReasonLabelUnknown, func() string {
				return fmt.Sprintf("Node %s has no label %s, and NodeClaim %s requires no value of it: the replacement may have any that NodePool %s allows. Label the Node.",
					subject.NodeName, strings.Join(unknown, " and no label "), subject.Name, s.Pool.Name)
			}))
		}
	}
	return all
}

func nodeless(s *rotation.Snapshot, claim *rotation.Claim) string {
	if claim.NodeName == "" {
		return "names no Node"
	}
	return fmt.Sprintf("its Node %s is not there, or not labelled %s=%s", claim.NodeName, rotation.LabelNodePool, s.Pool.Name)
}

func ofClaim(claim *rotation.Claim, reason string, message func() string) condition {
	return condition{conditionKey{reason: reason, kind: kindOfClaim, name: claim.Name}, claim.Object, message}
}

func ofPool(s *rotation.Snapshot, reason string, message func() string) condition {
	return condition{conditionKey{reason: reason, kind: kindOfPool, name: s.Pool.Name}, s.Pool.Object, message}
}
