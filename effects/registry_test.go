// SPDX-License-Identifier: Apache-2.0

package effects_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The effects", func() {
	It("have the names that tables are exchanged by (architecture, transitions.yaml)", func() {
		var names []string
		for _, e := range effects.All() {
			if !strings.HasPrefix(e.Name, "announce_") {
				names = append(names, e.Name)
			}
		}
		Expect(names).To(ConsistOf(
			"anchor", "mark_pending", "mark_draining", "mark_failed", "mark_expired", "mirror", "freeze", "cordon", "placeholder",
			"delete_placeholder", "record_surge_claim", "freeze_host", "delete", "unfreeze", "reap", "reset_claim", "record_success",
			"record_failure", "clear_anchor", "mark_fallback", "renew_anchor", "mark_released"))
	})

	It("each say in a line what they do and where it is specified", func() {
		for _, e := range effects.All() {
			Expect(e.About).To(MatchRegexp(`^[A-Z][^\n]*\.$`), e.Name)
			Expect(e.Section).To(MatchRegexp(`^§\d\.\d`), e.Name)
		}
	})

	It("make a registry with the guards", func() {
		Expect(effects.Registry(guards.All())).Error().NotTo(HaveOccurred())
	})

	It("only announce where they are called so, and write everywhere else (architecture, The laws)", func() {
		for _, e := range effects.All() {
			Expect(e.Declaration().Announces()).To(Equal(strings.HasPrefix(e.Name, "announce_")), e.Name)
		}
	})
})

var _ = Describe("The registry of keys (§5.3)", func() {
	// Who may stand next to effects, and what may be said of one.
	others := []string{"", "an operator", "nobody", "sweep", "where do-not-disrupt-owned says it is ours"}

	It("names as writers and clearers only effects that there are, and others that are known", func() {
		for _, e := range effects.All() {
			others = append(others, e.Name)
		}
		for _, key := range rotation.Keys() {
			for _, list := range []string{key.Writer, key.Clearer} {
				Expect(strings.Split(list, ", ")).To(HaveEach(BeElementOf(others)), key.Name)
			}
		}
	})

	It("has every key of §5.3 once, each told in full", func() {
		seen := map[string]bool{}
		for _, key := range rotation.Keys() {
			Expect(seen).NotTo(HaveKey(key.Name))
			seen[key.Name] = true
			Expect([]string{key.Target, key.Value, key.Purpose, key.Writer, key.Lifetime, key.Clearer}).NotTo(ContainElement(BeEmpty()), key.Name)
			if key.Name != "karpenter.sh/do-not-disrupt" {
				Expect(key.Name).To(HavePrefix("noderotation.io/"))
			}
		}
		for _, name := range []string{
			"active-rotation", "active-rotation-state", "draining-at", "surge-wait", "rotation-mode", "state", "started-at", "failed-at",
			"retry-count", "surge-claim", "surge-for", "do-not-disrupt-owned", "cordoned", "last-failure-at", "freeze", "last-rotation-at",
		} {
			Expect(seen).To(HaveKey("noderotation.io/" + name))
		}
		Expect(seen).To(HaveKey("karpenter.sh/do-not-disrupt"))
	})
})
