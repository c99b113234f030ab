// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// statusError ends the process with an exit status of its own. Without Err nothing is said: the output says it all.
type statusError struct {
	Status int
	Err    error
}

func (e *statusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

func (e *statusError) Unwrap() error { return e.Err }

// exit tells the error that a command came to, and returns the exit status: 0 without one, the error's own, or else 1.
func exit(out io.Writer, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	var own *statusError
	if !errors.As(err, &own) {
		own = &statusError{Status: 1, Err: err}
	}
	if own.Err != nil {
		_, _ = fmt.Fprintf(out, "noderotation: %v\n", err) // there is nobody left to tell
	}
	return own.Status
}
