// SPDX-License-Identifier: Apache-2.0

package graph

import "strings"

// otherwise stands where a row has no conditions.
const otherwise = "otherwise"

// title is the row's name with its sign and its note.
func (e Edge) title() string {
	words := []string{}
	for _, word := range []string{e.Kind.sign(), e.Row, e.Note.Text} {
		if word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// conditions are the row's conditions in lines of at most so many characters.
func (e Edge) conditions(most int) []string {
	if len(e.When) == 0 {
		return []string{otherwise}
	}
	entries := make([]string, len(e.When))
	for i, c := range e.When {
		entries[i] = c
		if i < len(e.When)-1 {
			entries[i] += ","
		}
	}
	return wrap(entries, most)
}

// wrap joins words with spaces into lines of at most so many characters; a longer word has a line of its own.
func wrap(words []string, most int) []string {
	var lines []string
	for _, word := range words {
		last := len(lines) - 1
		if last >= 0 && width(lines[last])+1+width(word) <= most {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// balanced is wrap with lines of about one length: no last word stands alone.
func balanced(words []string, most int) []string {
	lines := wrap(words, most)
	for narrower := most - 1; narrower > most/2; narrower-- {
		next := wrap(words, narrower)
		if len(next) > len(lines) {
			break
		}
		lines = next
	}
	return lines
}

// width is the number of characters.
func width(text string) int { return len([]rune(text)) }
