// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Decision is what a table makes of a pool at one moment.
type Decision struct {
	// State of the pool's rotation, and what it means.
	State string `json:"state"`
	About string `json:"about"`
	// Fires is the row that fires, Rows every row of the state in the order in which they are tried.
	Fires string `json:"fires"`
	Rows  []Row  `json:"rows"`
	// Actions are what the row would do now; none where all is as it should be.
	Actions []string `json:"actions,omitempty"`
	// Refusal says why nothing of it is done.
	Refusal string `json:"refusal,omitempty"`
}

// Row is one row of the table and what its guards said.
type Row struct {
	ID    string `json:"row"`
	To    string `json:"to"`
	About string `json:"about"`
	// Outcome is fires, closed, or behind: its conditions hold, and so did those of a row before it.
	Outcome    string      `json:"outcome"`
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one of a row's conditions.
type Condition struct {
	// Condition as the table has it: "in_window", "not frozen".
	Condition string `json:"condition"`
	// Holds says that the condition is met.
	Holds  bool         `json:"holds"`
	Reason string       `json:"reason"`
	Until  *metav1.Time `json:"until,omitempty"`
}

// Outcomes of a row.
const (
	fires  = "fires"
	closed = "closed"
	behind = "behind"
)

// Decide tells of a snapshot's pool and of what the table makes of it. The decision is nil where the table has no say: an
// annotation that decides the state is outside the contract, and the pool holds still.
func Decide(m *controller.Machine, s rotation.Snapshot) (Pool, *Decision) {
	p := facts(s)
	state, err := rotation.State(s)
	if err == nil {
		var d machine.Decision
		if d, err = m.Decide(state, &s); err == nil {
			return decided(m, s, p, d)
		}
	}
	p.Blocked, p.outlook = &Blocked{Reason: err.Error()}, err.Error()
	var unknown *rotation.UnknownValueError
	if errors.As(err, &unknown) {
		p.Unreadable = slices.DeleteFunc(p.Unreadable, func(told string) bool { return told == messageOf(unknown, s) })
	}
	return p, nil
}

// messageOf is what Unreadables says of the value that Blocked tells of already.
func messageOf(unknown *rotation.UnknownValueError, s rotation.Snapshot) string {
	for _, u := range rotation.Unreadables(s) {
		if u.Kind == unknown.Kind && u.Name == unknown.Name && u.Key == unknown.Key {
			return u.Message()
		}
	}
	return ""
}

func decided(m *controller.Machine, s rotation.Snapshot, p Pool, d machine.Decision) (Pool, *Decision) {
	about, _ := m.Table().State(d.State)
	told := &Decision{State: d.State, About: about.About}
	p.Phase, p.outlook = d.State, controller.Outlook(d, s.Now)
	for _, row := range d.Rows {
		told.Rows = append(told.Rows, rowOf(d, row))
	}
	if _, obstacle, kept := d.Obstacle(); kept {
		p.Blocked = &Blocked{obstacle.Guard, standing(obstacle), obstacle.Verdict.Reason(), stamp(obstacle.Verdict.Until)}
	}
	if next, known := d.Changes(s.Now); known {
		p.NextChange = &Change{stamp(next.Verdict.Until), next.Guard}
	}
	if d.Row == nil {
		return p, told
	}
	p.Row, told.Fires = d.Row.ID, d.Row.ID
	plan, err := m.Plan(d, &s)
	if err != nil {
		told.Refusal = err.Error()
		p.Blocked, p.outlook = &Blocked{Reason: err.Error()}, err.Error()
		return p, told
	}
	for _, action := range effects.Merge(plan.Actions()) {
		told.Actions = append(told.Actions, action.String())
	}
	return p, told
}

// standing is what the guard of a condition says, as the table would write it.
func standing(c machine.ConditionVerdict) string {
	return machine.Condition{Guard: c.Guard, Not: c.Holds == c.Not}.String()
}

func rowOf(d machine.Decision, row machine.RowVerdict) Row {
	r := Row{ID: row.Row.ID, To: row.Row.To, About: row.Row.About, Outcome: closed}
	switch {
	case row.Row == d.Row:
		r.Outcome = fires
	case row.Holds:
		r.Outcome = behind
	}
	for _, c := range row.Conditions {
		r.Conditions = append(r.Conditions, Condition{c.String(), c.Holds, c.Verdict.Reason(), stamp(c.Verdict.Until)})
	}
	return r
}
