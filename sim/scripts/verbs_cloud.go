// SPDX-License-Identifier: Apache-2.0

package scripts

import "noderotation.io/noderotation/sim"

// cloudVerbs are trouble in the cloud, from the step on.
func cloudVerbs() []verb {
	plain := func(form string, do func(w *sim.World, s slots)) verb {
		return verb{form, func(s slots) (action, error) {
			return func(r *run) error { do(r.world, s); return r.settle() }, nil
		}}
	}
	return []verb{
		{"hold up launches by <span>", func(s slots) (action, error) {
			d, err := s.span("span")
			return func(r *run) error { r.world.HoldUp(d); return r.settle() }, err
		}},
		plain("keep the next launch from registering", func(w *sim.World, _ slots) { w.KeepFromRegistering(1) }),
		{"keep the next <number> launches from registering", func(s slots) (action, error) {
			n, err := number(s["number"])
			return func(r *run) error { r.world.KeepFromRegistering(n); return r.settle() }, err
		}},
		plain("have launches fail", func(w *sim.World, _ slots) { w.FailLaunches(true) }),
		plain("have launches succeed", func(w *sim.World, _ slots) { w.FailLaunches(false) }),
		plain("run zone <zone> out of capacity", func(w *sim.World, s slots) { w.RunOut(s["zone"]) }),
		plain("give every zone its capacity back", func(w *sim.World, _ slots) { w.RunOut("") }),
	}
}
