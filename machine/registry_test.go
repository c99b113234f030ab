// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

var _ = Describe("Registering guards and effects", func() {
	check := func(Door) machine.Verdict { return machine.Yes("so") }
	apply := func(d Door) (Door, []Motion, error) { return d, nil, nil }

	It("keeps them in order and finds them by name", func() {
		r := doorRegistry()
		Expect(r.Guards()[0].Name).To(Equal("key_turned"))
		Expect(r.Effects()[2].Name).To(Equal("ring_bell"))
		g, ok := r.Guard("forced")
		Expect(ok).To(BeTrue())
		Expect(g.Declaration().Implies).To(HaveExactElements(machine.Is("pushed"), machine.IsNot("key_turned")))
		e, ok := r.Effect("throw_bolt")
		Expect(ok).To(BeTrue())
		Expect(e.Declaration()).To(Equal(machine.EffectDecl{Name: "throw_bolt", About: "moves the bolt", Writes: []string{"bolt"}, Returns: true}))
		_, ok = r.Guard("whistle")
		Expect(ok).To(BeFalse())
		_, ok = r.Effect("whistle")
		Expect(ok).To(BeFalse())
	})

	It("refuses what is wrong, all at once", func() {
		_, err := machine.NewRegistry(
			[]machine.Guard[Door]{
				{Name: "key_turned", Check: check},
				{Name: "key_turned", Check: check},
				{Name: "keyTurned", Check: check},
				{Name: "not", Check: check},
				{Name: "pushed"},
				{Name: "forced", Check: check, Implies: []machine.Condition{machine.IsNot("whole")}},
			},
			[]machine.Effect[Door, Motion]{
				{Name: "ring_bell", Apply: apply},
				{Name: "ring_bell", Apply: apply},
				{Name: "draw-bolt"},
			},
		)
		Expect(err).To(MatchError(`guard "key_turned" is registered twice: rename or remove one
guard "keyTurned": a name is snake_case, such as "key_turned", and not the word "not"
guard "not": a name is snake_case, such as "key_turned", and not the word "not"
guard "pushed" has no function: register it with one
effect "ring_bell" is registered twice: rename or remove one
effect "draw-bolt": a name is snake_case, such as "key_turned", and not the word "not"
effect "draw-bolt" has no function: register it with one
guard "forced" implies "not whole", but no guard "whole" is registered: register it or correct the name`))
	})

	It("refuses a guard that by its declarations can never hold", func() {
		_, err := machine.NewRegistry([]machine.Guard[Door]{
			{Name: "ghost", Check: check, Implies: []machine.Condition{machine.Is("pushed"), machine.Is("locked")}},
			{Name: "pushed", Check: check, Implies: []machine.Condition{machine.IsNot("locked")}},
			{Name: "locked", Check: check},
		}, []machine.Effect[Door, Motion]{})
		Expect(err).To(MatchError(`guard "ghost" can never hold: what it implies contradicts itself; correct its Implies`))
	})
})
