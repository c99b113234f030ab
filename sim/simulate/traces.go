// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"time"
)

// stampLength is that of the time that a line of a trace begins with.
const stampLength = len(time.DateTime)

// trace gives each rotation the lines of the trace that tell of its pool, from its start to its end.
func (r *Result) trace(lines []string) {
	byPool := map[string][]*Rotation{}
	for _, rotation := range r.Rotations {
		byPool[rotation.Pool] = append(byPool[rotation.Pool], rotation)
	}
	pools := map[string]string{}
	for _, life := range r.Lives {
		pools[life.Claim] = life.Pool
	}
	var open *Rotation
	for _, line := range lines {
		if strings.HasPrefix(line, "  ") {
			if open != nil {
				open.Trace = append(open.Trace, line)
			}
			continue
		}
		open = nil
		at, err := time.Parse(time.DateTime, line[:stampLength])
		if err != nil {
			continue
		}
		for _, pool := range about(line[stampLength:], pools, byPool) {
			if open = current(byPool, pool, at); open != nil {
				open.Trace = append(open.Trace, line)
				break
			}
		}
	}
}

// about are the pools that a line speaks of: by name, or by the name of a claim.
func about(line string, pools map[string]string, byPool map[string][]*Rotation) []string {
	var found []string
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" :,;()/", r) }) {
		if pool, is := pools[word]; is {
			found = append(found, pool)
		} else if _, is := byPool[word]; is {
			found = append(found, word)
		}
	}
	return found
}

// current is the pool's rotation at that moment. The list shrinks as the trace goes on: it is in order.
func current(byPool map[string][]*Rotation, pool string, at time.Time) *Rotation {
	list := byPool[pool]
	for len(list) > 0 && list[0].End != nil && list[0].End.Before(at) {
		list = list[1:]
	}
	byPool[pool] = list
	if len(list) == 0 || at.Before(list[0].Start) {
		return nil
	}
	return list[0]
}
