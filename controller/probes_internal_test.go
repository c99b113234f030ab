// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

// A process is ready when its caches are filled, and not a moment before.
func TestReadyOnceTheCachesAreFilled(t *testing.T) {
	g := NewWithT(t)
	filled := false
	probe := cachesFilled(func(ctx context.Context) bool {
		_, ends := ctx.Deadline()
		g.Expect(ends).To(BeTrue(), "a probe that waits for ever is no answer")
		return filled
	})
	request := httptest.NewRequest(http.MethodGet, "/readyz/caches", http.NoBody)
	g.Expect(probe(request)).To(MatchError(ContainSubstring("not filled")))
	filled = true
	g.Expect(probe(request)).To(Succeed())
}
