// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

func decide(state string, d Door) machine.Decision {
	decision, err := door().Decide(state, d)
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return decision
}

var _ = Describe("Deciding (architecture: One pass)", func() {
	It("takes the first row whose guards all hold", func() {
		Expect(decide("closed", Door{KeyTurned: true, Pushed: true}).Row.ID).To(Equal("lock"))
		Expect(decide("closed", Door{KeyTurned: true, Jammed: true, Pushed: true}).Row.ID).To(Equal("push"))
		Expect(decide("closed", Door{}).Row.ID).To(Equal("stay-closed"))
	})

	It("keeps every row's verdicts and reasons, also behind the one that fires", func() {
		d := decide("closed", Door{KeyTurned: true, Now: evening, CurfewEnds: evening.Add(time.Hour)})
		Expect(d.State).To(Equal("closed"))
		Expect(d.Row.ID).To(Equal("lock"))
		Expect(d.Rows).To(HaveLen(3))
		lock, push, stay := d.Rows[0], d.Rows[1], d.Rows[2]
		Expect(lock.Holds).To(BeTrue())
		Expect(lock.Closed()).To(BeEmpty())
		Expect(push.Row.ID).To(Equal("push"))
		Expect(push.Holds).To(BeFalse())
		Expect(push.Conditions).To(HaveExactElements(
			machine.ConditionVerdict{Condition: machine.Is("pushed"), Verdict: new(machine.No("they deny %s", "pushed"))},
			machine.ConditionVerdict{
				Condition: machine.IsNot("curfew"),
				Verdict:   new(machine.Yes("the curfew ends at %s", "23:00").ChangingAt(evening.Add(time.Hour))),
			},
		))
		Expect(push.Closed()).To(Equal(push.Conditions))
		Expect(stay.Holds).To(BeTrue())
		Expect(stay.Conditions).To(BeEmpty())
	})

	It("asks each guard once, and only those of the state", func() {
		text := with("[pushed, not curfew]", "[pushed, not key_turned, not curfew]")
		m, err := compile(text)
		Expect(err).NotTo(HaveOccurred())
		var asked []string
		_, err = m.Decide("closed", Door{Asked: &asked})
		Expect(err).NotTo(HaveOccurred())
		Expect(asked).To(HaveExactElements("key_turned", "jammed", "pushed", "curfew"))
	})

	It("refuses a state that is none of the table's, by name", func() {
		_, err := door().Decide("ajar", Door{})
		var unknown *machine.UnknownStateError
		Expect(errors.As(err, &unknown)).To(BeTrue())
		Expect(unknown.State).To(Equal("ajar"))
		Expect(err).To(MatchError(`"ajar" is not a state of the table, whose states are locked, closed, open: correct the value that holds the state`))
	})
})

// watched is a door whose first row stays locked, for as long as there is a curfew.
func watched() *machine.Machine[Door, Motion] {
	m, err := compile(with("- id: unlock\n", `- id: keep
  from: locked
  event: night
  to: locked
  when: [curfew]
  requeue: 1m
  about: It is night.
- id: unlock
`))
	ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return m
}

var _ = Describe("Sleeping until something can change (architecture: One pass)", func() {
	curfewFor := func(left time.Duration) Door {
		return Door{Now: evening, CurfewEnds: evening.Add(left), KeyTurned: true}
	}

	It("sleeps no longer than the row's requeue", func() {
		Expect(decide("locked", curfewFor(time.Hour)).Wake(evening)).To(Equal(time.Minute))
		Expect(decide("locked", Door{}).Wake(evening)).To(Equal(time.Minute))
	})

	It("wakes when a closed guard ahead can open", func() {
		d := decide("locked", curfewFor(7*time.Second))
		Expect(d.Row.ID).To(Equal("stay-locked"))
		Expect(d.Wake(evening)).To(Equal(7 * time.Second))
		Expect(d.Wake(evening.Add(4 * time.Second))).To(Equal(3 * time.Second))
	})

	It("wakes at once, but never in no time, when the moment has come", func() {
		d := decide("locked", curfewFor(7*time.Second))
		Expect(d.Wake(evening.Add(7 * time.Second))).To(Equal(machine.ShortestWake))
		Expect(d.Wake(evening.Add(7*time.Second - time.Nanosecond))).To(Equal(machine.ShortestWake))
	})

	It("takes no notice of a moment that has passed", func() {
		Expect(decide("locked", curfewFor(7*time.Second)).Wake(evening.Add(8 * time.Second))).To(Equal(time.Minute))
	})

	It("takes no notice of rows behind the one that fires", func() {
		d := decide("closed", Door{KeyTurned: true, Pushed: true, Now: evening, CurfewEnds: evening.Add(time.Second)})
		Expect(d.Row.ID).To(Equal("lock"))
		Expect(d.Wake(evening)).To(Equal(30 * time.Second))
	})

	It("names the condition by which the decision changes next", func() {
		next, known := decide("locked", curfewFor(7*time.Second)).Changes(evening)
		Expect(known).To(BeTrue())
		Expect(next.Condition).To(Equal(machine.IsNot("curfew")))
		Expect(next.Verdict.Until).To(Equal(evening.Add(7 * time.Second)))
		_, known = decide("locked", Door{}).Changes(evening)
		Expect(known).To(BeFalse())
	})

	It("wakes when a condition of the row that fires can close", func() {
		d, err := watched().Decide("locked", Door{Now: evening, CurfewEnds: evening.Add(9 * time.Second)})
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Row.ID).To(Equal("keep"))
		Expect(d.Wake(evening)).To(Equal(9 * time.Second))
	})

	It("leaves it to the world where a table sets no requeue and no moment is known", func() {
		t, err := machine.Parse("door.yaml", []byte(strings.ReplaceAll(doorTable, "  requeue: 1m\n", "")))
		Expect(err).NotTo(HaveOccurred())
		m, err := machine.Compile(t, doorRegistry(), nil)
		Expect(err).NotTo(HaveOccurred())
		d, err := m.Decide("locked", Door{})
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Wake(evening)).To(BeZero())
		d, err = m.Decide("locked", curfewFor(time.Hour))
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Wake(evening)).To(Equal(time.Hour))
	})
})

var _ = Describe("Saying why (architecture: Every decision can be explained)", func() {
	locked := Door{KeyTurned: true, Now: evening, CurfewEnds: evening.Add(time.Hour)}

	It("says in a sentence what the way out waits for", func() {
		d := decide("locked", locked)
		row, closed, ok := d.Obstacle()
		Expect(ok).To(BeTrue())
		Expect(row.Row.ID).To(Equal("unlock"))
		Expect(closed.Condition).To(Equal(machine.IsNot("curfew")))
		Expect(d.Why()).To(Equal("unlock waits for not curfew: the curfew ends at 23:00"))
	})

	It("prefers the way out to a row that stays", func() {
		d, err := watched().Decide("locked", Door{})
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Row.ID).To(Equal("stay-locked"))
		Expect(d.Why()).To(Equal("unlock waits for key_turned: they deny key_turned"))
	})

	It("says in a sentence what fires", func() {
		d := decide("locked", Door{KeyTurned: true})
		_, _, ok := d.Obstacle()
		Expect(ok).To(BeFalse())
		Expect(d.Why()).To(Equal("unlock fires: Who has the key may enter, but not at night."))
		Expect(decide("closed", Door{Pushed: true}).Why()).To(Equal("push fires: Somebody goes through."))
	})

	// row is what the guards of one row said; a condition that begins with "no " is closed.
	row := func(id, to string, conditions ...string) machine.RowVerdict {
		r := machine.RowVerdict{Row: &machine.Row{ID: id, To: to}, Holds: true}
		for _, condition := range conditions {
			text, closed := strings.CutPrefix(condition, "no ")
			guard, not := strings.CutPrefix(text, "not ")
			r.Conditions = append(r.Conditions, machine.ConditionVerdict{
				Condition: machine.Condition{Guard: guard, Not: not}, Holds: !closed, Verdict: new(machine.No("%s and why", guard)),
			})
			r.Holds = r.Holds && !closed
		}
		return r
	}
	firing := func(rows ...machine.RowVerdict) machine.Decision {
		return machine.Decision{State: "here", Row: rows[len(rows)-1].Row, Rows: rows}
	}

	DescribeTable("finds what keeps the state from being left", func(d machine.Decision, why string) {
		Expect(d.Why()).To(Equal(why))
	},
		Entry("the first closed condition of the row that came furthest",
			firing(row("near", "there", "no a"), row("far", "there", "b", "no c", "no d"), row("rest", "here")), "far waits for c: c and why"),
		Entry("the later of two that came equally far, since exceptions stand ahead",
			firing(row("exception", "there", "a", "no b"), row("course", "there", "a", "no c"), row("rest", "here")), "course waits for c: c and why"),
		Entry("what is to come sooner than what is to go",
			firing(row("course", "there", "no a"), row("retreat", "there", "no not b"), row("rest", "here")), "course waits for a: a and why"),
		Entry("what is to go, where nothing is to come",
			firing(row("course", "there", "a", "no not b"), row("rest", "here")), "course waits for not b: b and why"),
		Entry("no row that stays, as long as one would leave",
			firing(row("course", "there", "no a"), row("remark", "here", "b", "no c"), row("rest", "here")), "course waits for a: a and why"),
		Entry("the last condition of a row that stays for a reason of its own",
			firing(row("course", "there", "a", "no b"), row("held", "here", "a", "not b")), "held fires for not b: b and why"),
		Entry("nothing in a state that no row leaves", machine.Decision{State: "here", Row: &machine.Row{ID: "rest", To: "here", About: "Quiet."}}, "rest fires: Quiet."),
	)

	It("tells what lasts of a reason from what moves with the clock", func() {
		v := machine.No("the curfew ends at %s", "23:00").Passing(", in %s", "1h").ChangingAt(evening.Add(time.Hour))
		Expect(v.Reason()).To(Equal("the curfew ends at 23:00, in 1h"))
		Expect(v.Lasting()).To(Equal("the curfew ends at 23:00"))
		Expect(machine.Yes("they say pushed").Lasting()).To(Equal("they say pushed"))
	})

	It("prints each row with its conditions, which hold, and the reasons", func() {
		var out strings.Builder
		Expect(decide("closed", Door{KeyTurned: true, Now: evening, CurfewEnds: evening.Add(time.Hour)}).Explain(&out)).To(Succeed())
		Expect(out.String()).To(Equal(`state closed: row lock fires (closed → locked)

fires   lock → locked: Who has the key may lock up.
        yes  key_turned  they say key_turned
        yes  not jammed  they deny jammed

closed  push → open: Somebody goes through.
        no   pushed      they deny pushed
        no   not curfew  the curfew ends at 23:00 (until 2026-01-09T23:00:00Z)

behind  stay-closed → closed: Nobody came.
`))
	})

	It("has words for a state without rows", func() {
		Expect(machine.Decision{State: "locked"}.Why()).To(Equal("state locked has no row"))
	})

	It("has words for a table in which nothing fires", func() {
		t, err := machine.Parse("door.yaml", []byte(with(stayLocked, "")))
		Expect(err).NotTo(HaveOccurred())
		m, err := machine.Compile(t, doorRegistry(), nil)
		Expect(err).NotTo(HaveOccurred())
		d, err := m.Decide("locked", locked)
		Expect(err).NotTo(HaveOccurred())
		Expect(d.Row).To(BeNil())
		Expect(d.Why()).To(Equal("unlock waits for not curfew: the curfew ends at 23:00"))
		var out strings.Builder
		Expect(d.Explain(&out)).To(Succeed())
		Expect(out.String()).To(HavePrefix("state locked: no row fires\n"))
		_, err = m.Plan(d, locked)
		Expect(err).To(MatchError(machine.ErrNoRow))
		Expect(m.Fire(context.Background(), d, nil)).To(MatchError(machine.ErrNoRow))
	})
})
