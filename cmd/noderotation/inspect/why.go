// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// Why is the decision of one moment, with all that it rests on.
type Why struct {
	At    *metav1.Time `json:"at"`
	Table string       `json:"table"`
	Pool  Pool         `json:"pool"`
	// Claim that was asked for, else the one that the decision is about; nil when there is none.
	Claim *Claim `json:"claim,omitempty"`
	// Decision is nil where the table has no say.
	Decision *Decision `json:"decision,omitempty"`
	// Reported is what the controller last said of the pool in its policy's status, where that is not what the decision
	// comes to: a write that is refused, which no look at the cluster shows, or a pass that is yet to be made.
	Reported string   `json:"reported,omitempty"`
	Denied   []string `json:"denied,omitempty"`

	// asked is true when the claim was asked for, and not its pool.
	asked bool
}

// Why tells what is decided about a NodePool, or about the pool of a NodeClaim or Node, and why. The name may be written
// as KIND/NAME where several kinds have it.
func (i *Inspector) Why(ctx context.Context, name string) (*Why, error) {
	found, err := i.find(ctx, name)
	if err != nil {
		return nil, err
	}
	l := i.look(found.pool.Name)
	s, err := l.snapshot(ctx, &found.pool)
	if err != nil {
		return nil, err
	}
	if l.undecided() {
		return nil, &DeniedError{Denials: l.live.Denied()}
	}
	if found.node != "" {
		claim, known := s.ClaimOfNode(found.node)
		if !known {
			return nil, fmt.Errorf("Node %s is labelled as one of NodePool %s, but no NodeClaim of the pool names it as its own: it is not rotated", found.node, found.pool.Name)
		}
		found.claim = claim.Name
	}
	why := Explained(i.Machine, s, found.claim)
	why.Table = i.Table
	if why.Reported, err = l.reported(ctx, why.Pool); err != nil {
		return nil, err
	}
	if why.Claim != nil && why.Claim.Node != "" {
		claim, _ := s.Claim(why.Claim.Name)
		meets, err := l.drain(ctx, s, claim)
		if err != nil {
			return nil, err
		}
		why.Claim.Drain = drainOf(meets, claim)
	}
	why.Denied = l.denied()
	return why, nil
}

// Explained tells what the table makes of a snapshot, and where the claim stands that was asked for; without one, the
// claim that the decision is about. What a drain meets is not told.
func Explained(m *controller.Machine, s rotation.Snapshot, claim string) *Why {
	why := &Why{At: stamp(s.Now), asked: claim != ""}
	if claim == "" {
		claim = s.SubjectName()
	}
	why.Pool, why.Decision = Decide(m, s)
	why.Claim = claimOf(s, claim)
	return why
}

// Text is a page on the decision. The rows of the table are left out where a claim was asked for that the decision is not
// about: they say nothing of it.
func (w *Why) Text(bool) string {
	var b block
	if w.asked && w.Claim != nil {
		w.Claim.text(&b, w.Pool)
		b.gap()
	}
	w.Pool.text(&b)
	if w.Reported != "" {
		b.line("Controller", "last told: "+sentence(local(w.Reported, w.Pool.zone)))
	}
	if !w.asked && w.Claim != nil {
		b.gap()
		w.Claim.text(&b, w.Pool)
	}
	switch {
	case w.Decision == nil:
		b.gap()
		paragraph(&b.Builder, "", "Nothing is done for the pool, whatever the table says.")
	case w.isSubject():
		b.gap()
		w.Decision.text(&b, w.Table, w.Pool.zone)
	default:
		b.gap()
		paragraph(&b.Builder, "", "The pool's decision is not about this claim; for its rows ask why nodepool/"+w.Pool.Name+".")
	}
	denied(&b, w.Denied)
	return b.String()
}

// isSubject tells whether the decision is about what was asked for.
func (w *Why) isSubject() bool {
	if !w.asked {
		return true
	}
	r := w.Pool.Rotation
	return w.Claim != nil && (r != nil && r.NodeClaim == w.Claim.Name || r == nil && w.Claim.Name == w.Pool.Candidate)
}

// text writes the rows, what their guards said, and what the row that fires does.
func (d *Decision) text(b *block, table string, zone *time.Location) {
	paragraph(&b.Builder, "", fmt.Sprintf("State %s: %s", d.State, d.About))
	paragraph(&b.Builder, "", fmt.Sprintf("Its rows, by the %s. The first whose conditions all hold fires.", table))
	said := map[string]bool{}
	for _, row := range d.Rows {
		b.gap()
		row.text(b, said, zone)
	}
	b.gap()
	switch {
	case d.Refusal != "":
		paragraph(&b.Builder, "", "Nothing of it is done: "+sentence(local(d.Refusal, zone)))
	case len(d.Actions) == 0:
		paragraph(&b.Builder, "", "Row "+d.Fires+" has nothing to write now.")
	default:
		paragraph(&b.Builder, "", "What row "+d.Fires+" would do now, in this order:")
		for _, action := range d.Actions {
			paragraph(&b.Builder, "  - ", action)
		}
	}
}

// text writes one row, by the clock of the zone. What a row before it has said already is only named.
func (r Row) text(b *block, said map[string]bool, zone *time.Location) {
	const answer = 10 // below the outcome
	paragraph(&b.Builder, padded(r.Outcome, answer), r.ID+" → "+r.To+": "+r.About)
	var open, shut []string
	var anew []Condition
	width := 0
	for _, c := range r.Conditions {
		switch {
		case !said[c.Condition]:
			anew = append(anew, c)
			width = max(width, utf8.RuneCountInString(c.Condition))
		case c.Holds:
			open = append(open, c.Condition)
		default:
			shut = append(shut, c.Condition)
		}
		said[c.Condition] = true
	}
	if len(shut) > 0 {
		paragraph(&b.Builder, strings.Repeat(" ", answer)+"no   ", "as above: "+strings.Join(shut, ", "))
	}
	if len(open) > 0 {
		paragraph(&b.Builder, strings.Repeat(" ", answer)+"yes  ", "as above: "+strings.Join(open, ", "))
	}
	for _, c := range anew {
		holds := "no   "
		if c.Holds {
			holds = "yes  "
		}
		paragraph(&b.Builder, strings.Repeat(" ", answer)+holds+padded(c.Condition, width)+"  ", local(c.Reason, zone))
	}
}
