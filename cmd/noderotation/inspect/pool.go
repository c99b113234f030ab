// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// Pool is one NodePool at one moment.
type Pool struct {
	Name string `json:"nodePool"`
	// Policy that governs; empty without one. Governance says why.
	Policy     string `json:"policy,omitempty"`
	Governance string `json:"governance"`
	// Phase is the rotation's state; empty where it cannot be told.
	Phase  string  `json:"phase,omitempty"`
	Window *Window `json:"window,omitempty"`
	// NodeClaims of the pool, Candidates of them that may be rotated, and the one that is next.
	NodeClaims int       `json:"nodeClaims"`
	Candidates int       `json:"candidates"`
	Candidate  string    `json:"candidate,omitempty"`
	Deadline   *Deadline `json:"nextDeadline,omitempty"`
	Freeze     *Freeze   `json:"freeze,omitempty"`
	Rotation   *Rotation `json:"rotation,omitempty"`
	// Row of the table that fires now; empty where none can be decided on.
	Row string `json:"row,omitempty"`
	// Blocked is what keeps the rotation from its next step; nil when nothing does.
	Blocked *Blocked `json:"blocked,omitempty"`
	// NextChange is when the decision next changes by itself; nil when only the cluster can change it.
	NextChange *Change `json:"nextChange,omitempty"`
	// NextOfAge is the claim that is waited for where none may be rotated now.
	NextOfAge *NextOfAge `json:"nextOfAge,omitempty"`
	// Findings about the policy and the pool, Unreadable about annotations.
	Findings   []Finding `json:"findings,omitempty"`
	Unreadable []string  `json:"unreadable,omitempty"`

	now  time.Time
	zone *time.Location
	// outlook is what the controller says of the pool in its policy's status, where it sees what is seen here.
	outlook string
}

// Window is the maintenance window that is open, or the next to open.
type Window struct {
	Open bool `json:"open"`
	// Opens is the start of the next window, Closes the end of the open one; nil when there is none.
	Opens  *metav1.Time `json:"opens,omitempty"`
	Closes *metav1.Time `json:"closes,omitempty"`
}

// Deadline is when Karpenter expires a claim of the pool.
type Deadline struct {
	NodeClaim string       `json:"nodeClaim"`
	At        *metav1.Time `json:"at"`
}

// Freeze is an operator's hold that is in force.
type Freeze struct {
	// Until is nil when the value cannot be read: the pool then counts as frozen.
	Until  *metav1.Time `json:"until,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// Rotation is the rotation that is anchored on the pool.
type Rotation struct {
	NodeClaim string `json:"nodeClaim"`
	Node      string `json:"node,omitempty"`
	// Replacement is the claim that takes over, as far as it is known.
	Replacement     string       `json:"replacement,omitempty"`
	ReplacementNode string       `json:"replacementNode,omitempty"`
	Since           *metav1.Time `json:"since,omitempty"`
	// Fallback is true when it goes without a replacement.
	Fallback bool `json:"forcefulFallback,omitempty"`
}

// Blocked is what stands in a rotation's way.
type Blocked struct {
	// Guard that says so, and Condition, what it says: "frozen", "not in_window". Empty where nothing could be decided.
	Guard     string       `json:"guard,omitempty"`
	Condition string       `json:"condition,omitempty"`
	Reason    string       `json:"reason"`
	Until     *metav1.Time `json:"until,omitempty"`
}

// Change is a moment at which a decision changes by itself, and the guard whose answer changes then.
type Change struct {
	At    *metav1.Time `json:"at"`
	Guard string       `json:"guard"`
}

// NextOfAge is the first claim that will come of age, and the opening of the window that it may be rotated in: no later
// than At where one is open then, nil where none is known.
type NextOfAge struct {
	NodeClaim string       `json:"nodeClaim"`
	At        *metav1.Time `json:"at"`
	Window    *metav1.Time `json:"window,omitempty"`
}

// Finding is one thing that is wrong with a policy, or with what it means for the pool.
type Finding struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// facts are what a snapshot says of its pool, whatever is decided.
func facts(s rotation.Snapshot) Pool {
	p := Pool{
		Name: s.Pool.Name, Governance: s.Governance.Reason, NodeClaims: len(s.Claims),
		Candidates: s.Selection.Candidates, Candidate: s.Selection.Candidate,
		Window: windowOf(s), Deadline: deadlineOf(s), Freeze: freezeOf(s), Rotation: rotationOf(s), NextOfAge: nextOfAge(s),
		now: s.Now, zone: zoneOf(s.Now, s.Governance.Windows),
	}
	if s.Governance.Policy != nil {
		p.Policy = s.Governance.Policy.Name
	}
	for _, f := range s.Feasibility.Findings {
		p.Findings = append(p.Findings, Finding{f.Code, string(f.Severity), f.Message})
	}
	for _, u := range rotation.Unreadables(s) {
		p.Unreadable = append(p.Unreadable, u.Message())
	}
	return p
}

func windowOf(s rotation.Snapshot) *Window {
	if s.Governance.Policy == nil {
		return nil
	}
	w := &Window{}
	if open, is := s.Governance.Windows.Current(s.Now); is {
		w.Open, w.Closes = true, stamp(open.End)
	}
	if next, is := s.Governance.Windows.Next(s.Now); is {
		w.Opens = stamp(next.Start)
	}
	return w
}

func deadlineOf(s rotation.Snapshot) *Deadline {
	claim, deadline, known := rotation.FirstToExpire(s.Claims)
	if !known {
		return nil
	}
	return &Deadline{claim, stamp(deadline)}
}

// nextOfAge finds the first claim that is not of age yet; nil where one may be rotated, or is.
func nextOfAge(s rotation.Snapshot) *NextOfAge {
	if s.Governance.Policy == nil || s.Anchor() != "" || s.Selection.Candidates > 0 {
		return nil
	}
	var first rotation.Prospect
	for _, claim := range s.Claims {
		p, _ := s.Prospect(claim.Name)
		if p.Standing == rotation.NotYetDue && (first.Claim == "" || p.Due.Before(first.Due)) {
			first = p
		}
	}
	if first.Claim == "" || first.Due.IsZero() {
		return nil
	}
	n := &NextOfAge{NodeClaim: first.Claim, At: stamp(first.Due)}
	if open, is := s.Governance.Windows.Current(first.Due); is {
		n.Window = stamp(open.Start)
		if n.Window == nil { // a window that never closes has no start
			n.Window = n.At
		}
	} else if next, is := s.Governance.Windows.Next(first.Due); is {
		n.Window = stamp(next.Start)
	}
	return n
}

func freezeOf(s rotation.Snapshot) *Freeze {
	held, until := s.Freeze()
	if !held {
		return nil
	}
	return &Freeze{stamp(until.At), s.FreezeReason()}
}

func rotationOf(s rotation.Snapshot) *Rotation {
	if s.Anchor() == "" {
		return nil
	}
	claim, _ := s.Subject()
	r := &Rotation{NodeClaim: s.Anchor(), Node: claim.NodeName, Fallback: s.Pool.Annotations[rotation.KeyRotationMode] == rotation.ModeForcefulFallback}
	since := claim.StartedAt()
	if !since.Readable {
		since = rotation.ParseStamp(s.Pool.Annotations, rotation.KeyDrainingAt)
	}
	if since.Readable {
		r.Since = stamp(since.At)
	}
	replacement, found := rotation.SurgeClaim(s)
	if !found {
		replacement = claim.Annotations[rotation.KeySurgeClaim]
	}
	if surge, exists := s.Claim(replacement); exists {
		r.Replacement, r.ReplacementNode = surge.Name, surge.NodeName
	}
	return r
}

// instant writes a moment in the zone of the pool's windows, with how far off it is.
func (p Pool) instant(t *metav1.Time) string {
	return fmt.Sprintf("%s, %s", at(t.In(p.zone)), in(p.now, t.Time))
}
