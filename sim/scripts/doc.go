// SPDX-License-Identifier: Apache-2.0

// Package scripts has the scenario scripts: what happens to a simulated cluster, in words of the domain, and the trace
// that comes of it — the row that fired, its writes, its Events. A script is a text file that a person reads and edits:
//
//	title    What the scenario shows, in one line
//	section  §3.1
//	about    Why it must be so. May run on in indented lines.
//
//	start    2026-01-09 17:00 UTC
//	policy   weekly
//	  window Wed,Sat 02:00-06:00 Asia/Tokyo
//	pool     api
//	  expireAfter 14d; terminationGracePeriod 1h; nodes 10d, 1d
//	  pods 2 a node; cpu 1500m
//
//	# What follows a step, up to the next one, is the trace that it produced.
//	> at 20s freeze pool api until 30m
//	0s      controller starts
//	…
//
// The setting's keywords and clauses are in setting_*.go, the steps in verbs*.go and suspended.go, the questions in
// questions.go and shown.go; an unknown one is answered with those there are. Times in steps and traces count from the start, a stamp in an annotation too: +20s. A NodeClaim that
// Karpenter adds to the pool api is called api+1, the next one api+2.
//
// The simulator's own clock and actors run under it, and the product's own table and controller. The same script gives
// the same trace. Where a world other than the simulated one is meant, a Document is the text, and Play has it happen.
//
// What must never enter: a rule of a rotation, and an expectation other than the trace.
package scripts
