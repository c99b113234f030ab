// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
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
		{"it was told to stop", fmt.Errorf("while waiting: %w", context.Canceled), 0, ""},
		{"it went wrong", trouble, 1, "noderotation: the table cannot be read\n"},
		{"it went wrong with a status of its own", &statusError{Status: 2, Err: trouble}, 2, "noderotation: the table cannot be read\n"},
		{"the output has said it all", &statusError{Status: 1}, 1, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			g := NewWithT(t)
			var out strings.Builder
			g.Expect(exit(&out, c.err)).To(Equal(c.status))
			g.Expect(out.String()).To(Equal(c.told))
		})
	}
}
