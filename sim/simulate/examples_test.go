// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gstruct"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/simulate"
)

var _ = Describe("The examples", func() {
	It("healthy: every node is replaced days before its deadline, and nothing is found", func() {
		result := example("healthy")
		Expect(result.Findings).To(BeEmpty())
		Expect(result.Verdict).To(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
			"Expired": BeZero(), "Fallback": BeZero(), "FailedAttempts": BeZero(), "Rotated": BeNumerically(">=", 40),
		}))
		Expect(result.Verdict.Bad()).To(BeFalse())
		Expect(result.Verdict.SmallestMargin.Duration()).To(BeNumerically(">", day))
	})

	It("narrow-window: nodes expire, and the finding that said so is there from the first pass (§3.2)", func() {
		result := example("narrow-window")
		Expect(result.Verdict.Expired).To(BeNumerically(">", 3))
		Expect(result.Verdict.Bad()).To(BeTrue())
		Expect(codes(result)).To(ContainElements(simulate.NodeExpired, rotation.ThroughputBelowArrival))
		for _, f := range result.Findings {
			if f.Code == rotation.ThroughputBelowArrival {
				Expect(f.Since).To(Equal(result.Start))
			}
			if f.Code == simulate.NodeExpired {
				Expect(f.Message).To(ContainSubstring("by the policy's estimates they have room for about 4 rotations each"))
			}
		}
		most := 0
		for _, w := range result.Pools[0].Windows {
			most = max(most, w.Rotated)
		}
		Expect(most).To(Equal(result.Pools[0].Capacity), "what is foretold of a window is what comes of it")
	})

	It("batch: the windows would do in the long run, but not for all at once (§3.2)", func() {
		result := example("batch")
		Expect(result.Verdict.Expired).To(Equal(2))
		Expect(codes(result)).To(ContainElement(rotation.ThroughputBurstShortfall))
		Expect(codes(result)).NotTo(ContainElement(rotation.ThroughputBelowArrival))
	})

	It("fallback: two nodes are drained in the window without a replacement, and none expires (§3.6)", func() {
		result := example("fallback")
		Expect(result.Verdict).To(gstruct.MatchFields(gstruct.IgnoreExtras, gstruct.Fields{
			"Ended": Equal(2), "Fallback": Equal(2), "Expired": BeZero(),
		}))
		Expect(codes(result)).To(Equal([]string{simulate.FallbackUsed}))
		for _, r := range result.Rotations {
			Expect(r.Replacement).To(BeEmpty())
			Expect(r.Window).NotTo(BeEmpty())
		}
	})

	It("shortage: attempts are rolled back and tried again, and none expires (§3.8)", func() {
		result := example("shortage")
		Expect(result.Verdict.Expired).To(BeZero())
		Expect(result.Verdict.FailedAttempts).To(BeNumerically(">=", 3))
		Expect(codes(result)).To(Equal([]string{simulate.RotationsFailed}))
		Expect(result.Rotations).To(ContainElement(HaveField("Attempt", BeNumerically(">", 1))))
	})

	It("dst-night: the Sunday without a 02:15 has no window, and no node misses a chance for it (§3.1)", func() {
		result := example("dst-night")
		Expect(result.Findings).To(BeEmpty())
		Expect(result.Verdict.Expired).To(BeZero())
		Expect(result.Verdict.Rotated).To(BeNumerically(">=", 4))
		for _, w := range result.Pools[0].Windows {
			Expect(w.Label).NotTo(ContainSubstring("2026-03-29"))
		}
		Expect(result.Pools[0].Windows).To(ContainElement(HaveField("Label", ContainSubstring("2026-04-05"))))
	})

	It("all have a test here", func() {
		found, err := filepath.Glob(filepath.Join("..", "..", "examples", "*"))
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				names = append(names, filepath.Base(path))
			}
		}
		Expect(names).To(ConsistOf("healthy", "narrow-window", "batch", "fallback", "shortage", "dst-night"))
	})

	DescribeTable("tell one story", func(name string) {
		result := example(name)
		Expect(result.Title).NotTo(BeEmpty())
		Expect(result.Lesson).NotTo(BeEmpty())
		byClaim := map[string]*simulate.Life{}
		for _, life := range result.Lives {
			byClaim[life.Claim] = life
			if life.Gone != nil {
				Expect(life.Gone.Before(life.Born)).To(BeFalse())
			}
		}
		for _, r := range result.Rotations {
			Expect(byClaim).To(HaveKey(r.Claim))
			Expect(r.Window).NotTo(BeEmpty(), "a rotation begins inside a window (§3.1)")
			Expect(r.Trace).NotTo(BeEmpty())
			Expect(r.Trace[0]).To(HavePrefix(r.Start.Format(time.DateTime) + "  controller " + r.Pool + ": "))
		}
	},
		Entry("healthy", "healthy"), Entry("narrow window", "narrow-window"), Entry("batch", "batch"),
		Entry("fallback", "fallback"), Entry("shortage", "shortage"), Entry("DST night", "dst-night"))
})
