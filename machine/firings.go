// SPDX-License-Identifier: Apache-2.0

package machine

// Firing is a set of cases in which one row fires.
type Firing struct {
	State string
	// Row fires; nil if no row of the state does.
	Row *Row
	// Facts describes the cases: all that share them, and no others.
	Facts Facts
}

// Firings parts all consistent cases of a state by the row that fires in them:
// each truth assignment of the guards that the declarations allow belongs to
// exactly one firing. Guards named in extra are known in every firing; others
// only as far as they decided it.
//
// The work grows with the number of firings, at most two to the number of the
// state's guards.
func (m *Model) Firings(state string, extra ...string) []Firing {
	p := &partition{logic: m.logic, state: state, rows: m.rows[state], extra: extra}
	p.try(0, 0, m.logic.nothing())
	return p.firings
}

// partition walks the rows as a pass does, and at every condition that is not
// yet known goes both ways.
type partition struct {
	logic   *logic
	state   string
	rows    []*Row
	extra   []string
	firings []Firing
}

// try goes on at a row's condition, in the cases of f, in which the row's
// earlier conditions hold and the rows before it do not fire.
func (p *partition) try(row, condition int, f Facts) {
	if row == len(p.rows) {
		p.emit(nil, p.extra, f)
		return
	}
	r := p.rows[row]
	for ; condition < len(r.When); condition++ {
		c := r.When[condition]
		satisfied, known := f.Known(c)
		if known && satisfied {
			continue
		}
		if closed, ok := p.logic.assume(f, c.Negated()); ok {
			p.try(row+1, 0, closed)
		}
		open, ok := p.logic.assume(f, c)
		if !ok {
			return
		}
		f = open
	}
	p.emit(r, p.extra, f)
}

// emit records a firing, once for each way in which the extra guards can turn out.
func (p *partition) emit(r *Row, extra []string, f Facts) {
	for len(extra) > 0 {
		if _, known := f.Known(Is(extra[0])); !known && p.logic.literal(Is(extra[0])) >= 0 {
			break
		}
		extra = extra[1:]
	}
	if len(extra) == 0 {
		p.firings = append(p.firings, Firing{State: p.state, Row: r, Facts: f})
		return
	}
	for _, c := range []Condition{Is(extra[0]), IsNot(extra[0])} {
		if next, ok := p.logic.assume(f, c); ok {
			p.emit(r, extra[1:], next)
		}
	}
}
