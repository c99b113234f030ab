// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"

	"noderotation.io/noderotation/machine"
)

// teller puts a Difference into words.
type teller struct {
	Difference
	style
}

func (t teller) page() page {
	p := page{title: t.name(t.Old) + " → " + t.name(t.New), verdict: t.verdict()}
	for _, part := range []part{
		{"What changes", t.changes()},
		{"States", t.states()},
		{"Names", t.renames()},
		{"Same meaning", t.harmless()},
		{"Guards and effects", t.uses()},
		{"Reach", t.reach()},
		{"Laws", t.laws()},
	} {
		if len(part.items) > 0 {
			p.parts = append(p.parts, part)
		}
	}
	return p
}

// verdict is the whole in a line.
func (t teller) verdict() string {
	verdict := "The meaning is the same."
	if t.Changed {
		verdict = "The meaning changes" + t.where() + "."
	}
	if n := len(t.Laws.Broken) + len(t.Laws.Kept); n > 0 {
		verdict += fmt.Sprintf(" The new table breaks %s and would be refused.", counted(n, "a law", "laws"))
	}
	return verdict
}

// counted is a number with its noun: "a law", "3 laws".
func counted(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// where names the states with a case that changes.
func (t teller) where() string {
	var states []string
	for _, e := range t.Edits {
		for _, c := range e.Cases {
			for _, s := range c.States {
				if len(c.Changes) > 0 && !slices.Contains(states, s) {
					states = append(states, s)
				}
			}
		}
	}
	if states == nil {
		return ""
	}
	return " in " + t.names(states)
}

// changes has a paragraph for each edit that changes the meaning. Edits that do
// the same to several rows share one.
func (t teller) changes() []item {
	var items []item
	shared := map[string]int{}
	for _, e := range t.Edits {
		i := item{text: t.headed(e)}
		if others := t.toldWith(e, Case.changes); !e.Changes() && e.matters() && others != nil {
			i.text += "; what comes of it is told with " + t.names(others)
			items = append(items, i)
		}
		if !e.Changes() {
			continue
		}
		for _, c := range e.Cases {
			if c.changes() {
				i.items = append(i.items, t.told(e, c))
			}
		}
		i.items = append(i.items, t.alone(e)...)
		if key, alike := t.alike(e); alike {
			if at, seen := shared[key]; seen {
				first := &items[at]
				first.text = strings.TrimSuffix(first.text, ": "+key) + ", " + t.name(e.Row) + ": " + key
				continue
			}
			shared[key] = len(items)
			i = item{text: t.name(e.Row) + ": " + key}
		}
		items = append(items, i)
	}
	return items
}

// toldWith names the rows whose edits are blamed for such cases of this row.
func (t teller) toldWith(e Edit, such func(Case) bool) []string {
	var others []string
	for _, other := range t.Edits {
		ours := func(c Case) bool { return such(c) && e.concerns(c) }
		if other.Row != e.Row && slices.ContainsFunc(other.Cases, ours) {
			others = append(others, other.Row)
		}
	}
	return others
}

// alone says what the row does in states that only one of the tables has.
func (t teller) alone(e Edit) []item {
	var items []item
	for _, w := range e.LostWays {
		items = append(items, item{text: fmt.Sprintf("fired in %s, which is gone, and led to %s", t.name(w.From), t.name(w.To))})
	}
	for _, w := range e.NewWays {
		items = append(items, item{text: fmt.Sprintf("fires in %s, which is new, and leads to %s", t.name(w.From), t.name(w.To))})
	}
	return items
}

// alike has all that there is to say of an edit that gives a row another target
// or requeue and no more, so that it can be said of several rows at once.
func (t teller) alike(e Edit) (string, bool) {
	if len(e.Cases) != 1 || len(e.What) != 1 || e.What[0] != Requeue && e.What[0] != To || e.Cases[0].Extent != Whenever {
		return "", false
	}
	return t.aspects(e.Cases[0])[0].text, true
}

var editWords = map[string]string{
	From: "states", When: "guards", Moved: "place in the order", To: "target", Do: "effects", Requeue: "requeue",
}

// matters reports whether more of the row is edited than its names.
func (e Edit) matters() bool {
	return slices.ContainsFunc(e.What, func(what string) bool { return what == Added || what == Removed || editWords[what] != "" })
}

// headed says what was done to a row: "pending-held: target and effects".
func (t teller) headed(e Edit) string {
	switch {
	case e.Is(Added):
		return t.name(e.Row) + ": a new row"
	case e.Is(Removed):
		return t.name(e.Row) + ": the row is gone"
	}
	var words []string
	for _, what := range e.What {
		if word, matters := editWords[what]; matters {
			words = append(words, word)
		}
	}
	name := t.name(e.Row)
	if e.Was != "" {
		name += ", which was " + t.name(e.Was)
	}
	return name + ": other " + listed(words, " and ")
}

// told says what becomes of some cases.
func (t teller) told(e Edit, c Case) item {
	states := t.names(c.States)
	if c.Old != nil && c.New != nil && e.Row == c.New.Row && (c.Old.Row == e.Row || c.Old.Row == e.Was) {
		extent := "whenever it fires"
		if c.Extent != Whenever {
			extent = "where it fires as before"
		}
		return item{states + ", " + extent, t.aspects(c)}
	}
	change := "was " + t.fired(c.Old) + ", now " + t.fired(c.New) + t.otherwise(c)
	if c.Extent != Part && c.Old != nil {
		return item{text: fmt.Sprintf("%s, wherever %s fired: %s", states, t.name(c.Old.Row), change)}
	}
	cover, unless := c.When, ""
	if c.Brief != nil {
		cover, unless = c.Brief, ", unless an earlier row fires"
	}
	if len(cover) == 1 {
		return item{text: fmt.Sprintf("%s, %s%s: %s", states, t.clause(cover[0]), unless, change)}
	}
	i := item{text: fmt.Sprintf("%s, in each of these cases%s: %s", states, unless, change)}
	for _, clause := range cover {
		i.items = append(i.items, item{text: t.clause(clause)})
	}
	return i
}

// fired names a row with its target.
func (t teller) fired(f *Fired) string {
	if f == nil {
		return "no row"
	}
	return t.name(f.Row) + " → " + t.name(f.To)
}

// otherwise says what differs where the target does not.
func (t teller) otherwise(c Case) string {
	if slices.Contains(c.Changes, To) || len(c.Changes) == 0 {
		return ""
	}
	var words []string
	for _, what := range c.Changes {
		words = append(words, editWords[what])
	}
	return ", with other " + listed(words, " and ")
}

// aspects says what of a row's own is now otherwise.
func (t teller) aspects(c Case) []item {
	var items []item
	for _, what := range c.Changes {
		switch what {
		case To:
			items = append(items, item{text: "leads to " + t.name(c.New.To) + ", was " + t.name(c.Old.To)})
		case Do:
			items = append(items, t.effects(c.Old.Do, c.New.Do)...)
		case Requeue:
			items = append(items, item{text: fmt.Sprintf("requeue %s, was %s", c.New.Requeue, c.Old.Requeue)})
		}
	}
	return items
}

// effects tells lists apart: in one line with marks if much is common, else one
// below the other.
func (t teller) effects(was, now []string) []item {
	steps, common := compared(was, now)
	if 2*common >= max(len(was), len(now)) {
		words := make([]string, len(steps))
		for i, s := range steps {
			words[i] = t.name(s.mark + s.effect)
		}
		return []item{{text: "does " + strings.Join(words, ", ")}}
	}
	return []item{{text: "did " + t.orNothing(was)}, {text: "does " + t.orNothing(now)}}
}

func (t teller) orNothing(effects []string) string {
	if len(effects) == 0 {
		return "nothing"
	}
	return t.names(effects)
}

// clause joins conditions: "when the key is turned and nobody pushes".
func (t teller) clause(c Clause) string {
	if len(c) == 0 {
		return "always"
	}
	words := make([]string, len(c))
	for i, condition := range c {
		words[i] = t.condition(condition)
	}
	return "when " + listed(words, t.and)
}

// condition is the phrase of its guard, or the condition itself.
func (t teller) condition(c machine.Condition) string {
	if phrase := t.guards[c.Guard].Says(c.Not); phrase != "" {
		return phrase
	}
	return t.name(c.String())
}

// listed joins words for a sentence: "a, b and c".
func listed(words []string, and string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + and + words[last]
}
