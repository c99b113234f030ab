// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "syscall"

// childAttributes keep Ctrl-C in a terminal from the controller, which is ended in order.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
