// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
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
				_, rejected := world.writes()
				Fail(fmt.Sprintf("what the simulator comes to, and what came of it here:\n%s\nended with: %v\nrejected writes, each of which cut a pass short: %v",
					table, err, rejected))
			}
			Expect(err).NotTo(HaveOccurred())
		}, SpecTimeout(patience))
	}
})
