// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/sim/truth"
)

// The real half of package truth: what the simulator must come to by `make test`, this cluster must come to as well.
var _ = Describe("The simulator tells the truth:", func() {
	scenarios, err := truth.All()

	It("there are scenarios that happen in both worlds", func() {
		Expect(err).NotTo(HaveOccurred())
		Expect(len(scenarios)).To(BeNumerically(">=", 8))
	})

	for _, scenario := range scenarios {
		It(scenario.Title+" ("+strings.Join(scenario.Sections, ", ")+")", func(ctx SpecContext) {
			world := begin(ctx).realizes(ctx, scenario.Setting)
			played, err := scenario.Play(ctx, world)
			if table := scenario.Against(played); table != "" {
				Fail("what the simulator comes to, and what came of it here:\n" + table + explained(err))
			}
			Expect(err).NotTo(HaveOccurred())
		}, SpecTimeout(patience))
	}
})

func explained(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
