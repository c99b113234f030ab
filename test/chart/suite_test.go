// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/chart/render"
)

func TestChart(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "The Helm chart")
}

// named says where the image is, the one value without a default.
const named = "--set=image.repository=registry.example.com/noderotation"

// rendered is what Helm makes of the chart with these arguments.
func rendered(ctx context.Context, arguments ...string) render.Objects {
	GinkgoHelper()
	objects, err := render.Template(ctx, arguments...)
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).NotTo(BeEmpty())
	return objects
}

// only is the one object of its type.
func only[T render.Object](objects render.Objects) T {
	GinkgoHelper()
	found := render.Of[T](objects)
	Expect(found).To(HaveLen(1), "of this type")
	return found[0]
}

// read is a file of the chart.
func read(path ...string) []byte {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(append([]string{render.Chart()}, path...)...))
	Expect(err).NotTo(HaveOccurred())
	return content
}
