// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"time"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/laws"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Machine runs a rotation table.
type Machine = machine.Machine[*rotation.Snapshot, effects.Action]

// RequeueBound is the longest that any row may let a pass sleep (law requeue).
const RequeueBound = time.Minute

// LoadTable parses a table, checks it against every law and binds it to the guards and effects. name stands in the
// messages. The error is machine.Problems: all that is wrong, each with law, row and line. Of a table that cannot be read
// wholly that is what could not be read, and what law known-names finds in the rest.
func LoadTable(name string, data []byte) (*Machine, error) {
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return nil, fmt.Errorf("guards and effects do not fit together: %w", err)
	}
	table, err := machine.Read(name, data, registry.GuardDecls(), registry.EffectDecls())
	if err != nil {
		return nil, err
	}
	return machine.Compile(table, registry, Laws())
}

// Laws are all that a table must obey: those of any table, and those of a rotation's.
func Laws() []machine.Law {
	return append(machine.GenericLaws(machine.Options{Bound: RequeueBound}), laws.All()...)
}
