// SPDX-License-Identifier: Apache-2.0

// Package alerts reads the chart's alerts and its Grafana dashboard for the tests that hold them: that they name what the
// product exports, that people are told what to do, and that promtool has series on which each alert fires and series on
// which it does not (docs/runbook.md). The YAML files beside it are promtool's: `make test-alerts` runs them.
//
// What must never enter this room: anything that the product runs on.
package alerts
