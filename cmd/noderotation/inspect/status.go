// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Status is every NodePool, or one, at one moment.
type Status struct {
	At *metav1.Time `json:"at"`
	// Table that decided.
	Table     string `json:"table"`
	NodePools []Pool `json:"nodePools"`
	// Denied are the rights that are missing; what depends on them is not known.
	Denied []string `json:"denied,omitempty"`

	single bool
}

// Status tells of every NodePool, or of the one named.
func (i *Inspector) Status(ctx context.Context, name string) (*Status, error) {
	l := i.look(name)
	status := &Status{At: stamp(i.Now), Table: i.Table, NodePools: []Pool{}, single: name != ""}
	var pools []karpenterv1.NodePool
	var err error
	if name == "" {
		pools, err = l.pools(ctx)
	} else {
		pools, err = i.named(ctx, name)
	}
	if err != nil {
		return nil, err
	}
	for n := range pools {
		pool, err := l.pool(ctx, &pools[n])
		if err != nil {
			return nil, err
		}
		status.NodePools = append(status.NodePools, pool)
	}
	status.Denied = l.denied()
	return status, nil
}

// named is the NodePool of this name. One that does not exist is told with names that are near.
func (i *Inspector) named(ctx context.Context, name string) ([]karpenterv1.NodePool, error) {
	pools := make([]karpenterv1.NodePool, 1)
	switch err := i.Server.Get(ctx, client.ObjectKey{Name: name}, &pools[0]); {
	case apierrors.IsNotFound(err):
		return nil, i.look("").unknown(ctx, name, kindPool)
	case err != nil:
		return nil, Explain("get", err)
	}
	return pools, nil
}

// pool tells of one pool, as far as the person's rights go.
func (l *look) pool(ctx context.Context, np *karpenterv1.NodePool) (Pool, error) {
	s, err := l.snapshot(ctx, np)
	if err != nil {
		return Pool{}, err
	}
	if !l.undecided() {
		p, _ := Decide(l.Machine, s)
		return p, nil
	}
	p := facts(s)
	p.Policy, p.Governance = "", "it cannot be told which policy governs: you may not read all that decides it"
	p.Findings, p.Candidate, p.Candidates = nil, "", 0
	return p, nil
}

// unknown stands where something cannot be told, none where there is nothing.
const (
	notKnown = "?"
	none     = "-"
)

// Text is a table of all pools, or a page on the one that was asked for.
func (s *Status) Text(wide bool) string {
	var b block
	switch {
	case s.single:
		s.NodePools[0].text(&b)
	case len(s.NodePools) == 0:
		b.WriteString("There is no NodePool.\n")
	default:
		b.WriteString(s.table(wide))
	}
	denied(&b, s.Denied)
	return b.String()
}

func (s *Status) table(wide bool) string {
	width := Width
	heads := []string{"NODEPOOL", "POLICY", "PHASE", "WINDOW", "CANDIDATES", "DEADLINE", "ROTATION", "BLOCKED BY"}
	if wide {
		width = 0
		heads = append(heads, "BECAUSE")
	}
	rows := [][]string{heads}
	for _, p := range s.NodePools {
		row := []string{p.Name, p.policyCell(), p.phaseCell(), p.windowCell(), p.candidatesCell(), p.deadlineCell(), p.rotationCell(), p.blockedCell()}
		if wide {
			row = append(row, p.because())
		}
		rows = append(rows, row)
	}
	return columns(width, rows...)
}

// denied ends a page with the rights that were missing.
func denied(b *block, rights []string) {
	if len(rights) == 0 {
		return
	}
	b.gap()
	b.line("Not read", "You may not "+strings.Join(rights, ", nor ")+". What depends on it is told as if there were nothing: ask for a role that allows it.")
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

func (p Pool) policyCell() string {
	if p.Policy == "" && p.Phase == "" && p.Blocked == nil {
		return notKnown
	}
	return or(p.Policy, none)
}

func (p Pool) windowCell() string {
	switch w := p.Window; {
	case w == nil:
		return none
	case w.Open && w.Closes == nil:
		return "always open"
	case w.Open:
		return "open, " + brief(w.Closes.Sub(p.now)) + " left"
	case w.Opens == nil:
		return "never opens"
	default:
		return "opens " + in(p.now, w.Opens.Time)
	}
}

func (p Pool) candidatesCell() string { return fmt.Sprintf("%d of %d", p.Candidates, p.NodeClaims) }

func (p Pool) deadlineCell() string {
	if p.Deadline == nil {
		return none
	}
	return in(p.now, p.Deadline.At.Time)
}

func (p Pool) rotationCell() string {
	r := p.Rotation
	if r == nil {
		return none
	}
	cell := r.NodeClaim
	switch {
	case r.Replacement != "":
		cell += " → " + r.Replacement
	case !r.Fallback:
		cell += " → …"
	}
	if r.Since != nil {
		cell += ", " + brief(p.now.Sub(r.Since.Time))
	}
	return cell
}

func (p Pool) blockedCell() string {
	switch {
	case p.Blocked == nil:
		return none
	case p.Blocked.Guard == "":
		return "see why"
	default:
		return p.Blocked.Condition
	}
}

// phaseCell marks a freeze, which holds the pool whatever else keeps it.
func (p Pool) phaseCell() string {
	cell := or(p.Phase, notKnown)
	if p.Freeze != nil {
		cell += ", FROZEN"
	}
	return cell
}

func (p Pool) because() string {
	if p.Blocked == nil {
		return ""
	}
	return local(p.Blocked.Reason, p.zone)
}

// text is a page on one pool.
func (p Pool) text(b *block) {
	b.line("NodePool", p.Name)
	b.line("Policy", sentence(p.Governance))
	b.line("Phase", or(p.Phase, "it cannot be told"))
	p.windowText(b)
	if p.Freeze != nil {
		p.freezeText(b)
	}
	next := ""
	if p.Candidate != "" {
		next = "; NodeClaim " + p.Candidate + " is the next"
	}
	b.line("Candidates", fmt.Sprintf("%d of %d NodeClaims may be rotated now%s", p.Candidates, p.NodeClaims, next))
	if p.Deadline != nil {
		b.line("Deadline", fmt.Sprintf("Karpenter first expires NodeClaim %s, %s", p.Deadline.NodeClaim, p.instant(p.Deadline.At)))
	}
	if p.Rotation != nil {
		p.rotationText(b)
	}
	p.nowText(b)
	for _, f := range p.Findings {
		b.line("Finding", fmt.Sprintf("%s %s: %s", f.Severity, f.Code, f.Message))
	}
	for _, u := range p.Unreadable {
		b.line("Unreadable", u)
	}
}

// nowText says what fires, what keeps the rotation, and when that changes by itself.
func (p Pool) nowText(b *block) {
	if p.Row != "" {
		b.line("Fires", "row "+p.Row)
	}
	switch {
	case p.Blocked == nil:
	case p.Blocked.Guard == "":
		b.line("Blocked", sentence(local(p.Blocked.Reason, p.zone)))
	case p.Blocked.Reason == p.Governance:
		b.line("Blocked by", p.Blocked.Condition)
	default:
		b.line("Blocked by", p.Blocked.Condition+": "+sentence(local(p.Blocked.Reason, p.zone)))
	}
	switch {
	case p.NextChange != nil:
		b.line("Next change", fmt.Sprintf("by itself %s, by %s", p.instant(p.NextChange.At), p.NextChange.Guard))
	case p.Phase != "" || p.Blocked != nil:
		b.line("Next change", "none by itself: something in the cluster must change")
	}
	if p.NextOfAge != nil {
		b.line("Next of age", p.NextOfAge.words(p))
	}
}

// words say when the claim comes of age, and what window there is for it.
func (n *NextOfAge) words(p Pool) string {
	said := "NodeClaim " + n.NodeClaim + ", " + p.instant(n.At)
	switch {
	case n.Window == nil:
		return said + "; no window is known after it"
	case !n.Window.After(n.At.Time):
		return said + ", in an open window"
	default:
		return said + "; the window after it opens " + p.instant(n.Window)
	}
}

func (p Pool) windowText(b *block) {
	switch w := p.Window; {
	case w == nil:
	case w.Open && w.Closes == nil:
		b.line("Window", "open, and never closes")
	case w.Open:
		b.line("Window", "open until "+p.instant(w.Closes))
	case w.Opens == nil:
		b.line("Window", "closed; none opens in the coming 400 days")
	default:
		b.line("Window", "closed; opens "+p.instant(w.Opens))
	}
}

func (p Pool) freezeText(b *block) {
	until := "until it is corrected or removed: its value cannot be read"
	if p.Freeze.Until != nil {
		until = "until " + p.instant(p.Freeze.Until)
	}
	b.line("Frozen", until)
	if p.Freeze.Reason != "" {
		b.line("", "Reason: "+p.Freeze.Reason)
	}
}

func (p Pool) rotationText(b *block) {
	r := p.Rotation
	old := "NodeClaim " + r.NodeClaim + onNode(r.Node)
	switch {
	case r.Fallback:
		b.line("Rotation", old+", drained without a replacement")
	case r.Replacement == "":
		b.line("Rotation", old+" → no replacement yet")
	default:
		b.line("Rotation", old+" → NodeClaim "+r.Replacement+onNode(r.ReplacementNode))
	}
	if r.Since != nil {
		b.line("", "For "+brief(p.now.Sub(r.Since.Time))+", since "+at(r.Since.In(p.zone)))
	}
}

func onNode(name string) string {
	if name == "" {
		return ""
	}
	return " (Node " + name + ")"
}
