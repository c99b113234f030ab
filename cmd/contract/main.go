// SPDX-License-Identifier: Apache-2.0

// Command contract writes docs/contract.md from what the product declares about itself: its registries, its table, its
// CRD, the help of its command, and the permissions that the end-to-end suite runs it with. It is run in the module's
// root, by `make generate`.
package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s is not generated: %v\n", contractFile, err)
		os.Exit(1)
	}
}

// run writes the document, and tells out where.
func run(out io.Writer) error {
	flags, err := flagsOfController()
	if err != nil {
		return err
	}
	content, err := document(flags)
	if err != nil {
		return err
	}
	if err := os.WriteFile(contractFile, content, 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, contractFile)
	return err
}
