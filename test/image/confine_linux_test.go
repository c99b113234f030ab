// SPDX-License-Identifier: Apache-2.0

package image

import (
	"os"
	"syscall"
)

// confinedTo runs a process as the image's user with another root. Root changes both itself; anybody else needs a user
// namespace, in which the own user is called by the image's number.
func confinedTo(root string) *syscall.SysProcAttr {
	if os.Getuid() == 0 {
		return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	}
	return &syscall.SysProcAttr{
		Chroot:      root,
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
	}
}

// privilege says what confinedTo relies on.
func privilege() string {
	if os.Getuid() == 0 {
		return "it was tried as root, by chroot"
	}
	return "it was tried without root, in a user namespace, which this kernel may not allow: run the test as root"
}
