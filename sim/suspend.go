// SPDX-License-Identifier: Apache-2.0

package sim

// Suspend freezes the controller in the middle of a pass, as SIGSTOP does. It is called out of a write of that pass, which
// the caller does not let return before it wants the process to go on, and calls resume right before. Meanwhile the process
// does nothing and sees nothing, and another one may be started. One that goes on has lost its lease: it ends with the
// pass.
func (w *World) Suspend() (resume func()) {
	w.control = nil
	t := w.config.Trace
	if t == nil {
		return func() {}
	}
	sofar := t.pass
	t.pass, t.inPass = nil, false
	t.add(w.now, "controller is suspended in the middle of a pass")
	t.lines = append(t.lines, sofar...)
	return func() {
		t.add(w.now, "controller that was suspended goes on with its pass, and ends with it")
		t.pass, t.inPass = nil, true
	}
}
