// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"
	"unicode/utf8"
)

const (
	columnGap = 2
	// leastColumn is how narrow a column may get for the sake of the page.
	leastColumn = 8
)

// columns lays rows out below their heads. Where they are wider than the page, the widest columns give way, and what does
// not fit is left out in its middle: names differ at their ends. A page of width 0 has no end.
func columns(width int, rows ...[]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for width > 0 && total(widths) > width {
		if !narrow(widths, rows[0]) {
			break
		}
	}
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(padded(elided(cell, widths[i]), widths[i]+columnGap))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func total(widths []int) int {
	sum := columnGap * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// narrow takes a character from the widest column; false when none can give one.
func narrow(widths []int, heads []string) bool {
	widest := -1
	for i, w := range widths {
		if w > max(leastColumn, utf8.RuneCountInString(heads[i])) && (widest < 0 || w > widths[widest]) {
			widest = i
		}
	}
	if widest < 0 {
		return false
	}
	widths[widest]--
	return true
}

// elided leaves out the middle of a text that is too long.
func elided(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := (most - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-1-head):])
}
