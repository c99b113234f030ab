// SPDX-License-Identifier: Apache-2.0

package explore

import "time"

// Scenes are those that are explored: small clusters that differ in what they consist of and in who has a hand in them.
// Each goes deep in its own direction; what none of them has together is not explored together.
func Scenes() []Scene {
	one := []PoolScene{{Ages: []time.Duration{Old}}}
	two := []PoolScene{{Ages: []time.Duration{Older, Old}}}
	return []Scene{
		{Name: "nobody interferes", Pools: []PoolScene{{Ages: []time.Duration{Old, Young}}}, Share: 3},
		{Name: "the policy alone comes and goes", Pools: two, Share: 3, Moves: []Verb{DropPolicy, RestorePolicy}},
		{Name: "two leaders, and nobody else", Pools: one, Lags: true, Leaders: true, Share: 2, Moves: []Verb{Expire}},
		{Name: "two leaders, and spare capacity", Pools: []PoolScene{{Ages: []time.Duration{Old}, Spare: true}}, Lags: true, Leaders: true, Share: 2, Moves: []Verb{Expire, DropPolicy}},
		{Name: "a process that begins on a cache that lags", Pools: one, Lags: true, Share: 2},
		{Name: "one that begins so, and spare capacity", Pools: []PoolScene{{Ages: []time.Duration{Old}, Spare: true}}, Lags: true, Share: 2},
		{Name: "one old node", Pools: one, Share: 8,
			Moves: []Verb{Expire, Terminate, GiveUp, Preempt, Evict, Remove, Occupy, Break, Mend}},
		{Name: "an old and a young node", Pools: []PoolScene{{Ages: []time.Duration{Old, Young}}}, Share: 6,
			Moves: []Verb{Expire, Terminate, GiveUp, Preempt}},
		{Name: "two old nodes", Pools: two, Share: 6, Moves: []Verb{Expire, Preempt, DropPolicy, RestorePolicy}},
		{Name: "three nodes, one of them coming of age", Pools: []PoolScene{{Ages: []time.Duration{Old, Maturing, Young}}}, Share: 6,
			Moves: []Verb{Expire, Remove}},
		{Name: "spare capacity", Pools: []PoolScene{{Ages: []time.Duration{Old}, Spare: true}}, Share: 6,
			Moves: []Verb{Expire, Preempt, Occupy, Remove, Cordon, Uncordon}},
		{Name: "two pools", Pools: []PoolScene{{Ages: []time.Duration{Old}}, {Ages: []time.Duration{Old}}}, Share: 8, Moves: []Verb{Expire}},
		{Name: "an operator's marks", Pools: one, Share: 8, Moves: []Verb{Protect, Unprotect, Cordon, Uncordon, Expire}},
		{Name: "an operator's freeze", Pools: one, Share: 5, Moves: []Verb{Freeze, FreezeUnreadably, Unfreeze, Preempt, Expire}},
		{Name: "governance comes and goes", Pools: two, Share: 5, Moves: []Verb{DropPolicy, RestorePolicy, Expire, Terminate, Freeze, Unfreeze}},
		{Name: "the fallback", Pools: []PoolScene{{Ages: []time.Duration{TooOld, Closing}}}, Fallback: true, Share: 6,
			Moves: []Verb{Expire, DropPolicy, RestorePolicy, Freeze}},
		{Name: "no room for a surge", Pools: []PoolScene{{Ages: []time.Duration{Old, Young}, Full: true}}, Share: 2, Moves: []Verb{Expire, Protect, Unprotect}},
		{Name: "a budget that allows nothing", Pools: []PoolScene{{Ages: []time.Duration{Old, Young}, Budget: true}}, Share: 2, Moves: []Verb{Terminate, Expire}},
		{Name: "a window that closes", Pools: two, Windows: true, Share: 3, Moves: []Verb{Expire, GiveUp}},
		{Name: "a pool that is deleted", Pools: two, Share: 3, Moves: []Verb{DropPool, Expire, Preempt, Protect}},
		{Name: "annotations that are replaced", Pools: two, Share: 3, Moves: []Verb{Wipe, Unanchor, Expire, Preempt, Terminate}},
		{Name: "annotations that are replaced in a fallback", Pools: []PoolScene{{Ages: []time.Duration{TooOld, Old}}}, Fallback: true, Share: 2,
			Moves: []Verb{Wipe, Unanchor, Terminate}},
		{Name: "a cloud that launches nothing", Pools: one, Barren: true, Share: 2, Moves: []Verb{Freeze, Unfreeze, Expire, Protect, Cordon, Uncordon}},
		{Name: "a cache that lags", Pools: one, Lags: true, Share: 8,
			Moves: []Verb{Expire, DropPolicy, RestorePolicy, Preempt, Remove, Protect, Unprotect, Cordon, Freeze}},
		{Name: "a cache that lags, and spare capacity", Pools: []PoolScene{{Ages: []time.Duration{Old}, Spare: true}}, Lags: true, Share: 4,
			Moves: []Verb{Expire, Preempt, Occupy, Evict, Break, Mend}},
		{Name: "two leaders", Pools: two, Lags: true, Leaders: true, Share: 8,
			Moves: []Verb{Expire, Protect, Freeze, Preempt, DropPolicy, RestorePolicy}},
		{Name: "two leaders, and the fallback", Pools: []PoolScene{{Ages: []time.Duration{TooOld, Closing}}}, Fallback: true, Lags: true, Leaders: true, Share: 4,
			Moves: []Verb{Expire, Terminate, Freeze, Protect, DropPolicy, RestorePolicy}},
		{Name: "what comes back by its name", Pools: one, Lags: true, Share: 3, Moves: []Verb{Renew, Replace, Remove}},
	}
}
