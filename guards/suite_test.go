// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

func TestGuards(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "guards")
}

// guard is the registered guard of that name.
func guard(name string) guards.Guard {
	for _, g := range guards.All() {
		if g.Name == name {
			return g
		}
	}
	panic("no guard is registered as " + name)
}

// ask asks the guard of that name.
func ask(name string, s rotation.Snapshot) machine.Verdict { return guard(name).Check(s) }

// holding and closed are verdicts that time alone does not change.
func holding(reason string) machine.Verdict { return machine.Verdict{Holds: true, Reason: reason} }
func closed(reason string) machine.Verdict  { return machine.Verdict{Reason: reason} }
