// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"strings"
	"testing"

	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/machine/graph"
)

const doorTable = `initial: locked
states:
  locked: {about: The bolt is out.}
  closed: {about: The bolt is in and the door stands in its frame.}
  open:   {about: One can walk through.}
transitions:
- id: break-in
  from: locked
  event: axe
  to: open
  when: [not key_turned, axe_swung]
  requeue: 30s
  about: There is always another way.
- id: unlock
  from: locked
  event: key
  to: closed
  when: [key_turned]
  do: [draw_bolt]
  requeue: 30s
  about: Who has the key may enter.
- id: stay-locked
  from: locked
  event: nothing
  to: locked
  requeue: 1m
  about: Nobody came.
- id: push
  from: closed
  event: push
  to: open
  when: [pushed]
  requeue: 30s
  about: Somebody goes through.
- id: stay-closed
  from: closed
  event: nothing
  to: closed
  requeue: 1m
  about: Nobody came.
- id: slam
  from: open
  event: wind
  to: closed
  when: [wind_blows]
  do: [throw_bolt]
  requeue: 30s
  about: "The wind shuts the door & the bolt falls: <bang>."
- id: stay-open
  from: open
  event: nothing
  to: open
  requeue: 1m
  about: It stands open.
`

// door is the graph of a table about a door, whose bolt is back in place after throw_bolt.
func door(t *testing.T, table string, o graph.Options) graph.Graph {
	t.Helper()
	parsed, err := machine.Parse("door.yaml", []byte(table))
	if err != nil {
		t.Fatal(err)
	}
	effects := []machine.EffectDecl{{Name: "draw_bolt", Writes: []string{"bolt"}}, {Name: "throw_bolt", Writes: []string{"bolt"}, Returns: true}}
	return graph.Of(machine.NewModel(parsed, nil, effects), o)
}

// kinds says of the door's rows what only a locksmith can.
func kinds() graph.Options {
	return graph.Options{
		Title: "The door's states",
		Kind: func(row *machine.Row) graph.Kind {
			switch row.ID {
			case "break-in":
				return graph.Fallback
			case "slam":
				return graph.Failure
			default:
				return graph.Ordinary
			}
		},
		Note: func(_ string, row *machine.Row) graph.Note {
			if row.ID == "push" {
				return graph.Note{Text: "12×"}
			}
			return graph.Note{Faint: strings.HasPrefix(row.ID, "stay")}
		},
	}
}
