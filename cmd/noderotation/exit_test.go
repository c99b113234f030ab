// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestExitTellsTheErrorAndItsStatus(t *testing.T) {
	trouble := errors.New("the table cannot be read")
	for _, c := range []struct {
		what   string
		err    error
		status int
		told   string
	}{
		{"it went well", nil, 0, ""},
		{"it ran until it was told to stop", untilStopped(fmt.Errorf("while waiting: %w", context.Canceled)), 0, ""},
		{"it ran until it went wrong", untilStopped(trouble), 1, "noderotation: the table cannot be read\n"},
		{"it was stopped before it was done", fmt.Errorf("while reading: %w", context.Canceled), 1, "noderotation: while reading: context canceled\n"},
		{"it went wrong", trouble, 1, "noderotation: the table cannot be read\n"},
		{"it went wrong with a status of its own", &statusError{Status: 2, Err: trouble}, 2, "noderotation: the table cannot be read\n"},
		{"the output has said it all", &statusError{Status: 1}, 1, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			g.Expect(exit(&out, "noderotation", c.err)).To(Equal(c.status))
			g.Expect(out.String()).To(Equal(c.told))
		})
	}
}

// A person reads the name that was typed.
func TestExitNamesThePluginOfKubectl(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	g.Expect(exit(&out, commandName("/usr/local/bin/kubectl-rotation"), errors.New("there is no NodePool api"))).To(Equal(1))
	g.Expect(out.String()).To(Equal("kubectl rotation: there is no NodePool api\n"))
}

// Where 1 says that something differs, no mistake of the person's says that.
func TestAWrongCommandLineIsNoAnswer(t *testing.T) {
	for _, args := range [][]string{
		{"table", "diff"}, {"table", "diff", "a", "b", "c"}, {"table", "diff", "builtin", "--lax"}, {"table", "test", "a", "b"}, {"table", "test", "--lax"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, err := run(t, args...)
			NewWithT(t).Expect(exit(io.Discard, product, err)).To(Equal(statusTrouble))
		})
	}
}
