// SPDX-License-Identifier: Apache-2.0

package diff

import "noderotation.io/noderotation/machine"

// Way is a step from one state to another that some row can make.
type Way struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Reach is where the tables differ in what can come about at all.
type Reach struct {
	// Ways between states that both tables have.
	NewWays  []Way `json:"newWays,omitempty"`
	LostWays []Way `json:"lostWays,omitempty"`
	// States that both tables have and that can be entered in one only.
	NewStates  []string `json:"newStates,omitempty"`
	LostStates []string `json:"lostStates,omitempty"`
	// Rows that both tables have and that can fire in one only; by new id.
	NewRows  []string `json:"newRows,omitempty"`
	LostRows []string `json:"lostRows,omitempty"`
	// DeadRows are new, and can never fire.
	DeadRows []string `json:"deadRows,omitempty"`
}

// note keeps which rows can fire in a state, and where they lead.
func (c *comparison) note(side int, m *machine.Model, state string, rows []*machine.Row, fires []set) {
	for i, r := range rows {
		if fires[i] == none {
			continue
		}
		c.fired[r] = true
		c.ways[side][Way{state, r.To}] = true
		if m.Returns(r) {
			c.ways[side][Way{state, m.Table().Initial}] = true
		}
	}
}

// alone notes the states that only one table has, and what each row does there.
func (c *comparison) alone(side int, m, other *machine.Model) {
	for _, s := range m.Table().States {
		if _, common := other.Table().State(s.Name); common {
			continue
		}
		rows := m.Rows(s.Name)
		space := newSpace(c.new, rows...)
		fires := space.fires(rows)
		c.note(side, m, s.Name, rows, fires)
		for i, r := range rows {
			if fires[i] != none {
				c.aloneWay(side, r, Way{s.Name, r.To})
			}
		}
	}
}

// aloneWay tells what a row does in a state that only one table has by the edit that brings it there, or takes it away.
func (c *comparison) aloneWay(side int, r *machine.Row, w Way) {
	row := c.now(r)
	if c.edits[row] == nil {
		// A row can be tried in a state that its table lacks, which law known-names refuses: then the state came, not the row.
		c.mark(row, From)
	}
	e := c.edits[row]
	if side == 0 {
		e.LostWays = append(e.LostWays, w)
	} else {
		e.NewWays = append(e.NewWays, w)
	}
}

func (c *comparison) reach() Reach {
	var r Reach
	var common []string
	for _, name := range c.new.Table().StateNames() {
		if _, both := c.old.Table().State(name); both {
			common = append(common, name)
		}
	}
	entered := [2]map[string]bool{reachable(c.ways[0], c.old.Table().Initial), reachable(c.ways[1], c.new.Table().Initial)}
	for _, from := range common {
		for _, to := range common {
			if w := (Way{from, to}); from != to {
				apart(w, c.ways[0][w], c.ways[1][w], &r.LostWays, &r.NewWays)
			}
		}
		apart(from, entered[0][from], entered[1][from], &r.LostStates, &r.NewStates)
	}
	for i := range c.new.Table().Rows {
		b := &c.new.Table().Rows[i]
		if a := c.was[b]; a != nil {
			apart(b.ID, c.fired[a], c.fired[b], &r.LostRows, &r.NewRows)
		} else if !c.fired[b] {
			r.DeadRows = append(r.DeadRows, b.ID)
		}
	}
	return r
}

// apart puts what one table has to what was lost or to what is new.
func apart[T any](what T, old, now bool, lost, won *[]T) {
	switch {
	case old && !now:
		*lost = append(*lost, what)
	case now && !old:
		*won = append(*won, what)
	}
}

// reachable is every state that ways lead to from a start, which included.
func reachable(ways map[Way]bool, start string) map[string]bool {
	seen := map[string]bool{start: true}
	for grown := true; grown; {
		grown = false
		for w := range ways {
			if seen[w.From] && !seen[w.To] {
				seen[w.To], grown = true, true
			}
		}
	}
	return seen
}

// states has the states that differ.
func (c *comparison) states(renames []Rename) States {
	s := States{Renamed: renames}
	for _, n := range c.new.Table().States {
		switch o, common := c.old.Table().State(n.Name); {
		case !common:
			s.Added = append(s.Added, n.Name)
		case o.About != n.About:
			s.Reworded = append(s.Reworded, n.Name)
		}
	}
	for _, o := range c.old.Table().States {
		if _, common := c.new.Table().State(o.Name); !common {
			s.Removed = append(s.Removed, o.Name)
		}
	}
	return s
}

// change reports whether the states themselves are others. A name counts: what
// holds the state of a machine holds that.
func (s States) change() bool { return len(s.Added)+len(s.Removed)+len(s.Renamed) > 0 }
