// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"github.com/prometheus/client_golang/prometheus"

	"noderotation.io/noderotation/controller"
)

// Shown takes what the controller shows to people beside Events. The zero value takes nothing.
type Shown struct {
	// Board takes what every pass finds, for the status of the policies. It is no process's own: a status, once written,
	// stands while no process runs, and until the next one has made its first pass.
	Board *controller.Board
	// Registry, where set, is asked for a registry by each process that starts, for its metrics.
	Registry func() prometheus.Registerer
}

func (s Shown) registry() prometheus.Registerer {
	if s.Registry == nil {
		return prometheus.NewRegistry()
	}
	return s.Registry()
}

// ControllerRuns tells whether there is a process that leads.
func (w *World) ControllerRuns() bool { return w.control != nil }
