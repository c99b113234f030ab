// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
)

// stoppable is an input that a command waits for no longer than until it is told to stop. A read that is given up goes on, into
// a buffer of its own, until the process ends.
type stoppable struct {
	ctx context.Context
	in  io.Reader
}

// Read reads as the input does. Once the command is told to stop its error is the reason.
func (s stoppable) Read(into []byte) (int, error) {
	type answer struct {
		n   int
		err error
	}
	read := make(chan answer, 1)
	own := make([]byte, len(into))
	go func() {
		n, err := s.in.Read(own)
		read <- answer{n, err}
	}()
	select {
	case <-s.ctx.Done():
		return 0, context.Cause(s.ctx)
	case a := <-read:
		copy(into, own[:a.n])
		return a.n, a.err
	}
}
