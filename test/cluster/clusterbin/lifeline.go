// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// lifelineVariable names the file descriptor of a pipe whose other end the starter holds and never writes to.
const lifelineVariable = "CLUSTER_LIFELINE_FD"

// parentCheckInterval is how often a part that was given no lifeline looks whether its parent still lives.
const parentCheckInterval = time.Second

// endWithStarter makes this process end when the one that started it ends, however that comes about.
//
// The kernel closes the starter's end of the lifeline even after kill -9, which reads as end of file here. Unlike a
// parent-death signal this does not hang on the one thread that happened to start us. A starter that knows nothing of
// lifelines (envtest) is watched by its process id instead.
func endWithStarter() {
	value, given := os.LookupEnv(lifelineVariable)
	if !given {
		go watchParent(os.Getppid())
		return
	}
	fd, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s must be the number of an open file descriptor, not %q\n", lifelineVariable, value)
		os.Exit(2)
	}
	lifeline := os.NewFile(uintptr(fd), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		os.Exit(1)
	}()
}

// watchParent ends this process once it has been handed over to another parent than the one it began with.
func watchParent(parent int) {
	for range time.Tick(parentCheckInterval) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}
