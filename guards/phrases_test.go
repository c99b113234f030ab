// SPDX-License-Identifier: Apache-2.0

package guards_test

import (
	"testing"

	"noderotation.io/noderotation/guards"
)

// A change of a table is told in the guards' own phrases, so each must have one for both answers, and no two the same.
func TestEveryGuardCanBeSaidBothWays(t *testing.T) {
	said := map[string]string{}
	for _, g := range guards.All() {
		for _, phrase := range []string{g.Phrase, g.Denial} {
			if phrase == "" {
				t.Errorf("guard %s lacks a phrase", g.Name)
			}
			if other, twice := said[phrase]; twice {
				t.Errorf("%q is said of %s and of %s", phrase, other, g.Name)
			}
			said[phrase] = g.Name
		}
	}
}
