// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

func TestMade(t *testing.T) {
	foreign := claim("foreign")
	foreign.Labels = nil
	recording := record.NewRecording(fleet(),
		turns(1, claim(oldClaim, "state=pending")), comes(2, wanted("web-2")), comes(3, foreign), comes(4, wanted("web-1")), goes(5, claim("web-2")))
	NewWithT(t).Expect(verdict.Made(recording, thePool)).To(Equal([]string{"web-2", "web-1"}))
}

func TestHosts(t *testing.T) {
	unbound := placeholder(newClaim, "1")
	unbound.Spec.NodeName = ""
	recording := record.NewRecording(fleet(),
		comes(1, unbound), turns(2, placeholder(newClaim, "1")), turns(3, placeholder(newClaim, "1")), goes(4, placeholder(newClaim, "1")),
		comes(5, placeholder("other", "1")), comes(6, workload("web-9", "elsewhere")))
	g := NewWithT(t)
	g.Expect(verdict.Hosts(recording, oldClaim)).To(Equal([]string{"node-web-new", "node-other"}))
	g.Expect(verdict.Hosts(recording, newClaim)).To(BeEmpty())
}
