// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// startGates are the gates before every start that no other guard makes sure of.
var startGates = []string{"feasible", "pool_settled", "in_window", "not frozen", "cooldown_elapsed", "failure_pause_elapsed"}

// illegalStarts drops each gate of each row that starts a rotation, one by one.
func illegalStarts() []illegal {
	var all []illegal
	for _, start := range []struct {
		row  string
		more []string
	}{{"start-fallback", nil}, {"start", []string{"candidate"}}, {"retry", []string{"backoff_elapsed", "surge_headroom"}}} {
		for _, gate := range slices.Concat(startGates, start.more) {
			all = append(all, illegal{start.row + " without " + gate, []edit{dropping(start.row, "when", gate)}, []breach{ungated(start.row, gate)}})
		}
	}
	return append(all, illegal{"start with no guard that makes sure of a policy",
		[]edit{dropping("start", "when", "governed", "feasible", "in_window", "candidate")},
		[]breach{{"gated-start", "start", "when", "it can start a rotation from idle with not governed, not feasible, not in_window or not candidate; add governed, feasible, in_window and candidate"}},
	}, illegal{"start without surge_headroom, which also takes every case of the row that tells of the lack",
		[]edit{dropping("start", "when", "surge_headroom")},
		[]breach{ungated("start", "surge_headroom"),
			{"no-shadow", "start-without-headroom", "id", "it can never fire in state idle, where start-fallback or start above it takes every case; move it up, guard what is above, or remove it"}},
	}, illegal{"start-fallback with another guard in the place of forceful_fallback",
		[]edit{dropping("start-fallback", "when", "forceful_fallback"), putting("start-fallback", "when", "backoff_elapsed", "")},
		[]breach{ungated("start-fallback", "forceful_fallback"),
			{"surge-first", "start-fallback", "when", "it can begin a drain from idle without a replacement; add forceful_fallback"}},
	}, illegal{"start-fallback with candidate and forceful_fallback gone",
		[]edit{dropping("start-fallback", "when", "candidate", "forceful_fallback"), putting("start-fallback", "when", "backoff_elapsed", "")},
		[]breach{{"gated-start", "start-fallback", "when", "it can start a rotation from idle with not candidate or not forceful_fallback; add candidate and forceful_fallback"},
			{"surge-first", "start-fallback", "when", "it can begin a drain from idle without a replacement; add forceful_fallback"}},
	})
}

// ungated is the breach of a row that starts a rotation without a gate.
func ungated(row, gate string) breach {
	from, closed := "idle", "not "+gate
	if row == "retry" {
		from = "failed"
	}
	if open, negated := strings.CutPrefix(gate, "not "); negated {
		closed = open
	}
	return breach{"gated-start", row, "when", fmt.Sprintf("it can start a rotation from %s with %s; add %s", from, closed, gate)}
}

var _ = Describe("A gate that another gate makes sure of (law gated-start)", func() {
	DescribeTable("need not be asked for",
		func(e edit) { Expect(load(edited(e))).Error().NotTo(HaveOccurred()) },
		Entry("governed in start: feasible implies it", dropping("start", "when", "governed")),
		Entry("governed in start-fallback: feasible implies it", dropping("start-fallback", "when", "governed")),
		Entry("governed in retry: feasible implies it", dropping("retry", "when", "governed")),
		Entry("candidate in start-fallback: forceful_fallback implies it", dropping("start-fallback", "when", "candidate")),
	)

	It("is made sure of by the rows above as well: the order of the rows counts", func() {
		held := "- id: idle-held\n  from: idle\n  event: held\n  to: idle\n  when: [frozen]\n  requeue: 1m\n  about: Held.\n\n- id: start-fallback\n"
		ahead := func(text string) string { return once(text, "- id: start-fallback\n", held) }
		Expect(load(edited(ahead, dropping("start", "when", "not frozen"), dropping("start-fallback", "when", "not frozen"),
			dropping("start-without-headroom", "when", "not frozen")))).Error().NotTo(HaveOccurred())
	})
})
