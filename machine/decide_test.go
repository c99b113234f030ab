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
			machine.ConditionVerdict{Condition: machine.Is("pushed"), Verdict: machine.No("they deny pushed")},
			machine.ConditionVerdict{
				Condition: machine.IsNot("curfew"),
				Verdict:   machine.Yes("the curfew ends at 23:00").ChangingAt(evening.Add(time.Hour)),
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
		row, closed, ok := d.FirstClosed()
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
		_, _, ok := d.FirstClosed()
		Expect(ok).To(BeFalse())
		Expect(d.Why()).To(Equal("unlock fires: Who has the key may enter, but not at night."))
		Expect(decide("closed", Door{Pushed: true}).Why()).To(Equal("push fires: Somebody goes through."))
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
