// SPDX-License-Identifier: Apache-2.0

// Command documents writes what is generated under docs/ from what the product declares about itself. docs/contract.md is
// read off its registries, its table, its CRD, the help and the answers of its commands, and the permissions that the
// end-to-end suite runs it with; docs/transitions.md, the picture and the schema beside it off the table, the guards, the effects and the laws.
// It is run in the module's root, by `make generate`.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "the documents are not generated: %v\n", err)
		os.Exit(1)
	}
}

// run writes the documents, and tells out where.
func run(out io.Writer) error {
	documents, err := tableDocuments()
	if err != nil {
		return err
	}
	if err := write(out, documents); err != nil {
		return err
	}
	h, err := readHelp()
	if err != nil {
		return err
	}
	content, err := document(h)
	if err != nil {
		return err
	}
	return write(out, map[string][]byte{contractFile: content})
}

func write(out io.Writer, documents map[string][]byte) error {
	for _, file := range slices.Sorted(maps.Keys(documents)) {
		if err := os.WriteFile(file, documents[file], 0o644); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, file); err != nil {
			return err
		}
	}
	return nil
}
