// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

// The document tells what the product declares today.
func TestTheContractIsUpToDate(t *testing.T) {
	t.Chdir("../..")
	is, err := os.ReadFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	h, err := readHelp()
	if err != nil {
		t.Fatal(err)
	}
	shouldBe, err := document(h)
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
