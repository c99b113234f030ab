// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"noderotation.io/noderotation/sim/simulate"
)

// troubleFlags are the command line's short form of a `kind: Trouble`.
type troubleFlags struct {
	chance                        float64
	slowProvisioning, slowDrains  string
	shortages, outages, blockades []string
}

func (f *troubleFlags) bind(set *pflag.FlagSet) {
	set.Float64Var(&f.chance, "shortage-chance", 0, "chance from 0 to 1 that the cloud refuses a launch, during the whole run")
	set.StringArrayVar(&f.shortages, "shortage", nil, "when the cloud refuses every launch, as FROM+LENGTH after the start, such as 3d+6h; may be repeated")
	set.StringVar(&f.slowProvisioning, "slow-provisioning", "", "how much longer every launch takes, such as 10m")
	set.StringVar(&f.slowDrains, "slow-drains", "", "how long every Pod takes to end, such as 20m")
	set.StringArrayVar(&f.blockades, "blocking-budgets", nil, "when PodDisruptionBudgets allow nothing, as FROM+LENGTH; may be repeated")
	set.StringArrayVar(&f.outages, "outage", nil, "when no controller runs, as FROM+LENGTH; may be repeated")
}

// trouble is nil where no flag asks for any.
func (f *troubleFlags) trouble() (*simulate.Trouble, error) {
	t := &simulate.Trouble{}
	var problems []error
	some := false
	stretches := func(flag string, values []string, add func(simulate.Stretch)) {
		for _, value := range values {
			stretch, err := stretchOf(value)
			if err != nil {
				problems = append(problems, fmt.Errorf("--%s: %w", flag, err))
				continue
			}
			add(stretch)
			some = true
		}
	}
	span := func(flag, value string, add func(simulate.Span)) {
		if value == "" {
			return
		}
		length, err := simulate.ParseSpan(value)
		if err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", flag, err))
			return
		}
		if length == 0 {
			problems = append(problems, fmt.Errorf("--%s is %s, which makes nothing slow: write a duration such as 10m", flag, value))
			return
		}
		add(length)
		some = true
	}
	if f.chance != 0 {
		t.Shortages, some = append(t.Shortages, simulate.Shortage{Chance: &f.chance}), true
	}
	stretches("shortage", f.shortages, func(s simulate.Stretch) { t.Shortages = append(t.Shortages, simulate.Shortage{Stretch: s}) })
	stretches("outage", f.outages, func(s simulate.Stretch) { t.Outages = append(t.Outages, s) })
	stretches("blocking-budgets", f.blockades, func(s simulate.Stretch) { t.BlockingBudgets = append(t.BlockingBudgets, simulate.Blockade{Stretch: s}) })
	span("slow-provisioning", f.slowProvisioning, func(s simulate.Span) { t.SlowProvisioning = append(t.SlowProvisioning, simulate.Slowness{Extra: s}) })
	span("slow-drains", f.slowDrains, func(s simulate.Span) { t.SlowDrains = append(t.SlowDrains, simulate.SlowDrain{EndsAfter: s}) })
	if !some {
		t = nil
	}
	return t, errors.Join(problems...)
}

// stretchOf reads FROM+LENGTH.
func stretchOf(text string) (simulate.Stretch, error) {
	from, length, both := strings.Cut(text, "+")
	begins, err := simulate.ParseSpan(from)
	if err != nil || !both {
		return simulate.Stretch{}, fmt.Errorf("%q is no stretch of time: write when it begins and how long it lasts, such as 3d+6h", text)
	}
	lasts, err := simulate.ParseSpan(length)
	if err != nil {
		return simulate.Stretch{}, fmt.Errorf("%q is no stretch of time: write when it begins and how long it lasts, such as 3d+6h", text)
	}
	if lasts == 0 {
		return simulate.Stretch{}, fmt.Errorf("%q lasts no time: write when it begins and how long it lasts, such as 3d+6h", text)
	}
	return simulate.Stretch{From: simulate.After(begins), For: &lasts}, nil
}
