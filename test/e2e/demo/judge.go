// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

// judge looks at the whole recording again, after every event of it, and returns a sentence for each promise that was not
// kept (§1, §3.3).
func judge(f fleet, recording record.Recording) (breaches []string) {
	drains, unready := verdict.MakeBeforeBreak(recording, f.Pool)
	if drains != f.Nodes {
		unready = append(unready, fmt.Sprintf("%d nodes were drained by a rotation, not %d", drains, f.Nodes))
	}
	return slices.Concat(
		unready,
		verdict.Rotated(recording, f.Pool, f.Originals...),
		verdict.Serial(recording, f.Pool),
		verdict.NeverMoreThan(recording, f.Pool, f.Nodes+1),
		verdict.BudgetKept(recording, f.budget(), f.Replicas),
		verdict.Leftovers(recording.End()),
	)
}

// conclude puts the verdict into one line. It took the rotations this long.
func conclude(t tally, breaches []string, took time.Duration) happening {
	took = took.Round(time.Second)
	if len(breaches) > 0 {
		return happening{What: verdictBad, Tally: &t, Breaches: breaches, Text: fmt.Sprintf(
			"%d of %d nodes replaced in %s, and not as promised:", t.New, t.Of, took)}
	}
	return happening{What: verdictGood, Tally: &t, Text: fmt.Sprintf(
		"%d of %d nodes replaced in %s; PDB never violated: never under %d of %d Ready",
		t.New, t.Of, took, t.FewestReady, t.Replicas)}
}
