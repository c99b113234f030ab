// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestRotation(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "rotation")
}
