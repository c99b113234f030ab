// SPDX-License-Identifier: Apache-2.0

// Command queries prints the queries of the chart's Grafana dashboard as a rule file, which promtool can check. It is run in
// the module's root, by `make test-alerts`.
package main

import (
	"fmt"
	"os"

	"noderotation.io/noderotation/test/alerts"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", alerts.Dashboard, err)
		os.Exit(1)
	}
}

func run() error {
	content, err := os.ReadFile(alerts.Dashboard)
	if err != nil {
		return err
	}
	board, err := alerts.ReadBoard(content)
	if err != nil {
		return err
	}
	rules, err := alerts.AsRules(board)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(rules)
	return err
}
