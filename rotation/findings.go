// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/window"
)

// Codes of the findings (§3.2). They are a public contract: they name Events and stand in conditions.
const (
	// InvalidSpec is a field that cannot be read or lies outside its range; admission ordinarily rejects it.
	InvalidSpec = "InvalidSpec"

	NoWindows                             = "NoWindows"
	KBelowOne                             = "KBelowOne"
	ANonPositive                          = "ANonPositive"
	OverrideNonPositive                   = "OverrideNonPositive"
	OverrideGBelowOne                     = "OverrideGBelowOne"
	KBelowTwo                             = "KBelowTwo"
	AVeryAggressive                       = "AVeryAggressive"
	OverrideGBelowK                       = "OverrideGBelowK"
	HardCapExceeded                       = "HardCapExceeded"
	TGPUnset                              = "TGPUnset"
	RetryBackoffShort                     = "RetryBackoffShort"
	DrainEstimateAboveTGP                 = "DrainEstimateAboveTGP"
	ProvisioningEstimateAboveReadyTimeout = "ProvisioningEstimateAboveReadyTimeout"
	ThroughputBelowArrival                = "ThroughputBelowArrival"
	ThroughputBurstShortfall              = "ThroughputBurstShortfall"
	RotationSpansNextWindow               = "RotationSpansNextWindow"
	ZoneNotReplicated                     = "ZoneNotReplicated"
)

// Severity says what a finding does.
type Severity string

const (
	// Fatal stops new rotations, never one in flight.
	Fatal Severity = "fatal"
	// Warn stops nothing.
	Warn Severity = "warn"
)

// Level says what a finding is about, and so whom a fatal one stops.
type Level string

const (
	// PolicyLevel is about the policy alone; a fatal one makes it Invalid, and stops every pool it wins.
	PolicyLevel Level = "policy"
	// PoolLevel is about the policy and one pool; a fatal one stops that pool.
	PoolLevel Level = "pool"
)

// Finding is one thing that is wrong with a policy, or with what it means for a pool (§3.2).
type Finding struct {
	Code     string
	Severity Severity
	Level    Level
	// Message is a sentence with the facts and what to change.
	Message string
}

func (f Finding) fatal() bool { return f.Severity == Fatal }

// HardCap is how long EKS Auto Mode lets a node live, its drain included (§1.1).
const HardCap = 21 * 24 * time.Hour

// Rule describes a finding for the people who read it (§3.2).
type Rule struct {
	Code     string
	Severity Severity
	Level    Level
	// When is a sentence: what is the case.
	When string
}

// Rules lists every finding that there is: what cannot be read first, then in the order of §3.2.
func Rules() []Rule {
	all := []Rule{{InvalidSpec, Fatal, PolicyLevel, "A field cannot be read or lies outside its range. Admission ordinarily rejects it."}}
	for _, r := range rules {
		all = append(all, r.Rule)
	}
	return all
}

// rules is the table of §3.2, in its order. A rule's message is empty where it finds nothing.
var rules = []struct {
	Rule
	message func(*grounds) string
}{
	{Rule{NoWindows, Fatal, PolicyLevel, "No window opens in the coming 400 days."}, (*grounds).noWindows},
	{Rule{KBelowOne, Fatal, PolicyLevel, "minRotationChances is below 1."}, (*grounds).kBelowOne},
	{Rule{ANonPositive, Fatal, PoolLevel, "expireAfter is too short for the chances asked for: it leaves no age at which a node is due."}, (*grounds).aNonPositive},
	{Rule{OverrideNonPositive, Fatal, PolicyLevel, "ageThreshold is a duration of zero or less."}, (*grounds).overrideNonPositive},
	{Rule{OverrideGBelowOne, Fatal, PoolLevel, "ageThreshold is so late that a node lives to see no window."}, (*grounds).overrideGBelowOne},
	{Rule{KBelowTwo, Warn, PolicyLevel, "minRotationChances is 1: a single missed window ends in forceful expiration."}, (*grounds).kBelowTwo},
	{Rule{AVeryAggressive, Warn, PoolLevel, "Nodes are due at an age below the window period: each is replaced at about every window."}, (*grounds).aVeryAggressive},
	{Rule{OverrideGBelowK, Warn, PoolLevel, "ageThreshold leaves a node fewer windows than minRotationChances asks for."}, (*grounds).overrideGBelowK},
	{Rule{HardCapExceeded, Warn, PoolLevel, "expireAfter and terminationGracePeriod together exceed the 21 days of EKS Auto Mode."}, (*grounds).hardCapExceeded},
	{Rule{TGPUnset, Warn, PoolLevel, "terminationGracePeriod is unset: nothing bounds a drain, and 1h is reckoned with."}, (*grounds).tgpUnset},
	{Rule{RetryBackoffShort, Warn, PolicyLevel, "retryBackoff is shorter than readyTimeout."}, (*grounds).retryBackoffShort},
	{Rule{DrainEstimateAboveTGP, Warn, PoolLevel, "drainEstimate exceeds terminationGracePeriod, which is reckoned with instead."}, (*grounds).drainEstimateAboveTGP},
	{Rule{ProvisioningEstimateAboveReadyTimeout, Warn, PolicyLevel, "provisioningEstimate exceeds readyTimeout, which is reckoned with instead."}, (*grounds).provisioningEstimateAboveReadyTimeout},
	{Rule{ThroughputBelowArrival, Warn, PoolLevel, "Nodes come of age faster than the windows have room for."}, (*grounds).throughputBelowArrival},
	{Rule{ThroughputBurstShortfall, Warn, PoolLevel, "If all nodes came of age together, their chances would not have room for all."}, (*grounds).throughputBurstShortfall},
	{Rule{RotationSpansNextWindow, Warn, PoolLevel, "A rotation and its cooldown are expected to last longer than the windows stay closed."}, (*grounds).rotationSpansNextWindow},
	{Rule{ZoneNotReplicated, Warn, PolicyLevel, "The zone is not among matchNodeRequirements.required: a replacement may stand in another one."}, (*grounds).zoneNotReplicated},
}

// findings applies the rules of the given levels.
func (g *grounds) findings(levels ...Level) []Finding {
	var found []Finding
	for _, r := range rules {
		if !slices.Contains(levels, r.Level) {
			continue
		}
		if message := r.message(g); message != "" {
			found = append(found, Finding{r.Code, r.Severity, r.Level, message})
		}
	}
	return found
}

func (g *grounds) noWindows() string {
	if g.unreadableWindows || g.survey.Occurrences > 0 {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: none of its maintenanceWindows opens in the coming %s, so that no rotation could ever start; "+
		"add a window that does.", g.policy.Name, Spell(window.Horizon))
}

func (g *grounds) kBelowOne() string {
	if g.terms.K >= 1 {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: minRotationChances is %d, which guarantees no node a rotation; set it to 1 or more.",
		g.policy.Name, g.terms.K)
}

func (g *grounds) aNonPositive() string {
	if !g.derived() || g.f.AgeThreshold > 0 {
		return ""
	}
	least := g.f.LeadTime.Truncate(time.Second) + time.Second
	return fmt.Sprintf("NodePool %s: its nodes expire after %s, which leaves no age at which to rotate them: %s = %s is wanted before that. "+
		"The smallest expireAfter that would do is %s; or open windows closer together, or lower minRotationChances or "+
		"terminationGracePeriod.%s",
		g.pool.Name, Spell(*g.pool.ExpireAfter), g.leadTime(), Spell(g.f.LeadTime), copyable(least), g.largestGap())
}

func (g *grounds) overrideNonPositive() string {
	if g.terms.AgeThreshold == nil || *g.terms.AgeThreshold > 0 {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: ageThreshold is %s, at which every node would be due from its birth; "+
		"set it to \"auto\" or to a duration greater than zero.", g.policy.Name, *g.terms.AgeThreshold)
}

func (g *grounds) overrideGBelowOne() string {
	if !g.overridden() || g.f.Chances >= 1 {
		return ""
	}
	return g.lateOverride("no window in which to be rotated", 1)
}

func (g *grounds) kBelowTwo() string {
	if g.terms.K != 1 {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: minRotationChances is 1, so that a single missed window ends in Karpenter's forceful expiration; "+
		"set it to 2 or more.", g.policy.Name)
}

func (g *grounds) aVeryAggressive() string {
	if !g.derived() || g.f.AgeThreshold <= 0 || g.f.AgeThreshold >= g.f.P {
		return ""
	}
	return fmt.Sprintf("NodePool %s: its nodes are due at the age of %s, which is less than the %s from one window to the next, "+
		"so that each is replaced at about every window; lengthen expireAfter (%s), open windows closer together, or lower "+
		"minRotationChances (%d).",
		g.pool.Name, Spell(g.f.AgeThreshold), Spell(g.f.P), Spell(*g.pool.ExpireAfter), g.f.K)
}

func (g *grounds) overrideGBelowK() string {
	if !g.overridden() || g.f.Chances < 1 || g.f.Chances >= g.f.K {
		return ""
	}
	return g.lateOverride(fmt.Sprintf("%s instead of the %d that minRotationChances asks for", plural(g.f.Chances, "window"), g.f.K), g.f.K)
}

func (g *grounds) hardCapExceeded() string {
	if !g.f.HasDeadline || plus(*g.pool.ExpireAfter, g.grace) <= HardCap {
		return ""
	}
	return fmt.Sprintf("NodePool %s: expireAfter %s and terminationGracePeriod %s together exceed the %s for which EKS Auto Mode "+
		"lets a node live; where that holds, shorten one of them.",
		g.pool.Name, Spell(*g.pool.ExpireAfter), Spell(g.grace), Spell(HardCap))
}

func (g *grounds) tgpUnset() string {
	if g.pool.TerminationGracePeriod != nil {
		return ""
	}
	return fmt.Sprintf("NodePool %s: its template sets no terminationGracePeriod, so that nothing bounds a drain; %s is reckoned with. "+
		"Set terminationGracePeriod.", g.pool.Name, Spell(DefaultTerminationGracePeriod))
}

func (g *grounds) retryBackoffShort() string {
	if g.terms.RetryBackoff >= g.terms.ReadyTimeout {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: retryBackoff %s is shorter than readyTimeout %s, so that a failed node is tried again sooner "+
		"than an attempt may take; set it to %s or more.",
		g.policy.Name, Spell(g.terms.RetryBackoff), Spell(g.terms.ReadyTimeout), copyable(g.terms.ReadyTimeout))
}

func (g *grounds) drainEstimateAboveTGP() string {
	if !g.drainClamped {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: drainEstimate %s is longer than a drain in NodePool %s may take by its terminationGracePeriod; "+
		"%s is reckoned with. Lower drainEstimate.",
		g.policy.Name, Spell(g.policy.Spec.Surge.DrainEstimate.Duration), g.pool.Name, Spell(g.grace))
}

func (g *grounds) provisioningEstimateAboveReadyTimeout() string {
	estimate, clamped := g.policy.ProvisioningEstimate()
	if !clamped {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: provisioningEstimate %s is longer than readyTimeout, after which a rotation is rolled back; "+
		"%s is reckoned with. Lower provisioningEstimate, or raise readyTimeout.",
		g.policy.Name, Spell(g.policy.Spec.Surge.ProvisioningEstimate.Duration), Spell(estimate))
}

func (g *grounds) throughputBelowArrival() string {
	if g.f.AgeThreshold <= 0 || !lessThan(g.f.Capacity, g.f.AgeThreshold, g.f.Nodes, g.cadence()) {
		return ""
	}
	return fmt.Sprintf("NodePool %s: the windows have room for %s every %s, too few for a fleet of %s, each due again after %s; %s.",
		g.pool.Name, plural(g.f.Capacity, "rotation"), Spell(g.cadence()), plural(g.f.Nodes, "node"), Spell(g.f.AgeThreshold), moreRoom)
}

func (g *grounds) throughputBurstShortfall() string {
	if !g.f.HasDeadline || g.f.Nodes <= g.burst() {
		return ""
	}
	return fmt.Sprintf("NodePool %s: if its %s came of age together, their chances would have room for %s and %d would be left over "+
		"for Karpenter's forceful expiration; %s, or raise minRotationChances (%d).",
		g.pool.Name, plural(g.f.Nodes, "node"), plural(g.burst(), "rotation"), g.f.Nodes-g.burst(), moreRoom, g.f.K)
}

const moreRoom = "lengthen the windows or open more of them, lower cooldownAfter, or spread the nodes over several NodePools"

func (g *grounds) rotationSpansNextWindow() string {
	if g.survey.AlwaysOpen || g.service() <= g.f.Gap {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: a rotation in NodePool %s is expected to take %s and is followed by cooldownAfter %s, longer than "+
		"the %s for which the windows stay closed, so that one begun late in a window takes room from the next; "+
		"%s for each window is then too high a figure; lower cooldownAfter, or keep the windows closed for longer.",
		g.policy.Name, g.pool.Name, Spell(g.f.RotationEstimate), Spell(g.terms.CooldownAfter), Spell(g.f.Gap), plural(g.f.Capacity, "rotation"))
}

func (g *grounds) zoneNotReplicated() string {
	if slices.Contains(g.terms.Required, corev1.LabelTopologyZone) {
		return ""
	}
	return fmt.Sprintf("RotationPolicy %s: %s is not among matchNodeRequirements.required, so that a replacement may stand in another zone, "+
		"where Pods bound to a volume cannot follow; add it.", g.policy.Name, corev1.LabelTopologyZone)
}

// derived tells whether A follows from the template's expireAfter, overridden whether an override is measured by it.
func (g *grounds) derived() bool    { return g.f.HasDeadline && g.terms.AgeThreshold == nil }
func (g *grounds) overridden() bool { return g.f.HasDeadline && g.terms.AgeThreshold != nil }

// lateOverride says what an override leaves a node, and the latest one that would give it the chances wanted.
func (g *grounds) lateOverride(left string, wanted int) string {
	expireAfter := *g.pool.ExpireAfter
	remedy := "no ageThreshold would do; lengthen expireAfter, or open windows closer together"
	if latest := plus(plus(expireAfter, -g.f.RotationBound), -times(g.f.P, wanted)).Truncate(time.Second); latest > 0 {
		remedy = fmt.Sprintf("set ageThreshold to %s or less, or to \"auto\"", copyable(latest))
	}
	return fmt.Sprintf("RotationPolicy %s: an ageThreshold of %s leaves the nodes of NodePool %s, which expire after %s, %s: "+
		"a rotation can take %s and windows lie up to %s apart; %s.",
		g.policy.Name, Spell(g.f.AgeThreshold), g.pool.Name, Spell(expireAfter), left, Spell(g.f.RotationBound), Spell(g.f.P), remedy)
}

// leadTime writes the sum that makes up LeadTime.
func (g *grounds) leadTime() string {
	return fmt.Sprintf("%d (minRotationChances) × %s (window period) + %s (longest rotation)",
		g.f.K, Spell(g.f.P), Spell(g.f.RotationBound))
}

// largestGap says where P comes from: the two occurrences, in the window's own zone, and a clock change between them.
func (g *grounds) largestGap() string {
	before, after := g.survey.LargestGap[0], g.survey.LargestGap[1]
	if after.Start.IsZero() {
		return ""
	}
	change := ""
	if !g.survey.ClockChange.IsZero() {
		change = "; in between, " + g.survey.ClockChange.String()
	}
	return fmt.Sprintf(" The windows lie furthest apart between %s and %s%s.", before, after, change)
}

// Spell writes a duration for a person: days, hours, minutes and seconds, such as "5d 22h 43m".
func Spell(d time.Duration) string {
	const day = 24 * time.Hour
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
	}
	rest, separator := d.Abs(), ""
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if n := rest / unit.length; n > 0 {
			b.WriteString(separator + strconv.FormatInt(int64(n), 10) + unit.name)
			separator = " "
		}
		rest %= unit.length
	}
	if rest > 0 || separator == "" {
		b.WriteString(separator + rest.String())
	}
	return b.String()
}

// copyable writes a duration as a field of a policy or NodePool takes it, which knows no days: "142h43m".
func copyable(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
