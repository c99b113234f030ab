// SPDX-License-Identifier: Apache-2.0

package explore

// Fault is what goes wrong in a pass.
type Fault uint8

// The faults.
const (
	// NoFault lets a pass go well.
	NoFault Fault = iota
	// Killed ends the process after its nth write.
	Killed
	// Conflict refuses the nth write, and Unanswered loses its answer although it took effect.
	Conflict
	Unanswered
	// Lag has the pass see a cluster in which the other move has not happened yet, though it has.
	Lag
	// OwnLag has the same process make another pass, which does not see the nth write of the one before.
	OwnLag
	// TwoLeaders has another process make a whole pass before the nth write.
	TwoLeaders
	// Overtaken has, before the nth write, something else happen and another process make a whole pass.
	Overtaken
	// Reborn ends a process after the nth write, and has another one make a pass that does not see what the first wrote on
	// NodePools and NodeClaims.
	Reborn
	// Unseen loses the answer to the nth write, and has the process make another pass that does not see it.
	Unseen
	// KilledSweeping ends a process after the nth write of its sweep.
	KilledSweeping
	numFaults
)

var faultNames = [numFaults]string{
	NoFault: "none", Killed: "killed after a write", Conflict: "a write lost to a conflict", Unanswered: "an answer lost",
	Lag: "a cache that lags", OwnLag: "a cache that lags behind an own write", TwoLeaders: "two leaders for a moment",
	Overtaken: "two leaders, and the world moves on", Reborn: "a process that begins on a cache that lags",
	Unseen: "a cache that lags behind a write whose answer is lost", KilledSweeping: "killed while sweeping",
}

func (f Fault) String() string { return faultNames[f] }
