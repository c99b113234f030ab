// SPDX-License-Identifier: Apache-2.0

// Command readme writes the table of values into the README of a chart, given by its folder.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"noderotation.io/noderotation/test/chart/values"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "readme: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("name the folder of the chart, and nothing else")
	}
	content, err := os.ReadFile(filepath.Join(arguments[0], "values.yaml"))
	if err != nil {
		return fmt.Errorf("the values cannot be read: %w", err)
	}
	all, err := values.Read(content)
	if err != nil {
		return err
	}
	path := filepath.Join(arguments[0], "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the README cannot be read: %w", err)
	}
	written, err := values.Insert(string(readme), values.Table(all))
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
		return fmt.Errorf("the README cannot be written: %w", err)
	}
	return nil
}
