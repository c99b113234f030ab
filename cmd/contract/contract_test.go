// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The document tells what the product declares today. Its list of flags is taken as it stands: make verify-generate
// compares that too.
func TestTheContractIsUpToDate(t *testing.T) {
	t.Chdir("../..")
	is, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(is), "has these flags:\n\n```\n")
	flags, _, listed := strings.Cut(rest, "\n```\n")
	if !listed {
		t.Fatalf("%s lists no flags: run 'make generate' and commit the result", contractFile)
	}
	shouldBe, err := document(flags)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(shouldBe, is) {
		t.Errorf("%s is stale: run 'make generate' and commit the result", contractFile)
	}
}

func TestTheDocumentsAboutTheTableAreUpToDate(t *testing.T) {
	t.Chdir("../..")
	documents, err := tableDocuments()
	if err != nil {
		t.Fatal(err)
	}
	for file, shouldBe := range documents {
		if is, err := os.ReadFile(file); err != nil || !bytes.Equal(shouldBe, is) {
			t.Errorf("%s is stale: run 'make generate' and commit the result (%v)", file, err)
		}
	}
}
