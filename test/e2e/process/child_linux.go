// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

// childAttributes keep Ctrl-C in a terminal from the controller, which is ended in order, and end it with us however we
// end.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
