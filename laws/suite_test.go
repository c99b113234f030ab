// SPDX-License-Identifier: Apache-2.0

package laws_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestLaws(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The laws of a rotation table")
}
