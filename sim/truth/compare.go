// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Against puts the scenario and what came of it side by side, step by step: what must come on the left, what came on the
// right, and a mark between lines that differ. It is empty where nothing does.
func (s *Scenario) Against(played *Scenario) string {
	var table strings.Builder
	differs := len(played.Steps) < len(s.Steps)
	for i, step := range played.Steps {
		must, came := s.Steps[i].Trace, step.Trace
		differs = differs || !slices.Equal(must, came)
		fmt.Fprintf(&table, "> %s\n", step.Text)
		for n := range max(len(must), len(came)) {
			left, right := lineOf(must, n), lineOf(came, n)
			mark := " "
			if left != right {
				mark = "≠"
			}
			gap := strings.Repeat(" ", max(1, columnWidth-utf8.RuneCountInString(left)))
			fmt.Fprintf(&table, "  %s%s%s %s\n", left, gap, mark, right)
		}
	}
	if !differs {
		return ""
	}
	return table.String()
}

const columnWidth = 60

func lineOf(lines []string, n int) string {
	if n >= len(lines) {
		return "—"
	}
	return lines[n]
}
