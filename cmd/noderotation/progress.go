// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// progress is a bar on a terminal, shown once a run has lasted for a while. Anywhere else it is silent.
type progress struct {
	out   io.Writer
	clock clock.PassiveClock
	began time.Time
	shown bool
}

// patience is how long a run may last without a word.
const patience = 700 * time.Millisecond

func newProgress(out io.Writer, c clock.PassiveClock) *progress {
	if !terminal(out) {
		out = nil
	}
	return &progress{out: out, clock: c, began: c.Now()}
}

// show draws the bar for a part of the run, from 0 to 1. A bar that cannot be drawn is no reason to stop.
func (p *progress) show(part float64) {
	const width = 40
	passed := p.clock.Since(p.began)
	if p.out == nil || passed < patience || part <= 0 {
		return
	}
	p.shown = true
	full := int(part * width)
	left := time.Duration(float64(passed) * (1 - part) / part).Round(time.Second)
	_, _ = fmt.Fprintf(p.out, "\r[%s%s] %3.0f%%, %s left ", strings.Repeat("█", full), strings.Repeat("·", width-full), part*100, left)
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// terminal tells whether a writer is one.
func terminal(out io.Writer) bool {
	file, is := out.(*os.File)
	if !is {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
