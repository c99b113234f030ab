// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

func newTableShowCommand() *cobra.Command {
	var output, only string
	cmd := &cobra.Command{
		Use:   "show [FILE]",
		Short: "Show a table for reading: its rows, and what every guard and effect in it stands for",
		Long: "Show the table in FILE, - for standard input, or the built-in one. For each state its rows in the order in which they are\n" +
			"tried, with guards, effects and where they lead; then every registered guard and effect with its contract: what it\n" +
			"reads, what it needs, what it writes, and where it is specified. A table that breaks a law is shown all the same, and\n" +
			"the end says so." + orRevision,
		Example: "  noderotation table show\n" +
			"  noderotation table show --only pending\n" +
			"  noderotation table show my-transitions.yaml --only surge_ready -o json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := newTableSource(cmd.InOrStdin()).named(cmd.Context(), namedOrBuiltin(args))
			if err != nil {
				return err
			}
			model, err := modelOf(table)
			if err != nil {
				return err
			}
			shown := shownTable(model)
			if only != "" {
				if shown, err = shown.only(only); err != nil {
					return err
				}
			}
			return tellTable(cmd.OutOrStdout(), shown, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().StringVar(&only, "only", "", "show only the state, row, guard or effect of this name")
	return cmd
}

// shownState is a state with its rows, in the order in which they are tried.
type shownState struct {
	Name  string     `json:"name"`
	About string     `json:"about"`
	Rows  []shownRow `json:"rows"`
}

// shownRow is a row as it stands in one state.
type shownRow struct {
	ID    string   `json:"id"`
	Event string   `json:"event"`
	To    string   `json:"to"`
	When  []string `json:"when"`
	Do    []string `json:"do"`
	// Writes are what its effects durably write, in order.
	Writes []string `json:"writes"`
	// Returns is true where the machine is back in its initial state afterwards.
	Returns bool   `json:"returns,omitempty"`
	Requeue string `json:"requeue"`
	About   string `json:"about"`
	Line    int    `json:"line"`
}

// shownGuard is a guard's contract.
type shownGuard struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Section string   `json:"section"`
	Reads   []string `json:"reads"`
	// Implies holds whenever the guard does.
	Implies []string `json:"implies"`
	Rows    []string `json:"rows"`
}

// shownEffect is an effect's contract.
type shownEffect struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Section string   `json:"section"`
	Reads   []string `json:"reads"`
	// Needs is what must be there for it to write at all.
	Needs  []string `json:"needs"`
	Writes []string `json:"writes"`
	Rows   []string `json:"rows"`
}

// tableView is a table and the contracts of the names in it.
type tableView struct {
	Table   string        `json:"table"`
	Initial string        `json:"initial"`
	States  []shownState  `json:"states"`
	Guards  []shownGuard  `json:"guards"`
	Effects []shownEffect `json:"effects"`
	// Broken is the number of problems that `table lint` tells of.
	Broken int `json:"broken"`
}

func shownTable(m *machine.Model) tableView {
	t := m.Table()
	view := tableView{
		Table: t.Name, Initial: t.Initial, Broken: len(m.Check(controller.Laws())),
		States: []shownState{}, Guards: []shownGuard{}, Effects: []shownEffect{},
	}
	for _, s := range t.States {
		state := shownState{Name: s.Name, About: s.About, Rows: []shownRow{}}
		for _, r := range m.Rows(s.Name) {
			state.Rows = append(state.Rows, rowOf(m, r))
		}
		view.States = append(view.States, state)
	}
	for _, g := range m.Guards() {
		asks := func(r machine.Row) bool { return r.Has(machine.Is(g.Name)) || r.Has(machine.IsNot(g.Name)) }
		view.Guards = append(view.Guards, shownGuard{
			Name: g.Name, About: g.About, Section: g.Section, Reads: named(g.Reads), Implies: conditionWords(g.Implies), Rows: rowsThat(t, asks),
		})
	}
	for _, e := range m.Effects() {
		does := func(r machine.Row) bool { return r.Does(e.Name) }
		view.Effects = append(view.Effects, shownEffect{
			Name: e.Name, About: e.About, Section: e.Section, Reads: named(e.Reads), Needs: named(e.Needs), Writes: named(e.Writes),
			Rows: rowsThat(t, does),
		})
	}
	return view
}

func rowOf(m *machine.Model, r *machine.Row) shownRow {
	row := shownRow{
		ID: r.ID, Event: r.Event, To: r.To, When: conditionWords(r.When), Do: named(r.Do), Writes: []string{},
		Returns: m.Returns(r), Requeue: rotation.Spell(r.Requeue), About: r.About, Line: r.Line,
	}
	for _, w := range m.Writes(r) {
		row.Writes = append(row.Writes, w.What)
	}
	return row
}

func conditionWords(conditions []machine.Condition) []string {
	words := make([]string, len(conditions))
	for i, c := range conditions {
		words[i] = c.String()
	}
	return words
}

// named is a list that is empty in JSON, and not null.
func named(words []string) []string { return append([]string{}, words...) }

func rowsThat(t *machine.Table, has func(machine.Row) bool) []string {
	ids := []string{}
	for _, r := range t.Rows {
		if has(r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// only is the part of the view that has this name.
func (v tableView) only(name string) (tableView, error) {
	part := v
	part.States, part.Guards, part.Effects = []shownState{}, []shownGuard{}, []shownEffect{}
	for _, s := range v.States {
		if s.Name != name {
			s.Rows = slices.DeleteFunc(slices.Clone(s.Rows), func(r shownRow) bool { return r.ID != name })
		}
		if s.Name == name || len(s.Rows) > 0 {
			part.States = append(part.States, s)
		}
	}
	for _, g := range v.Guards {
		if g.Name == name {
			part.Guards = append(part.Guards, g)
		}
	}
	for _, e := range v.Effects {
		if e.Name == name {
			part.Effects = append(part.Effects, e)
		}
	}
	if len(part.States)+len(part.Guards)+len(part.Effects) == 0 {
		return part, fmt.Errorf("--only is %q, and no state, row, guard or effect is called that; `noderotation table show` lists them", name)
	}
	return part, nil
}

func tellTable(out io.Writer, v tableView, form string) error {
	switch form {
	case "text":
		_, err := io.WriteString(out, v.text())
		return err
	case "json":
		return writeJSON(out, v)
	}
	return fmt.Errorf("--output is %q; set it to text or json", form)
}
