// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"regexp"
	"slices"

	"noderotation.io/noderotation/machine"
)

// uses has the guards and effects that only one table names.
func (c *comparison) uses() (guards, effects Uses) {
	asked, done := [2][]string{}, [2][]string{}
	for side, m := range []*machine.Model{c.old, c.new} {
		for _, r := range m.Table().Rows {
			for _, condition := range r.When {
				asked[side] = append(asked[side], condition.Guard)
			}
			done[side] = append(done[side], r.Do...)
		}
	}
	return used(asked), used(done)
}

func used(names [2][]string) Uses {
	return Uses{Added: beyond(names[1], names[0]), Removed: beyond(names[0], names[1])}
}

// beyond has each name that is not among the others, once, in order.
func beyond(names, others []string) []string {
	var found []string
	for _, name := range names {
		if !slices.Contains(others, name) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// lineNumber is a place that a problem's message names.
var lineNumber = regexp.MustCompile(`line \d+`)

// laws asks both tables, each as it stands. A problem is the same one if the
// same law says the same about the same row, wherever that stands.
func (c *comparison) laws(old *machine.Model, laws []machine.Law) Laws {
	type key struct{ law, row, state, message string }
	keyed := func(p machine.Problem) key {
		row := p.Row
		if a := c.old.Table().Row(row); a != nil {
			row = cmp.Or(c.now(a).ID, row)
		}
		return key{p.Law, row, p.State, lineNumber.ReplaceAllString(p.Message, "line")}
	}
	had := map[key]int{}
	before := old.Check(laws)
	for _, p := range before {
		had[keyed(p)]++
	}
	var l Laws
	for _, p := range c.new.Check(laws) {
		k := key{p.Law, p.Row, p.State, lineNumber.ReplaceAllString(p.Message, "line")}
		if had[k] > 0 {
			had[k]--
			l.Kept = append(l.Kept, Breach(p))
		} else {
			l.Broken = append(l.Broken, Breach(p))
		}
	}
	for _, p := range before {
		if k := keyed(p); had[k] > 0 {
			had[k]--
			l.Mended = append(l.Mended, Breach(p))
		}
	}
	return l
}
