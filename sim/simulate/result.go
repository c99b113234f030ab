// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"noderotation.io/noderotation/machine/graph"
)

// Result is what became of a fleet. It is made of plain values, and its JSON is for programs to read; durations are in
// seconds.
type Result struct {
	Title  string    `json:"title,omitempty"`
	Lesson string    `json:"lesson,omitempty"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Seed   uint64    `json:"seed"`

	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`
	// Troubles of the input, and what each met.
	Troubles []Mishap `json:"troubles"`
	Pools    []Pool   `json:"pools"`
	// Lives of every NodeClaim there was, by pool and birth.
	Lives []*Life `json:"nodes"`
	// Rotations by start.
	Rotations []*Rotation `json:"rotations"`
	States    []State     `json:"states"`
	// Edges are the table's rows, with how often each fired and did something.
	Edges []Edge `json:"transitions"`
	// Diagram is the table with the same counts, ready to be drawn.
	Diagram graph.Graph `json:"-"`
}

// Pool is one NodePool: who governs it, and its windows.
type Pool struct {
	Name string `json:"name"`
	// Policy that governs it; empty without one, and Reason says why.
	Policy string `json:"policy,omitempty"`
	Reason string `json:"reason,omitempty"`
	// AgeThreshold at which a node is due, and Capacity, the rotations that one window has room for (§3.2).
	AgeThreshold Seconds  `json:"ageThresholdSeconds,omitempty"`
	Capacity     int      `json:"capacity,omitempty"`
	Windows      []Window `json:"windows"`
}

// Window is one occurrence of a pool's windows.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// Label is the occurrence for a person, in its own zone.
	Label string `json:"label"`
	// Waiting nodes were due when it opened, or came to be while it was open.
	Waiting int `json:"waiting"`
	// Rotated and Failed count the rotations that began in it, by how they ended.
	Rotated int `json:"rotated"`
	Failed  int `json:"failed"`

	zone *time.Location
}

// Fate is how a node ended.
type Fate string

// The fates of a node.
const (
	// Alive at the end of the run.
	Alive Fate = "alive"
	// Rotated with its replacement standing, or in Fallback without one.
	Rotated  Fate = "rotated"
	Fallback Fate = "fallback"
	// Expired by Karpenter at its deadline: what rotations are there to prevent.
	Expired Fate = "expired"
	// Refused by the cloud before it had an instance.
	Refused Fate = "refused"
	// Removed by another hand, or by the rollback of the rotation that induced it.
	Removed Fate = "removed"
)

// Life is one NodeClaim's. Times that never came are nil.
type Life struct {
	Claim    string     `json:"claim"`
	Node     string     `json:"node,omitempty"`
	Pool     string     `json:"pool"`
	Zone     string     `json:"zone,omitempty"`
	Born     time.Time  `json:"born"`
	Ready    *time.Time `json:"ready,omitempty"`
	Due      *time.Time `json:"due,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"`
	// Deleted is when its deletion was asked for, Gone when it was.
	Deleted *time.Time `json:"deleted,omitempty"`
	Gone    *time.Time `json:"gone,omitempty"`
	Fate    Fate       `json:"fate"`
	// Margin is from its end to its deadline, of a rotated node.
	Margin *Seconds `json:"marginSeconds,omitempty"`
}

// Outcome is how a rotation ended.
type Outcome string

// The outcomes of a rotation.
const (
	Completed  Outcome = "completed"
	Failed     Outcome = "failed"
	Overtaken  Outcome = "expired"
	LetGo      Outcome = "let go"
	InProgress Outcome = "in progress"
)

// Rotation is one attempt to rotate one node.
type Rotation struct {
	Pool        string     `json:"pool"`
	Claim       string     `json:"claim"`
	Replacement string     `json:"replacement,omitempty"`
	Start       time.Time  `json:"start"`
	Draining    *time.Time `json:"draining,omitempty"`
	End         *time.Time `json:"end,omitempty"`
	Fallback    bool       `json:"fallback,omitempty"`
	Attempt     int        `json:"attempt"`
	Outcome     Outcome    `json:"outcome"`
	// Window is the label of the occurrence in which it began; empty for none.
	Window string `json:"window,omitempty"`
	// Age of the node at the start.
	Age    Seconds  `json:"ageSeconds"`
	Margin *Seconds `json:"marginSeconds,omitempty"`
	// Trace has what happened during the rotation, where a trace was asked for.
	Trace []string `json:"trace,omitempty"`

	// zone is the window's.
	zone *time.Location
	// first and last are where the passes that began and ended it stand in the trace.
	first, last int
}

// Severity of a finding.
type Severity string

// The severities. A Fatal finding fails the run.
const (
	Fatal Severity = "fatal"
	Warn  Severity = "warn"
)

// Finding is something to change, or to know: the engine's own, and what the run has shown.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Pool     string   `json:"pool,omitempty"`
	Message  string   `json:"message"`
	// Since is when it was first found.
	Since time.Time `json:"since"`
}

// State is a state of the table.
type State struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Edge is a row of the table in one of the states it starts from.
type Edge struct {
	Row   string `json:"row"`
	From  string `json:"from"`
	To    string `json:"to"`
	About string `json:"about"`
	// Count is how often the row fired and something came of it.
	Count int `json:"count"`
	// Returns is true where the row also lets the anchor go: the pool is idle on the next pass, whatever To says.
	Returns bool `json:"returns,omitempty"`
}

// Seconds is a duration in whole seconds.
type Seconds int64

func secondsOf(d time.Duration) Seconds { return Seconds(d / time.Second) }

// Duration is the same as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) * time.Second }
