// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// called is a command in a process of its own that has begun to read what it is given, and waits for the rest.
type called struct {
	*exec.Cmd

	said strings.Builder
	gone chan struct{}
}

func waiting(t *testing.T, args ...string) *called {
	t.Helper()
	g := NewWithT(t)
	binary, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	c := &called{Cmd: exec.CommandContext(t.Context(), binary, args...), gone: make(chan struct{})}
	c.Env = append(os.Environ(), asCommand+"=1")
	c.Stderr = &c.said
	given, err := c.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it is gone already, unless the test has failed
		<-c.gone
	})
	// More than a pipe holds: once it is written, it is being read.
	_, err = given.Write([]byte(strings.Repeat("# a comment\n", 100_000)))
	g.Expect(err).NotTo(HaveOccurred())
	go func() {
		defer close(c.gone)
		_ = c.Wait() // how it ends is what the test is about
	}()
	return c
}

const whileAProcessEnds = 20 * time.Second

// A table that is typed, or comes from a pipe that never closes, is not waited for by a command that is told to stop.
func TestACommandThatWaitsForStandardInputEndsWhenItIsToldTo(t *testing.T) {
	for line, status := range map[string]int{"table lint -": 1, "table diff - builtin": statusTrouble, "simulate -": 1} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			c := waiting(t, strings.Fields(line)...)
			g.Expect(c.Process.Signal(syscall.SIGTERM)).To(Succeed())
			g.Eventually(c.gone, whileAProcessEnds).Should(BeClosed())
			g.Expect(c.ProcessState.ExitCode()).To(Equal(status))
			g.Expect(c.said.String()).To(ContainSubstring("cannot be read"))
		})
	}
}

// Whatever a command is busy with, it has no say when it is told a second time.
func TestASecondSignalEndsACommandThatDoesNotLook(t *testing.T) {
	g := NewWithT(t)
	c := waiting(t, "table", "lint", "/dev/stdin")
	g.Eventually(func() chan struct{} {
		_ = c.Process.Signal(syscall.SIGTERM) // it may be gone by now, as it should
		return c.gone
	}, whileAProcessEnds).Should(BeClosed())
	g.Expect(c.ProcessState.String()).To(Equal("signal: terminated"))
}
