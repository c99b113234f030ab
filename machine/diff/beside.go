// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"
	"strings"
)

// states tells of states that came, went, or are called otherwise.
func (t teller) states() []item {
	var items []item
	if t.Initial != nil {
		items = append(items, item{text: fmt.Sprintf("the initial state is %s, was %s", t.name(t.Initial.New), t.name(t.Initial.Old))})
	}
	for _, r := range t.States.Renamed {
		items = append(items, item{text: fmt.Sprintf("%s is now called %s: whatever holds the state must, too", t.name(r.Old), t.name(r.New))})
	}
	for _, s := range t.States.Added {
		items = append(items, item{text: t.name(s) + " is new"})
	}
	for _, s := range t.States.Removed {
		items = append(items, item{text: t.name(s) + " is gone: nothing may be in it when the table changes"})
	}
	return items
}

// renames tells of ids and events: people and programs know rows by them.
func (t teller) renames() []item {
	var items []item
	for _, e := range t.Edits {
		if e.Was != "" {
			items = append(items, item{text: fmt.Sprintf("%s is now called %s; ids are public: logs, metrics and alerts name rows by them", t.name(e.Was), t.name(e.Row))})
		}
		if e.WasEvent != "" {
			items = append(items, item{text: fmt.Sprintf("the event of %s is now called %s, was %s", t.name(e.Row), t.name(e.Event), t.name(e.WasEvent))})
		}
		for _, c := range e.Cases {
			if !c.changes() {
				items = append(items, t.told(e, c))
			}
		}
	}
	return items
}

// harmless tells of edits that change no case, and are not told of with one either.
func (t teller) harmless() []item {
	var items []item
	var reworded []string
	add := func(e Edit, format string) { items = append(items, item{text: fmt.Sprintf(format, t.name(e.Row))}) }
	for _, e := range t.Edits {
		if e.Is(Reworded) {
			reworded = append(reworded, e.Row)
		}
		if len(e.Cases) > 0 || e.Changes() || !e.matters() || t.toldWith(e, Case.changes) != nil {
			continue
		}
		if t.toldWith(e, func(Case) bool { return true }) != nil {
			items = append(items, item{text: t.headed(e) + ", to the same end"})
			continue
		}
		switch {
		case e.Is(Added):
			add(e, "%s is a new row, and never fires")
		case e.Is(Removed):
			add(e, "%s is gone, and never fired")
		}
		if e.Is(When) {
			add(e, "%s asks other guards, and fires in the same cases")
		}
		if e.Is(Moved) {
			add(e, "%s stands elsewhere, and everything fires in the same cases")
		}
		if e.Is(From) {
			add(e, "%s is tried in other states, to the same end")
		}
		if e.Is(To) || e.Is(Do) || e.Is(Requeue) {
			add(e, "%s is another row, and fires in no case that both tables know")
		}
	}
	if reworded = append(reworded, t.States.Reworded...); len(reworded) > 0 {
		items = append(items, item{text: "reworded: " + t.names(reworded)})
	}
	return items
}

func (t teller) uses() []item {
	var items []item
	for _, u := range []struct {
		text  string
		names []string
	}{
		{"newly asked: ", t.Guards.Added},
		{"no longer asked: ", t.Guards.Removed},
		{"newly done: ", t.Effects.Added},
		{"no longer done: ", t.Effects.Removed},
	} {
		if len(u.names) > 0 {
			items = append(items, item{text: u.text + t.names(u.names)})
		}
	}
	return items
}

func (t teller) reach() []item {
	ways := func(ways []Way) []string {
		var words []string
		for _, w := range ways {
			words = append(words, t.name(w.From)+" → "+t.name(w.To))
		}
		return words
	}
	set := func(names []string) []string {
		var words []string
		for _, n := range names {
			words = append(words, t.name(n))
		}
		return words
	}
	var items []item
	for _, r := range []struct {
		text  string
		words []string
	}{
		{"new ways: ", ways(t.Reach.NewWays)},
		{"lost ways: ", ways(t.Reach.LostWays)},
		{"states that can now be entered: ", set(t.Reach.NewStates)},
		{"states that can no longer be entered: ", set(t.Reach.LostStates)},
		{"rows that can now fire: ", set(t.Reach.NewRows)},
		{"rows that can no longer fire: ", set(t.Reach.LostRows)},
		{"new rows that can never fire: ", set(t.Reach.DeadRows)},
	} {
		if len(r.words) > 0 {
			items = append(items, item{text: r.text + strings.Join(r.words, ", ")})
		}
	}
	return items
}

func (t teller) laws() []item {
	var items []item
	for _, l := range []struct {
		text     string
		breaches []Breach
	}{
		{"broken now", t.Laws.Broken},
		{"broken before and now", t.Laws.Kept},
		{"mended", t.Laws.Mended},
	} {
		if len(l.breaches) == 0 {
			continue
		}
		i := item{text: l.text}
		for _, b := range l.breaches {
			i.items = append(i.items, item{text: b.String()})
		}
		items = append(items, i)
	}
	return items
}

// step is an effect of one list or of both.
type step struct{ mark, effect string }

// compared lays two lists side by side by their longest common subsequence, and
// says how long that is.
func compared(was, now []string) (steps []step, common int) {
	longest := make([][]int, len(was)+1)
	for i := range longest {
		longest[i] = make([]int, len(now)+1)
	}
	for i := range slices.Backward(was) {
		for j := range slices.Backward(now) {
			if was[i] == now[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(was) || j < len(now) {
		switch {
		case i < len(was) && j < len(now) && was[i] == now[j]:
			steps = append(steps, step{"", was[i]})
			i, j = i+1, j+1
		case i < len(was) && (j == len(now) || longest[i+1][j] >= longest[i][j+1]):
			steps = append(steps, step{"-", was[i]})
			i++
		default:
			steps = append(steps, step{"+", now[j]})
			j++
		}
	}
	return steps, longest[0][0]
}
