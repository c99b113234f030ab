// SPDX-License-Identifier: Apache-2.0

package inspect

import "strings"

// labelWidth is how wide the labels of a block are.
const labelWidth = 12

// block is a run of lines, each with a label at its head.
type block struct{ strings.Builder }

// line writes words after a label; without a label they go on below the line before.
func (b *block) line(label, words string) {
	paragraph(&b.Builder, padded(label, labelWidth), words)
}

// item writes words as one of a list below the line before.
func (b *block) item(words string) {
	paragraph(&b.Builder, strings.Repeat(" ", labelWidth)+"- ", words)
}

// gap leaves a line empty.
func (b *block) gap() { b.WriteByte('\n') }
