// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is a step whose trace is not the one that was expected.
type Difference struct {
	// File and Line of the step, and its Text.
	File string
	Line int
	Text string
	// Lines of both traces: with "- " those expected, with "+ " those that came, with "  " those in both. Far from
	// what differs, those in both are left out.
	Lines []string
}

// String writes the difference for a person.
func (d Difference) String() string {
	return fmt.Sprintf("%s:%d: %s %s\n    %s", d.File, d.Line, stepMark, d.Text, strings.Join(d.Lines, "\n    "))
}

// Differences compares a document's traces with those that came of it when it was played, step by step.
func (d *Document) Differences(played *Document) []Difference {
	var found []Difference
	for i, step := range d.Steps {
		if i >= len(played.Steps) {
			break
		}
		if was, is := step.Trace, played.Steps[i].Trace; !slices.Equal(was, is) {
			found = append(found, Difference{d.File, step.Line, step.Text, nearby(compared(was, is))})
		}
	}
	return found
}

// around is how many lines around a differing one are shown.
const around = 2

// nearby leaves out the lines that are far from every difference.
func nearby(lines []string) []string {
	var near []string
	for i, line := range lines {
		neighbours := lines[max(0, i-around):min(len(lines), i+around+1)]
		switch {
		case slices.ContainsFunc(neighbours, func(l string) bool { return !strings.HasPrefix(l, "  ") }):
			near = append(near, line)
		case len(near) == 0 || near[len(near)-1] != leftOut:
			near = append(near, leftOut)
		}
	}
	return near
}

const leftOut = "  …"

// compared puts two texts side by side by their longest common subsequence.
func compared(was, is []string) []string {
	common := make([][]int, len(was)+1)
	for i := range common {
		common[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(was) || j < len(is) {
		switch {
		case i < len(was) && j < len(is) && was[i] == is[j]:
			lines = append(lines, "  "+was[i])
			i, j = i+1, j+1
		case i < len(was) && (j == len(is) || common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "- "+was[i])
			i++
		default:
			lines = append(lines, "+ "+is[j])
			j++
		}
	}
	return lines
}
