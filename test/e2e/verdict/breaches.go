// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"noderotation.io/noderotation/test/e2e/record"
)

// mostBreaches is how many a verdict lists: one that lasts is found again after every event.
const mostBreaches = 5

// breaches collects what a verdict finds.
type breaches []string

func (b *breaches) add(at record.Revision, format string, args ...any) {
	if len(*b) < mostBreaches {
		*b = append(*b, fmt.Sprintf("revision %d: ", at)+fmt.Sprintf(format, args...))
	}
}
