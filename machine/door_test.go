// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"errors"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/machine"
)

// Door is what a pass sees of a door.
type Door struct {
	Now           time.Time
	CurfewEnds    time.Time
	KeyTurned     bool
	Pushed        bool
	Forced        bool
	Jammed        bool
	BoltThrown    bool
	BellCord      bool
	Asked         *[]string // which guards were asked, in order
	BellRungTimes int
}

// Motion is an action on a door.
type Motion string

var evening = time.Date(2026, 1, 9, 22, 0, 0, 0, time.UTC)

var errCordTorn = errors.New("the bell's cord is torn: splice it")

func (d Door) ask(guard string) {
	if d.Asked != nil {
		*d.Asked = append(*d.Asked, guard)
	}
}

func doorGuards() []machine.Guard[Door] {
	plain := func(name string, of func(Door) bool) machine.Guard[Door] {
		return machine.Guard[Door]{Name: name, About: "whether it is so", Check: func(d Door) machine.Verdict {
			d.ask(name)
			if of(d) {
				return machine.Yes("they say %s", name)
			}
			return machine.No("they deny %s", name)
		}}
	}
	curfew := machine.Guard[Door]{Name: "curfew", About: "nobody goes out", Check: func(d Door) machine.Verdict {
		d.ask("curfew")
		if d.Now.Before(d.CurfewEnds) {
			return machine.Yes("the curfew ends at %s", d.CurfewEnds.Format("15:04")).ChangingAt(d.CurfewEnds)
		}
		return machine.No("there is no curfew")
	}}
	forced := plain("forced", func(d Door) bool { return d.Forced })
	forced.Implies = []machine.Condition{machine.Is("pushed"), machine.IsNot("key_turned")}
	return []machine.Guard[Door]{
		plain("key_turned", func(d Door) bool { return d.KeyTurned }),
		plain("pushed", func(d Door) bool { return d.Pushed }),
		plain("jammed", func(d Door) bool { return d.Jammed }),
		curfew,
		forced,
	}
}

func doorEffects() []machine.Effect[Door, Motion] {
	bolt := func(name string, thrown bool) machine.Effect[Door, Motion] {
		return machine.Effect[Door, Motion]{
			Name: name, About: "moves the bolt", Writes: []string{"bolt"}, Returns: thrown,
			Apply: func(d Door) (Door, []Motion, error) {
				if d.BoltThrown == thrown {
					return d, nil, nil
				}
				d.BoltThrown = thrown
				return d, []Motion{Motion(name)}, nil
			},
		}
	}
	ring := machine.Effect[Door, Motion]{
		Name: "ring_bell", About: "tells the house",
		Apply: func(d Door) (Door, []Motion, error) {
			if !d.BellCord {
				return d, nil, errCordTorn
			}
			d.BellRungTimes++
			if d.BoltThrown {
				return d, []Motion{"ring, door locked"}, nil
			}
			return d, []Motion{"ring, door unlocked"}, nil
		},
	}
	return []machine.Effect[Door, Motion]{bolt("throw_bolt", true), bolt("draw_bolt", false), ring}
}

func doorRegistry() machine.Registry[Door, Motion] {
	r, err := machine.NewRegistry(doorGuards(), doorEffects())
	if err != nil {
		panic(err)
	}
	return r
}

const doorTable = `initial: locked
states:
  locked: {about: The bolt is out.}
  closed: {about: The bolt is in and the door stands in its frame.}
  open:   {about: One can walk through.}
transitions:
- id: unlock
  from: locked
  event: key
  to: closed
  when: [key_turned, not curfew]
  do: [draw_bolt, ring_bell]
  requeue: 30s
  about: Who has the key may enter, but not at night.
- id: stay-locked
  from: locked
  event: nothing
  to: locked
  requeue: 1m
  about: Nobody came.
- id: lock
  from: [closed, open]
  event: key
  to: locked
  when: [key_turned, not jammed]
  do: [throw_bolt, ring_bell]
  requeue: 30s
  about: Who has the key may lock up.
- id: push
  from: closed
  event: push
  to: open
  when: [pushed, not curfew]
  requeue: 30s
  about: Somebody goes through.
- id: stay-closed
  from: closed
  event: nothing
  to: closed
  requeue: 1m
  about: Nobody came.
- id: shut
  from: open
  event: let-go
  to: closed
  when: [not pushed]
  requeue: 30s
  about: The spring pulls it shut.
- id: stay-open
  from: open
  event: nothing
  to: open
  do: [ring_bell]
  requeue: 1m
  about: Somebody stands in it.
`

func genericLaws() []machine.Law {
	return machine.GenericLaws(machine.Options{Bound: time.Minute})
}

// compile reads and compiles a table; the error is whichever comes.
func compile(text string) (*machine.Machine[Door, Motion], error) {
	t, err := machine.Parse("door.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return machine.Compile(t, doorRegistry(), genericLaws())
}

// door is the machine of the door's table; it is immutable.
var door = sync.OnceValue(func() *machine.Machine[Door, Motion] {
	m, err := compile(doorTable)
	if err != nil {
		panic(err)
	}
	return m
})

// with is the door's table with one piece of text replaced by another.
func with(piece, other string) string {
	ExpectWithOffset(1, doorTable).To(ContainSubstring(piece))
	return strings.Replace(doorTable, piece, other, 1)
}

// messages are the lines of an error that is Problems.
func messages(err error) []string {
	var ps machine.Problems
	ExpectWithOffset(1, errors.As(err, &ps)).To(BeTrue(), "an error that is Problems, not %v", err)
	return strings.Split(ps.Error(), "\n")
}
