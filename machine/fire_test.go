// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"errors"

	"github.com/looplab/fsm"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

var _ = Describe("Planning (architecture: One pass)", func() {
	It("runs the effects in order, each on what the one before it left", func() {
		d := Door{KeyTurned: true, BoltThrown: true, BellCord: true}
		p, err := door().Plan(decide("locked", d), d)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Row.ID).To(Equal("unlock"))
		Expect(p.Steps).To(HaveExactElements(
			machine.Step[Motion]{Effect: "draw_bolt", Actions: []Motion{"draw_bolt"}},
			machine.Step[Motion]{Effect: "ring_bell", Actions: []Motion{"ring, door unlocked"}},
		))
		Expect(p.Actions()).To(HaveExactElements(Motion("draw_bolt"), Motion("ring, door unlocked")))
		Expect(p.Snapshot.BoltThrown).To(BeFalse())
		Expect(p.Snapshot.BellRungTimes).To(Equal(1))
		Expect(d.BoltThrown).To(BeTrue(), "the caller's snapshot is its own")
	})

	It("keeps a step that asks for nothing", func() {
		d := Door{KeyTurned: true, BellCord: true}
		p, err := door().Plan(decide("locked", d), d)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Steps[0]).To(Equal(machine.Step[Motion]{Effect: "draw_bolt"}))
		Expect(p.Actions()).To(HaveExactElements(Motion("ring, door unlocked")))
	})

	It("stops at an effect's error and names it", func() {
		d := Door{KeyTurned: true, BoltThrown: true}
		p, err := door().Plan(decide("locked", d), d)
		Expect(err).To(MatchError(errCordTorn))
		Expect(err).To(MatchError("row unlock, effect ring_bell: the bell's cord is torn: splice it"))
		Expect(p.Steps).To(HaveLen(1))
	})
})

var _ = Describe("Firing (architecture: transitions.yaml, looplab/fsm)", func() {
	var applied int
	apply := func(context.Context) error {
		applied++
		return nil
	}
	BeforeEach(func() { applied = 0 })

	It("applies the actions once for a row that leaves the state", func(ctx context.Context) {
		Expect(door().Fire(ctx, decide("locked", Door{KeyTurned: true}), apply)).To(Succeed())
		Expect(applied).To(Equal(1))
	})

	It("takes a row that stays in its state for the success it is", func(ctx context.Context) {
		Expect(door().Fire(ctx, decide("open", Door{Pushed: true}), apply)).To(Succeed())
		Expect(applied).To(Equal(1))
	})

	It("fires each of the table's rows from each of its states", func(ctx context.Context) {
		m := door()
		fired := 0
		for _, s := range m.Table().States {
			for _, row := range m.Table().RowsFrom(s.Name) {
				Expect(m.Fire(ctx, machine.Decision{State: s.Name, Row: row}, apply)).To(Succeed(), row.ID)
				fired++
			}
		}
		Expect(applied).To(Equal(fired))
	})

	DescribeTable("hands back what stopped the actions", func(ctx context.Context, state string, d Door) {
		stuck := &jam{where: "hinge"}
		err := door().Fire(ctx, decide(state, d), func(context.Context) error { return stuck })
		var found *jam
		Expect(errors.As(err, &found)).To(BeTrue())
		Expect(found).To(BeIdenticalTo(stuck))
		Expect(err.Error()).To(HaveSuffix(": stuck at the hinge"))
		Expect(err.Error()).To(HavePrefix("row "))
	},
		Entry("of a row that leaves the state", "locked", Door{KeyTurned: true}),
		Entry("of a row that stays", "open", Door{Pushed: true}),
	)

	It("does not take an error that looplab made elsewhere for its own success", func(ctx context.Context) {
		err := door().Fire(ctx, decide("locked", Door{KeyTurned: true}), func(context.Context) error { return fsm.NoTransitionError{} })
		Expect(err).To(MatchError(fsm.NoTransitionError{}))
	})

	It("gives the caller's context to the actions", func() {
		type key struct{}
		ctx := context.WithValue(context.Background(), key{}, "the key")
		err := door().Fire(ctx, decide("locked", Door{KeyTurned: true}), func(inner context.Context) error {
			Expect(inner.Value(key{})).To(Equal("the key"))
			return nil
		})
		Expect(err).NotTo(HaveOccurred())
	})

	It("does not undo in words what was done before the context ended", func() {
		ctx, cancel := context.WithCancel(context.Background())
		err := door().Fire(ctx, decide("locked", Door{KeyTurned: true}), func(context.Context) error {
			cancel()
			return nil
		})
		Expect(err).NotTo(HaveOccurred())
	})

	It("refuses a decision of another machine, and applies nothing", func(ctx context.Context) {
		m, err := compile(doorTable)
		Expect(err).NotTo(HaveOccurred())
		foreign, err := m.Decide("locked", Door{KeyTurned: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(door().Fire(ctx, foreign, apply)).To(MatchError(machine.ErrForeignDecision))
		_, err = door().Plan(foreign, Door{})
		Expect(err).To(MatchError(machine.ErrForeignDecision))
	})

	It("refuses a row that does not start from the decision's state", func(ctx context.Context) {
		unlock := door().Table().Row("unlock")
		Expect(door().Fire(ctx, machine.Decision{State: "open", Row: unlock}, apply)).To(MatchError(machine.ErrForeignDecision))
		Expect(door().Fire(ctx, machine.Decision{State: "ajar", Row: unlock}, apply)).To(MatchError("state ajar, row unlock: the decision is not of this machine's table: decide and fire with the same one"))
		Expect(applied).To(BeZero())
	})
})

type jam struct{ where string }

func (j *jam) Error() string { return "stuck at the " + j.where }
