// SPDX-License-Identifier: Apache-2.0

// Package report draws a run of the simulation as one HTML page that needs no network.
package report

import (
	"io"

	"noderotation.io/noderotation/sim/simulate"
)

// Write writes the page.
func Write(w io.Writer, r *simulate.Result) error { return nil }
