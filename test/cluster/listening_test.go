// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The ports of a cluster", func() {
	It("are open to this machine alone", func() {
		var serving []string
		for part, id := range shared.Processes() {
			for _, address := range listening(id) {
				Expect(address.IsLoopback()).To(BeTrue(), "%s listens on %s", part, address)
				serving = append(serving, part)
			}
		}
		Expect(serving).To(ContainElements("etcd", "kube-apiserver", "karpenter"))
	})
})

// listening returns the addresses on which the process accepts connections.
func listening(process int) []net.IP {
	GinkgoHelper()
	sockets := socketsOf(process)
	var addresses []net.IP
	for _, protocol := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", process, protocol))
		Expect(err).NotTo(HaveOccurred())
		for line := range strings.Lines(string(table)) {
			const accepting = "0A"
			field := strings.Fields(line)
			if field[3] != accepting || !sockets[field[9]] {
				continue
			}
			address, _, _ := strings.Cut(field[1], ":")
			addresses = append(addresses, decoded(address))
		}
	}
	return addresses
}

// socketsOf returns the inodes of the process's open sockets.
func socketsOf(process int) map[string]bool {
	GinkgoHelper()
	descriptors, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
	Expect(err).NotTo(HaveOccurred())
	sockets := map[string]bool{}
	for _, descriptor := range descriptors {
		target, err := os.Readlink(descriptor)
		if err != nil {
			continue // closed in between
		}
		if inode, found := strings.CutPrefix(target, "socket:["); found {
			sockets[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return sockets
}

// decoded reads an address as /proc writes it: words of four bytes, each in the order of a little-endian machine.
func decoded(text string) net.IP {
	GinkgoHelper()
	address, err := hex.DecodeString(text)
	Expect(err).NotTo(HaveOccurred())
	for word := range slices.Chunk(address, 4) {
		slices.Reverse(word)
	}
	return address
}
