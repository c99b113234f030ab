// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit statuses of commands that compare, as diff(1) has them.
const (
	statusChanged = 1
	statusTrouble = 2
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

// exit tells the error that a command came to, in the name that was typed, and returns the exit status: 0 without an error,
// the error's own, or else 1.
func exit(out io.Writer, name string, err error) int {
	if err == nil {
		return 0
	}
	own, is := errors.AsType[*statusError](err)
	if !is {
		own = &statusError{Status: 1, Err: err}
	}
	if own.Err != nil {
		_, _ = fmt.Fprintf(out, "%s: %v\n", name, err) // there is nobody left to tell
	}
	return own.Status
}

// untilStopped has a command that runs until it is told to stop end well where it was. Any other command that is stopped has
// not done what was asked.
func untilStopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// judging has a command that answers by its exit status end in statusTrouble where its command line is wrong: any other
// status would be an answer.
func judging(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &statusError{Status: statusTrouble, Err: err} })
	fits := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := fits(cmd, args); err != nil {
			return &statusError{Status: statusTrouble, Err: err}
		}
		return nil
	}
	return cmd
}
