// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"noderotation.io/noderotation"
)

// edit is a small change of a table's text. It fails the spec if what it changes is not there, so that no spec goes on
// with a table it did not mean.
type edit func(text string) string

// edited is the embedded table with the edits made in order.
func edited(edits ...edit) string {
	text := string(noderotation.Transitions)
	for _, e := range edits {
		text = e(text)
	}
	return text
}

// rowText is the text of a row: from its id to the next empty line.
func rowText(text, id string) string {
	start := strings.Index(text, "- id: "+id+"\n")
	if start < 0 {
		Fail("the table has no row " + id)
	}
	block, _, _ := strings.Cut(text[start:], "\n\n")
	return strings.TrimSuffix(block, "\n")
}

// once replaces what must occur exactly once.
func once(text, old, replacement string) string {
	if strings.Count(text, old) != 1 {
		Fail("not exactly once in the text: " + old)
	}
	return strings.Replace(text, old, replacement, 1)
}

// replacing puts a text in the place of another one in a row.
func replacing(id, old, replacement string) edit {
	return func(text string) string {
		block := rowText(text, id)
		return once(text, block, once(block, old, replacement))
	}
}

// withInitial names another initial state.
func withInitial(state string) edit {
	return func(text string) string { return once(text, "initial: idle\n", "initial: "+state+"\n") }
}

// without takes a row out.
func without(id string) edit {
	return func(text string) string { return once(text, rowText(text, id)+"\n", "") }
}

// moving puts a row directly before another one.
func moving(id, before string) edit {
	return func(text string) string {
		block := rowText(text, id)
		text = without(id)(text)
		return once(text, "- id: "+before+"\n", block+"\n\n- id: "+before+"\n")
	}
}

// relisting changes the entries of a row's `when` or `do`.
func relisting(id, key string, change func([]string) []string) edit {
	form := regexp.MustCompile(`(?s)\n  ` + key + `: \[([^\]]*)\]`)
	return func(text string) string {
		block := rowText(text, id)
		found := form.FindStringSubmatch(block)
		if found == nil {
			Fail("row " + id + " has no " + key)
		}
		var entries []string
		for entry := range strings.SplitSeq(found[1], ",") {
			if entry = strings.TrimSpace(entry); entry != "" {
				entries = append(entries, entry)
			}
		}
		changed := "\n  " + key + ": [" + strings.Join(change(entries), ", ") + "]"
		return once(text, block, once(block, found[0], changed))
	}
}

// dropping takes entries out of a row's list.
func dropping(id, key string, entries ...string) edit {
	return relisting(id, key, func(list []string) []string {
		for _, entry := range entries {
			i := slices.Index(list, entry)
			if i < 0 {
				Fail("row " + id + " has no entry " + entry)
			}
			list = slices.Delete(list, i, i+1)
		}
		return list
	})
}

// putting sets an entry before another one of a row's list, at its end where that is empty.
func putting(id, key, entry, before string) edit {
	return relisting(id, key, func(list []string) []string {
		if before == "" {
			return append(list, entry)
		}
		i := slices.Index(list, before)
		if i < 0 {
			Fail("row " + id + " has no entry " + before)
		}
		return slices.Insert(list, i, entry)
	})
}

// lineOf is the line of a key of a row, and the line of the row itself where it lacks the key.
func lineOf(text, id, key string) int {
	line := func(part string) int {
		before, _, _ := strings.Cut(text, part)
		return strings.Count(before, "\n") + 1
	}
	if id == "" {
		return line(key + ":")
	}
	block := rowText(text, id)
	before, _, found := strings.Cut(block, "\n  "+key+":")
	if !found {
		return line(block)
	}
	return line(block) + strings.Count(before, "\n") + 1
}
