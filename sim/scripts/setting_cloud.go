// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"noderotation.io/noderotation/sim"
)

func changeKarpenter(s *Setting, c clause) error { return karpenterProperties.set(s, c) }

var karpenterProperties = properties[*Setting]{
	"launch":      spanned(func(s *Setting, d time.Duration) { s.Karpenter.Launch = sim.Delay{Base: d} }),
	"register":    spanned(func(s *Setting, d time.Duration) { s.Karpenter.Register = sim.Delay{Base: d} }),
	"initialize":  spanned(func(s *Setting, d time.Duration) { s.Karpenter.Initialize = sim.Delay{Base: d} }),
	"finish":      spanned(func(s *Setting, d time.Duration) { s.Karpenter.Finish = sim.Delay{Base: d} }),
	"unavailable": spanned(func(s *Setting, d time.Duration) { s.Karpenter.Unavailable = d }),
	"zones":       listed(func(s *Setting, zones []string) error { s.Karpenter.Zones = zones; return nil }),
	"consolidate": consolidate,
	"shortage":    shortage,
	"slow":        slow,
}

// consolidate reads `consolidate after 5m`, with `underutilized` before it where it is not of empty nodes alone.
func consolidate(s *Setting, args []string) error {
	if len(args) > 0 && args[0] == "underutilized" {
		s.Karpenter.Underutilized, args = true, args[1:]
	}
	if len(args) != 2 || args[0] != "after" {
		return errors.New("write `consolidate after 5m` or `consolidate underutilized after 5m`")
	}
	return spanned(func(s *Setting, d time.Duration) { s.Karpenter.ConsolidateAfter = d })(s, args[1:])
}

// shortage reads `shortage from 0s until 40m`, with `in ZONE` behind where it is of one zone.
func shortage(s *Setting, args []string) error {
	zone := ""
	if len(args) == 6 && args[4] == "in" {
		zone, args = args[5], args[:4]
	}
	from, until, err := between(args)
	if err != nil {
		return fmt.Errorf("write `shortage from 0s until 40m`, with `in a` behind it for one zone: %w", err)
	}
	s.Karpenter.Shortages = append(s.Karpenter.Shortages, sim.Shortage{Zone: zone, From: s.Start.Add(from), Until: s.Start.Add(until)})
	return nil
}

// slow reads `slow from 0s until 10m by 14m`.
func slow(s *Setting, args []string) error {
	if len(args) != 6 || args[4] != "by" {
		return errors.New("write `slow from 0s until 10m by 14m`")
	}
	from, until, err := between(args[:4])
	if err != nil {
		return err
	}
	extra, err := span(args[5])
	if err != nil {
		return err
	}
	s.Karpenter.Slow = append(s.Karpenter.Slow, sim.Slowness{From: s.Start.Add(from), Until: s.Start.Add(until), Extra: extra})
	return nil
}

// between reads `from 0s until 40m`.
func between(args []string) (from, until time.Duration, err error) {
	if len(args) != 4 || args[0] != "from" || args[2] != "until" {
		return 0, 0, fmt.Errorf("%q is no span of time such as `from 0s until 40m`", strings.Join(args, " "))
	}
	if from, err = span(args[1]); err != nil {
		return 0, 0, err
	}
	until, err = span(args[3])
	return from, until, err
}

func changeProcess(s *Setting, c clause) error { return processProperties.set(s, c) }

var processProperties = properties[*Setting]{
	"absent": flagged(func(s *Setting) { s.Process.Absent = true }),
	"lag":    spanned(func(s *Setting, d time.Duration) { s.Process.Lag = d }),
}
