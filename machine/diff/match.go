// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"noderotation.io/noderotation/machine"
)

// pairing is which row of the new table a row of the old one has become.
type pairing struct {
	became map[*machine.Row]*machine.Row
	was    map[*machine.Row]*machine.Row
}

// paired matches rows by id; then what is left by all that a row means, and by
// what makes it the same row under another name: its event, or its guards.
func paired(old, now *machine.Table) pairing {
	p := pairing{map[*machine.Row]*machine.Row{}, map[*machine.Row]*machine.Row{}}
	for _, same := range []func(a, b *machine.Row) bool{
		func(a, b *machine.Row) bool { return a.ID == b.ID },
		func(a, b *machine.Row) bool { return sameFrom(a, b) && sameWhen(a, b) && len(changes(a, b)) == 0 },
		func(a, b *machine.Row) bool { return sameFrom(a, b) && a.Event == b.Event },
		func(a, b *machine.Row) bool { return sameFrom(a, b) && sameWhen(a, b) },
	} {
		for i := range old.Rows {
			for j := range now.Rows {
				a, b := &old.Rows[i], &now.Rows[j]
				if p.became[a] == nil && p.was[b] == nil && same(a, b) {
					p.became[a], p.was[b] = b, a
				}
			}
		}
	}
	return p
}

func sameFrom(a, b *machine.Row) bool { return sameSet(a.From, b.From) }

func sameWhen(a, b *machine.Row) bool { return sameSet(a.When, b.When) }

// sameSet compares lists whose order and repetitions mean nothing.
func sameSet[T comparable](a, b []T) bool {
	in := func(list []T) func(T) bool { return func(v T) bool { return !slices.Contains(list, v) } }
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// changes has what of a fired row's meaning differs. No row is nil.
func changes(a, b *machine.Row) []string {
	switch {
	case a == nil && b == nil:
		return nil
	case a == nil || b == nil:
		return []string{To, Do, Requeue}
	}
	var differ []string
	if a.To != b.To {
		differ = append(differ, To)
	}
	if !slices.Equal(a.Do, b.Do) {
		differ = append(differ, Do)
	}
	if a.Requeue != b.Requeue {
		differ = append(differ, Requeue)
	}
	return differ
}

// moved has those rows, by what they are in the new table, that do not stand in
// the old order: the fewest without which the rest does.
func (p pairing) moved(old, now []*machine.Row) map[*machine.Row]bool {
	var order []*machine.Row // the old ones that still stand in the state, in the new order
	for _, b := range now {
		if a := p.was[b]; a != nil && slices.Contains(old, a) {
			order = append(order, a)
		}
	}
	// The longest run that rises in the old table stays; length[i] is that of the best one from i on.
	length, next := make([]int, len(order)), make([]int, len(order))
	start := -1
	for i := len(order) - 1; i >= 0; i-- {
		length[i], next[i] = 1, -1
		for j := i + 1; j < len(order); j++ {
			if slices.Index(old, order[i]) < slices.Index(old, order[j]) && length[j]+1 > length[i] {
				length[i], next[i] = length[j]+1, j
			}
		}
		if start < 0 || length[i] >= length[start] {
			start = i
		}
	}
	stays := map[*machine.Row]bool{}
	for i := start; i >= 0; i = next[i] {
		stays[order[i]] = true
	}
	moved := map[*machine.Row]bool{}
	for _, a := range order {
		if !stays[a] {
			moved[p.became[a]] = true
		}
	}
	return moved
}

// aligned is the old table with the names of the new one for the states that
// are called otherwise, and what those were.
func aligned(old, now *machine.Table) (*machine.Table, []Rename) {
	renames := renamed(old, now)
	if renames == nil {
		return old, nil
	}
	name := func(state string) string {
		if i := slices.IndexFunc(renames, func(r Rename) bool { return r.Old == state }); i >= 0 {
			return renames[i].New
		}
		return state
	}
	t := *old
	t.Initial = name(old.Initial)
	t.States, t.Rows = slices.Clone(old.States), slices.Clone(old.Rows)
	for i := range t.States {
		t.States[i].Name = name(t.States[i].Name)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		r.From, r.To = slices.Clone(r.From), name(r.To)
		for j := range r.From {
			r.From[j] = name(r.From[j])
		}
	}
	return &t, renames
}

// renamed pairs states that only one of the tables has, by their rows.
func renamed(old, now *machine.Table) []Rename {
	var renames []Rename
	for _, s := range old.States {
		if _, kept := now.State(s.Name); kept {
			continue
		}
		i := slices.IndexFunc(now.States, func(n machine.State) bool {
			_, known := old.State(n.Name)
			taken := slices.ContainsFunc(renames, func(r Rename) bool { return r.New == n.Name })
			return !known && !taken && alike(old.RowsFrom(s.Name), now.RowsFrom(n.Name))
		})
		if i >= 0 {
			renames = append(renames, Rename{s.Name, now.States[i].Name})
		}
	}
	return renames
}

// alike reports whether most rows of a state are those of another one, by id.
func alike(a, b []*machine.Row) bool {
	common := 0
	for _, r := range a {
		if slices.ContainsFunc(b, func(o *machine.Row) bool { return o.ID == r.ID }) {
			common++
		}
	}
	return 2*common > max(len(a), len(b))
}
