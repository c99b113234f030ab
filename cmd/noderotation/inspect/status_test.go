// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("The status of all pools", func() {
	several := func() *server {
		frozen := with(aFleet("cache", 13*fleet.Day), "cache",
			annotating[*karpenterv1.NodePool](rotation.KeyFreeze, rotation.FormatStamp(now.Add(90*time.Minute)), rotation.KeyFreezeReason, "audit"))
		return standing(slices.Concat(pending(), frozen, aFleet("web", fleet.Day), []client.Object{aPolicy("cache", "cache")})...)
	}

	It("is a table of what matters", func(ctx SpecContext) {
		Expect(text(several().inspector().Status(ctx, ""))).To(Equal(`
NODEPOOL  POLICY  PHASE         WINDOW         CANDIDATES  DEADLINE  ROTATION           BLOCKED BY
api       api     pending       open, 3h left  0 of 3      in 4d     api-0 → api-2, 3m  not surge_ready
cache     cache   idle, FROZEN  open, 3h left  1 of 1      in 1d     -                  frozen
web       -       idle          -              0 of 1      in 13d    -                  not governed
`[1:]))
	})

	It("says why in its wide form", func(ctx SpecContext) {
		status, err := several().inspector().Status(ctx, "")
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Split(status.Text(true), "\n")[2]).To(HaveSuffix(
			"frozen           NodePool cache is frozen until Sat 2026-01-10 04:30:00 Asia/Tokyo (audit), in 1h 30m"))
	})

	It("marks a freeze while the window is closed, and says when a claim comes of age where none has", func(ctx SpecContext) {
		frozen := with(aFleet("cache", fleet.Day), "cache",
			annotating[*karpenterv1.NodePool](rotation.KeyFreeze, rotation.FormatStamp(now.Add(30*fleet.Day)), rotation.KeyFreezeReason, "audit"))
		s := standing(append(frozen, aPolicy("cache", "cache"))...)
		inspector := s.inspector()
		inspector.Now = now.Add(4 * time.Hour)
		Expect(text(inspector.Status(ctx, ""))).To(SatisfyAll(ContainSubstring("idle, FROZEN"), HaveSuffix("not in_window\n")))
		status, err := inspector.Status(ctx, "cache")
		Expect(err).NotTo(HaveOccurred())
		pool := status.NodePools[0]
		Expect(pool.NextOfAge.At.Time).To(BeTemporally(">", pool.NextChange.At.Time))
		Expect(pool.NextOfAge.Window.Time).To(BeTemporally(">", pool.NextOfAge.At.Time))
		Expect(status.Text(false)).To(MatchRegexp(`\nNext of age NodeClaim cache-0, .* Asia/Tokyo, in .*; the window after it opens (?s:.*) Asia/Tokyo, in`))
	})

	It("fits a page whatever the names are", func(ctx SpecContext) {
		long := strings.Repeat("a-long-name-", 5) + "x"
		objects := with(aFleet(long, 10*fleet.Day), long, annotating[*karpenterv1.NodePool](rotation.KeyActiveRotation, long+"-0"))
		page := text(standing(append(objects, aPolicy(long+"policy", long))...).inspector().Status(ctx, ""))
		Expect(page).To(SatisfyAll(ContainSubstring("a-long-n…"), ContainSubstring("not surge_ready")))
	})

	It("tells programs the same", func(ctx SpecContext) {
		status, err := several().inspector().Status(ctx, "")
		Expect(err).NotTo(HaveOccurred())
		for _, format := range []inspect.Format{inspect.JSON, inspect.YAML} {
			var b strings.Builder
			Expect(inspect.Write(&b, status, format)).To(Succeed())
			Expect(b.String()).To(SatisfyAll(ContainSubstring("replacement"), ContainSubstring("2026-01-09T19:30:00Z"), ContainSubstring("surge_ready")))
		}
		encoded, err := json.Marshal(status.NodePools[1])
		Expect(err).NotTo(HaveOccurred())
		Expect(encoded).To(MatchJSON(`{
			"nodePool": "cache", "policy": "cache", "phase": "idle", "row": "rest",
			"governance": "RotationPolicy cache governs the NodePool, which it selects with 1 label constraint",
			"window": {"open": true, "opens": "2026-01-13T17:00:00Z", "closes": "2026-01-09T21:00:00Z"},
			"nodeClaims": 1, "candidates": 1, "candidate": "cache-0",
			"nextDeadline": {"nodeClaim": "cache-0", "at": "2026-01-10T18:00:00Z"},
			"freeze": {"until": "2026-01-09T19:30:00Z", "reason": "audit"},
			"blocked": {"guard": "frozen", "condition": "frozen", "reason": "NodePool cache is frozen until Fri 2026-01-09 19:30:00 UTC (audit), in 1h 30m",
				"until": "2026-01-09T19:30:00Z"},
			"nextChange": {"at": "2026-01-09T19:30:00Z", "guard": "frozen"}
		}`))
	})

	It("lists every kind once, and only the Pods that decide", func(ctx SpecContext) {
		s := several()
		text(s.inspector().Status(ctx, ""))
		counts := map[string]int{}
		for _, request := range s.asked {
			counts[request]++
		}
		Expect(counts).To(Equal(map[string]int{
			"list nodepools.karpenter.sh": 1, "list nodeclaims.karpenter.sh": 1, "list rotationpolicies.noderotation.io": 1, "list nodes": 1,
			// The placeholder, its Node, the old Node and the Pods without one; the placeholder and the Node of cache's candidate.
			"list pods": 6,
		}))
	})

	It("is a page on the pool that is asked for", func(ctx SpecContext) {
		Expect(text(several().inspector().Status(ctx, "api"))).To(Equal(`
NodePool    api
Policy      RotationPolicy api governs the NodePool, which it selects with 1 label constraint.
Phase       pending
Window      open until Sat 2026-01-10 06:00:00 Asia/Tokyo, in 3h
Candidates  0 of 3 NodeClaims may be rotated now
Deadline    Karpenter first expires NodeClaim api-0, Wed 2026-01-14 03:00:00 Asia/Tokyo, in 4d
Rotation    NodeClaim api-0 (Node api-0) → NodeClaim api-2 (Node api-2)
            For 3m, since Sat 2026-01-10 02:57:00 Asia/Tokyo
Fires       row pending-wait
Blocked by  not surge_ready: placeholder surge-for-api-0 does not run on Node api-2 yet (phase "Pending").
Next change by itself Sat 2026-01-10 03:12:00 Asia/Tokyo, in 12m, by ready_timeout_elapsed
`[1:]))
	})

	It("has words for a cluster without pools, and for a pool that does not exist", func(ctx SpecContext) {
		status, err := standing().inspector().Status(ctx, "")
		Expect(text(status, err)).To(Equal("There is no NodePool.\n"))
		Expect(json.Marshal(status)).To(ContainSubstring(`"nodePools":[]`))
		_, err = several().inspector().Status(ctx, "cash")
		Expect(err).To(MatchError("there is no NodePool cash; did you mean NodePool cache?"))
	})
})

// What is told is what the controller would decide: a person's listing and a cache come to the same snapshot.
var _ = Describe("A look at the cluster", func() {
	It("reads what a pass of the controller reads", func(ctx SpecContext) {
		s := standing(pending()...)
		pool := s.objects.NodePool("api")
		cached := &controller.Reader{Cache: s.objects.View, Policies: controller.NewPolicies(s.objects.View), Settings: rotation.Settings{Namespace: "rotations"}}
		live := controller.NewLiveReader(s, "api")
		looked := &controller.Reader{Cache: live, Policies: controller.NewPolicies(live), Settings: cached.Settings}
		shouldBe, err := cached.Snapshot(ctx, pool, now)
		Expect(err).NotTo(HaveOccurred())
		is, err := looked.Snapshot(ctx, pool, now)
		Expect(err).NotTo(HaveOccurred())
		Expect(is).To(Equal(shouldBe))
		Expect(is.Placeholders).To(HaveLen(1))
		Expect(is.PodsByNode).To(HaveLen(2))
		Expect(is.Unbound).To(BeEmpty())
	})
})

var _ = Describe("A right that is missing", func() {
	lacking := func(rights ...string) *server {
		s := standing(pending()...)
		for _, right := range rights {
			s.denied[right] = true
		}
		return s
	}

	It("is named where nothing can be told without it", func(ctx SpecContext) {
		_, err := lacking("list nodepools.karpenter.sh").inspector().Status(ctx, "")
		Expect(err).To(MatchError("you may not list nodepools.karpenter.sh: ask for a role that allows it, or use another kubeconfig or context"))
		_, err = lacking("list rotationpolicies.noderotation.io").inspector().Why(ctx, "api")
		Expect(err).To(MatchError(HavePrefix("you may not list rotationpolicies.noderotation.io:")))
		_, err = lacking("get nodepools.karpenter.sh", "get nodes", "get nodeclaims.karpenter.sh").inspector().Why(ctx, "api")
		Expect(err).To(MatchError(HavePrefix("you may not get nodepools.karpenter.sh, nor get nodeclaims.karpenter.sh, nor get nodes:")))
	})

	It("leaves a status with what can be told", func(ctx SpecContext) {
		page := text(lacking("list rotationpolicies.noderotation.io").inspector().Status(ctx, ""))
		Expect(page).To(ContainSubstring("api       ?       ?      -       0 of 3      in 4d     api-0 → api-2, 3m  -"))
		Expect(page).To(ContainSubstring("Not read    You may not list rotationpolicies.noderotation.io."))
	})

	It("is told beside a decision that may depend on it", func(ctx SpecContext) {
		page := text(lacking("list pods", "list poddisruptionbudgets.policy").inspector().Why(ctx, "api"))
		Expect(page).To(SatisfyAll(
			ContainSubstring("placeholder surge-for-api-0 does not exist"),
			ContainSubstring("You may not list pods, nor list poddisruptionbudgets.policy. What depends on it")))
	})
})

var _ = DescribeTable("What an API server answers is a sentence for the person who asked",
	func(err error, said string) {
		Expect(inspect.Explain("list", err)).To(MatchError(ContainSubstring(said)))
	},
	Entry("not known", unauthorized(), "the cluster does not know you: log in anew"),
	Entry("anything else", fmt.Errorf("a word"), "a word"),
)
