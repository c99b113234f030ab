// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"testing"
	"time"

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
func ask(name string, s rotation.Snapshot) machine.Verdict { return guard(name).Check(&s) }

// holding and closed are verdicts that time alone does not change.
func holding(reason string) machine.Verdict { return machine.Yes("%s", reason) }
func closed(reason string) machine.Verdict  { return machine.No("%s", reason) }

// answer is what a verdict comes to, as it can be compared.
type answer struct {
	holds           bool
	reason, lasting string
	until           time.Time
}

func said(v machine.Verdict) answer { return answer{v.Holds, v.Reason(), v.Lasting(), v.Until} }
