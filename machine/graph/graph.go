// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"noderotation.io/noderotation/machine"
)

// Kind is what a row means to the reader. Kinds are told apart by the line and by a sign beside the row's name, never by
// colour alone.
type Kind int

// The kinds of rows.
const (
	// Ordinary is a step on the way that the machine is there for: a solid line.
	Ordinary Kind = iota
	// Fallback is a way around the ordinary one: a dashed line, and a triangle.
	Fallback
	// Failure is a way back, or an end that nobody wished for: a dotted line, and a cross.
	Failure
)

// String is the kind as the legend calls it.
func (k Kind) String() string {
	switch k {
	case Fallback:
		return "fallback"
	case Failure:
		return "failure, or a way back"
	default:
		return "ordinary"
	}
}

// sign is the kind as one character, for what is written in text.
func (k Kind) sign() string {
	switch k {
	case Fallback:
		return "▲"
	case Failure:
		return "✕"
	default:
		return ""
	}
}

// Note stands beside a row, such as how often it fired.
type Note struct {
	// Text is a few characters; empty for none.
	Text string
	// Faint draws the row so that others stand out.
	Faint bool
}

// Options are what a table does not say about itself.
type Options struct {
	// Title names the drawing, for those who cannot see it too.
	Title string
	// Kind of a row; nil: every row is Ordinary.
	Kind func(*machine.Row) Kind
	// Note beside a row where it leaves a state; nil: none.
	Note func(from string, row *machine.Row) Note
}

// Graph is a table, ready to be drawn.
type Graph struct {
	// Title names the drawing; Initial is the state that the machine begins in.
	Title, Initial string
	// States in the order of the table, and behind them those that rows name although the table does not have them.
	States []State
}

// State is a state with the rows that are tried in it.
type State struct {
	Name, About string
	// Edges in the order in which the rows are tried.
	Edges []Edge
}

// Edge is a row where it leaves one state.
type Edge struct {
	// Row is the row's id; About is its line for the reader.
	Row, About string
	From, To   string
	// When are the row's conditions; none: it always holds.
	When []string
	// Do are its effects, in order.
	Do   []string
	Kind Kind
	// Returns is true where the machine is back in its initial state afterwards, whatever To says.
	Returns bool
	Note    Note
}

// Loops reports whether the edge stays in its state.
func (e Edge) Loops() bool { return e.From == e.To }

// returnsTo is the state that the edge leads on to after To; empty if it leads nowhere else.
func (g Graph) returnsTo(e Edge) string {
	if !e.Returns || e.To == g.Initial || e.From == g.Initial {
		return ""
	}
	return g.Initial
}

// Of is the graph of a table, seen through what its guards and effects declare. The table may break laws: a state that
// only a row names is drawn like any other.
func Of(m *machine.Model, o Options) Graph {
	t := m.Table()
	g := Graph{Title: o.Title, Initial: t.Initial}
	for _, s := range t.States {
		g.States = append(g.States, State{Name: s.Name, About: s.About})
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		for _, from := range row.From {
			g.state(row.To)
			s := g.state(from)
			s.Edges = append(s.Edges, edgeOf(m, o, from, row))
		}
	}
	return g
}

// state is the state of that name, added if need be.
func (g *Graph) state(name string) *State {
	i := slices.IndexFunc(g.States, func(s State) bool { return s.Name == name })
	if i < 0 {
		g.States = append(g.States, State{Name: name, About: "The table has no such state."})
		i = len(g.States) - 1
	}
	return &g.States[i]
}

func edgeOf(m *machine.Model, o Options, from string, row *machine.Row) Edge {
	e := Edge{Row: row.ID, About: row.About, From: from, To: row.To, Do: row.Do, Returns: m.Returns(row)}
	for _, c := range row.When {
		e.When = append(e.When, c.String())
	}
	if o.Kind != nil {
		e.Kind = o.Kind(row)
	}
	if o.Note != nil {
		e.Note = o.Note(from, row)
	}
	return e
}

// index is the place of a state among the others; -1 for the empty name.
func (g Graph) index(name string) int {
	return slices.IndexFunc(g.States, func(s State) bool { return s.Name == name })
}
