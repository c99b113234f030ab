// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"noderotation.io/noderotation/machine"
)

// Difference is what becomes of a table's meaning. It is a value for programs,
// too: its JSON is stable.
type Difference struct {
	// Old and New are the names of the tables.
	Old string `json:"old"`
	New string `json:"new"`
	// Changed says that the meaning is another one: some case ends in another
	// state, has other effects or another requeue, or the states are others.
	// Names and texts are not meaning.
	Changed bool `json:"changed"`
	// Initial is set where the initial state is another one.
	Initial *Rename `json:"initial,omitempty"`
	// States that came, went, or are called otherwise.
	States States `json:"states"`
	// Edits has every row that differs, in the order of the new table, each with
	// the cases that it changes.
	Edits []Edit `json:"edits,omitempty"`
	// Guards and Effects that are asked or done in one of the tables only.
	Guards  Uses `json:"guards"`
	Effects Uses `json:"effects"`
	// Reach is what can be entered, left and fired in one of the tables only.
	Reach Reach `json:"reach"`
	// Laws has what the two tables are refused for.
	Laws Laws `json:"laws"`

	guards map[string]machine.GuardDecl
}

// Rename is a name, and the one that it takes the place of.
type Rename struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// States are the states that only one of the tables has.
type States struct {
	Added    []string `json:"added,omitempty"`
	Removed  []string `json:"removed,omitempty"`
	Renamed  []Rename `json:"renamed,omitempty"`
	Reworded []string `json:"reworded,omitempty"`
}

// Uses are the names that only one of the tables uses.
type Uses struct {
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}

// Laws are the problems of the tables. Those of New that Old has too, but for
// the line, are Kept.
type Laws struct {
	Broken []Breach `json:"broken,omitempty"`
	Mended []Breach `json:"mended,omitempty"`
	Kept   []Breach `json:"kept,omitempty"`
}

// Breach is a problem of a table as a program reads it.
type Breach struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Row     string `json:"row,omitempty"`
	State   string `json:"state,omitempty"`
	Law     string `json:"law"`
	Message string `json:"message"`
}

// String is the problem on one line, as machine.Problem writes it.
func (b Breach) String() string { return machine.Problem(b).Error() }

// What an edit does to a row.
const (
	Added    = "added"
	Removed  = "removed"
	Renamed  = "id"
	Event    = "event"
	From     = "from"
	To       = "to"
	When     = "when"
	Do       = "do"
	Requeue  = "requeue"
	Moved    = "moved"
	Reworded = "about"
)

// Edit is a row that differs, and all that comes of it.
type Edit struct {
	// Row is its id; the old one where the row is gone.
	Row string `json:"row"`
	// Was is its old id, where that is another one.
	Was string `json:"was,omitempty"`
	// Event is its new event, and WasEvent its old one, where they differ.
	Event    string `json:"event,omitempty"`
	WasEvent string `json:"wasEvent,omitempty"`
	// OldLine and NewLine are where it stands; 0 where it does not.
	OldLine int `json:"oldLine,omitempty"`
	NewLine int `json:"newLine,omitempty"`
	// What differs: Added, Removed, …
	What []string `json:"what"`
	// Cases are those in which something else comes of it than before, in the states that both tables have.
	Cases []Case `json:"cases,omitempty"`
	// NewWays are what it does in states that only the new table has, LostWays what it did in those that only the old one
	// has: where it fires, and where it leads.
	NewWays  []Way `json:"newWays,omitempty"`
	LostWays []Way `json:"lostWays,omitempty"`
}

// Is reports whether the row is edited in that way.
func (e Edit) Is(what string) bool { return slices.Contains(e.What, what) }

// Changes reports whether the edit changes the meaning.
func (e Edit) Changes() bool {
	return len(e.NewWays)+len(e.LostWays) > 0 || slices.ContainsFunc(e.Cases, Case.changes)
}

// concerns reports whether a case is one in which the row fired, or fires.
func (e Edit) concerns(c Case) bool {
	was := c.Old != nil && !e.Is(Added) && c.Old.Row == cmp.Or(e.Was, e.Row)
	return was || c.New != nil && !e.Is(Removed) && c.New.Row == e.Row
}

// Extent says how much of what the rows do a Case is.
type Extent string

// A Case has all in which the old row fired and all in which the new one fires;
// all of the former; or a part of both.
const (
	Whenever Extent = "whenever"
	Wherever Extent = "wherever"
	Part     Extent = "part"
)

// Case is a set of cases in which one row fired and now another one does, or the
// same one to another end.
type Case struct {
	States []string `json:"states"`
	// Old fired and New fires; nil: no row does.
	Old *Fired `json:"old"`
	New *Fired `json:"new"`
	// Changes has To, Do and Requeue as far as they differ. Empty: the meaning
	// is the same, and told under another id; no list is null in JSON.
	Changes []string `json:"changes"`
	Extent  Extent   `json:"extent"`
	// When says exactly which cases they are, among those that the guards'
	// declarations allow.
	When Cover `json:"when"`
	// Brief is shorter: the same cases once those are left out in which rows
	// ahead of Old and of New fire. Empty where that gains little.
	Brief Cover `json:"brief,omitempty"`
}

// changes reports whether the meaning of the cases is another one.
func (c Case) changes() bool { return len(c.Changes) > 0 }

// Fired is a row with all that comes of it.
type Fired struct {
	Row     string   `json:"row"`
	Event   string   `json:"event"`
	To      string   `json:"to"`
	Do      []string `json:"do"`
	Requeue Duration `json:"requeue"`
}

// fired is a row's Fired; nil for nil.
func fired(r *machine.Row) *Fired {
	if r == nil {
		return nil
	}
	return &Fired{Row: r.ID, Event: r.Event, To: r.To, Do: append([]string{}, r.Do...), Requeue: Duration(r.Requeue)}
}

// Duration is a duration as a table writes it: "1m", not "1m0s".
type Duration time.Duration

// String writes it without units that are zero.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes it as String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Cover is a set of cases: those that have all conditions of at least one
// clause. Without a clause it is empty; the empty clause has every case.
type Cover []Clause

// Clause is a list of conditions that hold together.
type Clause []machine.Condition

// MarshalJSON writes the conditions as a table does.
func (c Clause) MarshalJSON() ([]byte, error) {
	words := make([]string, len(c))
	for i, condition := range c {
		words[i] = condition.String()
	}
	return json.Marshal(words)
}
