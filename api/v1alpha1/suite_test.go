// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

func TestRotationPolicy(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "RotationPolicy")
}
