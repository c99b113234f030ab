// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"math"
	"math/bits"
	"time"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/window"
)

// Feasibility is what the governing policy means for one pool: the symbols of §3.2, from the representative values of
// the pool's template, and everything that is wrong with them.
type Feasibility struct {
	// Known is false when the pool is not governed; nothing else is then set.
	Known bool

	// K is the number of chances asked for, minRotationChances.
	K int
	// P is the worst-case window period, D the shortest occurrence, Gap the shortest closed time between two.
	P, D, Gap time.Duration
	// AlwaysOpen says that the windows never close: P is then one reconcile tick, and there is no Gap.
	AlwaysOpen bool

	// RotationBound is t_rot, the longest a rotation can take.
	RotationBound time.Duration
	// RotationEstimate is t_rot_est, what a rotation is expected to take. It feeds the throughput findings only.
	RotationEstimate time.Duration
	// LeadTime is K·P + t_rot, how long before its deadline a node is selected.
	LeadTime time.Duration

	// HasAgeThreshold is false when the template never expires and no override says when its nodes are of age.
	HasAgeThreshold bool
	// AgeThreshold is A, the age at which a node is due: the override, else E − LeadTime. Not positive when that fails.
	AgeThreshold time.Duration

	// HasDeadline is false when the template never expires: Chances is then without meaning and 0.
	HasDeadline bool
	// Chances is G, how many windows a due node lives to see.
	Chances int

	// Capacity is C, how many rotations one occurrence has room for. Windows that never close are counted in periods
	// of one tick.
	Capacity int
	// Nodes is N, the size of the pool's fleet.
	Nodes int

	// Findings in the order of §3.2, those of the policy included.
	Findings []Finding

	readyTimeout time.Duration
}

// Judge works out what the policy means for the pool of a snapshot (§3.2). A pool that is not governed has no
// symbols, and one whose template never expires, without an override, has no A and no findings.
func Judge(s Snapshot) Feasibility {
	if s.Governance.Policy == nil {
		return Feasibility{}
	}
	g := groundsOf(s)
	if g.f.HasAgeThreshold {
		g.f.Findings = g.findings(PolicyLevel, PoolLevel)
	}
	return g.f
}

// Judged remembers a judgement and what it rests on: most passes over a pool judge what the last one did, and the
// sentences of findings are long. The zero value remembers nothing.
type Judged struct {
	basis       basis
	feasibility Feasibility
}

// basis is all of a snapshot that Judge looks at. A policy is never changed in place, and its terms go with it.
type basis struct {
	policy             *v1alpha1.RotationPolicy
	survey             window.Survey
	pool               string
	expires, graced    bool
	expireAfter, grace time.Duration
	nodes              int
}

// Judge is the package's Judge, which it leaves out when nothing that it looks at has changed. The findings are shared:
// nobody may change them.
func (j *Judged) Judge(s *Snapshot) Feasibility {
	now := basisOf(s)
	if now.policy == nil || now != j.basis {
		j.basis, j.feasibility = now, Judge(*s)
	}
	return j.feasibility
}

func basisOf(s *Snapshot) basis {
	b := basis{policy: s.Governance.Policy, survey: s.Governance.Survey, pool: s.Pool.Name, nodes: fleet(s)}
	if s.Pool.ExpireAfter != nil {
		b.expires, b.expireAfter = true, *s.Pool.ExpireAfter
	}
	if s.Pool.TerminationGracePeriod != nil {
		b.graced, b.grace = true, *s.Pool.TerminationGracePeriod
	}
	return b
}

// Fatal returns the first finding that stops new rotations; the second result is false when there is none.
func (f *Feasibility) Fatal() (Finding, bool) {
	for _, finding := range f.Findings {
		if finding.fatal() {
			return finding, true
		}
	}
	return Finding{}, false
}

// ShortLead tells whether the claim's own life is too short for the chances it should get: E ≤ K·P + t_rot, from the
// claim's own values (§3.2). Such a claim is rotated at the earliest chance.
func (f *Feasibility) ShortLead(c *Claim) bool {
	return f.Known && c.ExpireAfter != nil &&
		*c.ExpireAfter <= plus(times(f.P, f.K), c.RotationBound(f.readyTimeout))
}

// grounds are the facts on which findings rest. At policy level only the policy, its terms and its survey are set.
type grounds struct {
	policy            *v1alpha1.RotationPolicy
	terms             Terms
	survey            window.Survey
	unreadableWindows bool

	pool         Pool
	grace        time.Duration
	drainClamped bool
	f            Feasibility
}

func groundsOf(s Snapshot) grounds {
	terms, survey := s.Governance.Terms, s.Governance.Survey
	g := grounds{policy: s.Governance.Policy, terms: terms, survey: survey, pool: s.Pool, grace: DefaultTerminationGracePeriod}
	if s.Pool.TerminationGracePeriod != nil {
		g.grace = *s.Pool.TerminationGracePeriod
	}
	drain, drainClamped := g.policy.DrainEstimate(g.grace)
	provisioning, _ := g.policy.ProvisioningEstimate()
	g.drainClamped = drainClamped

	f := Feasibility{
		Known: true, K: terms.K, P: survey.P, D: survey.D, Gap: survey.Gap, AlwaysOpen: survey.AlwaysOpen,
		RotationBound:    plus(terms.ReadyTimeout, plus(g.grace, Buffer)),
		RotationEstimate: plus(provisioning, drain),
		Nodes:            fleet(&s),
		readyTimeout:     terms.ReadyTimeout,
	}
	f.LeadTime = plus(times(f.P, f.K), f.RotationBound)
	f.threshold(s.Pool.ExpireAfter, terms.AgeThreshold)
	g.f = f
	g.f.Capacity = g.capacity()
	return g
}

// threshold sets A and G from the template's expireAfter and the policy's override, either of which may be missing.
func (f *Feasibility) threshold(expireAfter, override *time.Duration) {
	f.HasDeadline = expireAfter != nil
	f.HasAgeThreshold = f.HasDeadline || override != nil
	switch {
	case override == nil && f.HasDeadline:
		f.AgeThreshold, f.Chances = plus(*expireAfter, -f.LeadTime), f.K
	case override != nil:
		f.AgeThreshold = *override
		if f.HasDeadline && f.P > 0 {
			f.Chances = floorDiv(plus(plus(*expireAfter, -f.RotationBound), -f.AgeThreshold), f.P)
		}
	}
}

// service is how much of a window one rotation takes up: t_rot_est + cooldownAfter.
func (g *grounds) service() time.Duration {
	return max(plus(g.f.RotationEstimate, g.terms.CooldownAfter), 1)
}

// capacity is C = m · ceil(D / (t_rot_est + cooldownAfter)). Windows that never close have no occurrence to count by:
// one period, the tick, takes its place.
func (g *grounds) capacity() int {
	length := g.survey.D
	if g.survey.AlwaysOpen {
		length = g.survey.P
	}
	return g.terms.MaxUnavailable * ceilDiv(length, g.service())
}

// cadence is the time in which Capacity rotations can be had again and again: P, but for windows that never close no
// less than what one rotation takes.
func (g *grounds) cadence() time.Duration {
	if g.survey.AlwaysOpen {
		return max(g.f.P, g.service())
	}
	return g.f.P
}

// burst is how many of the nodes that come of age at one moment find room within their chances: K·C. Windows that never
// close give K ticks instead, and as many rotations as can begin in them.
func (g *grounds) burst() int {
	if g.survey.AlwaysOpen {
		return g.terms.MaxUnavailable * ceilDiv(times(g.f.P, g.f.K), g.service())
	}
	return int(times(time.Duration(g.f.Capacity), g.f.K))
}

// fleet is N: the claims of the pool that are not being deleted. While a surge is under way those born since its start
// are left out, since one of them stands for a node that is counted already: N, and the findings on it, then do not
// flicker with every rotation.
func fleet(s *Snapshot) int {
	var surge Stamp
	if anchored, ok := s.Claim(s.Anchor()); ok && !anchored.Deleting() {
		surge = anchored.StartedAt()
	}
	n := 0
	for _, c := range s.Claims {
		if !c.Deleting() && (!surge.Readable || c.Created.Before(surge.At)) {
			n++
		}
	}
	return n
}

// plus adds durations, and stops at the longest there is instead of wrapping round.
func plus(a, b time.Duration) time.Duration {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	default:
		return a + b
	}
}

// times multiplies what is not negative, and stops at the longest there is.
func times(d time.Duration, n int) time.Duration {
	if high, low := bits.Mul64(uint64(max(d, 0)), uint64(max(n, 0))); high == 0 && low <= math.MaxInt64 {
		return time.Duration(low)
	}
	return math.MaxInt64
}

// lessThan compares two products of counts and durations exactly, whatever their size: a·b < c·d.
func lessThan(a int, b time.Duration, c int, d time.Duration) bool {
	leftHigh, leftLow := bits.Mul64(uint64(max(a, 0)), uint64(max(b, 0)))
	rightHigh, rightLow := bits.Mul64(uint64(max(c, 0)), uint64(max(d, 0)))
	return leftHigh < rightHigh || (leftHigh == rightHigh && leftLow < rightLow)
}

// floorDiv divides by a positive duration, and rounds down, below zero too.
func floorDiv(a, b time.Duration) int {
	quotient := a / b
	if a%b < 0 {
		quotient--
	}
	return int(quotient)
}

// ceilDiv divides a duration that is not negative by a positive one, and rounds up.
func ceilDiv(a, b time.Duration) int {
	quotient := a / b
	if a%b > 0 {
		quotient++
	}
	return int(quotient)
}
