// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"time"
)

// trace gives each rotation the lines of the trace that tell of its pool, from the pass that began it to the one that
// ended it.
func (r *Result) trace(lines []string) {
	pools := map[string]string{}
	for _, pool := range r.Pools {
		pools[pool.Name] = pool.Name
	}
	for _, life := range r.Lives {
		pools[life.Claim] = life.Pool
	}
	for _, rotation := range r.Rotations {
		last := len(lines)
		if rotation.End != nil {
			last = blockEnd(lines, rotation.last)
		}
		within := false
		for _, line := range lines[rotation.first:last] {
			if !strings.HasPrefix(line, indent) {
				within = about(line, rotation.Pool, pools)
			}
			if within {
				rotation.Trace = append(rotation.Trace, line)
			}
		}
	}
}

// indent is before each line of a pass but its first, which begins with the time.
const indent = "  "

// blockEnd is behind the pass that begins at that line.
func blockEnd(lines []string, begin int) int {
	end := begin + 1
	for end < len(lines) && strings.HasPrefix(lines[end], indent) {
		end++
	}
	return min(end, len(lines))
}

// about tells whether a line speaks of the pool, by its name or by that of a claim.
func about(line, pool string, pools map[string]string) bool {
	text := line[min(len(time.DateTime), len(line)):]
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :,;()/", r) }) {
		if pools[word] == pool {
			return true
		}
	}
	return false
}
