// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
)

// A lease that is let go on the way out is no error; one that is lost is, and so is every other error.
func TestTheEndIsQuiet(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	ctx, stop := context.WithCancel(t.Context())
	log := quietEnd(ctx, funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{})).WithName("manager").WithValues("a", 1)
	said := func(err error) string {
		lines = nil
		log.Error(err, "error received after stop sequence was engaged")
		g.Expect(lines).To(HaveLen(1))
		return lines[0]
	}

	g.Expect(said(errors.New(leaseLost))).To(HavePrefix(`manager "msg"="error received`))
	stop()
	g.Expect(said(errors.New(leaseLost))).To(Equal(`manager "level"=0 "msg"="the lease is let go" "a"=1`))
	g.Expect(said(errors.New("the disk is full"))).To(ContainSubstring(`"error"="the disk is full"`))
	g.Expect(said(nil)).To(HavePrefix(`manager "msg"="error received`))
}
