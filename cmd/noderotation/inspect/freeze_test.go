// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A freeze by command (§3.1)", func() {
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	freezer := func(s *server) *inspect.Freezer { return &inspect.Freezer{Inspector: s.inspector(), Client: s} }
	annotations := func(s *server) map[string]string { return s.objects.NodePool("api").Annotations }
	idle := func(pairs ...string) *server {
		objects := append(aFleet("api", fleet.Day), aPolicy("api", "api"))
		return standing(with(objects, "api", annotating[*karpenterv1.NodePool](pairs...))...)
	}
	in := func(d time.Duration) inspect.Hold { return inspect.Hold{Until: now.Add(d).In(tokyo)} }
	until := func(d time.Duration) string { return rotation.FormatStamp(now.Add(d)) }

	It("writes the time and the reason, and says what it does", func(ctx SpecContext) {
		s := idle()
		hold := in(9 * time.Hour)
		hold.Reason = "release of the shop"
		Expect(text(freezer(s).Freeze(ctx, []string{"api"}, hold))).To(Equal(
			"NodePool api is frozen until Sat 2026-01-10 12:00:00 Asia/Tokyo (2026-01-10T03:00:00Z), in 9h: no rotation starts before\nthat.\n"))
		Expect(annotations(s)).To(Equal(map[string]string{
			rotation.KeyFreeze: "2026-01-10T03:00:00Z", rotation.KeyFreezeReason: "release of the shop",
		}))
	})

	It("is no shorter than asked for: its whole seconds are rounded up", func(ctx SpecContext) {
		s := idle()
		text(freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour+time.Millisecond)))
		Expect(annotations(s)).To(HaveKeyWithValue(rotation.KeyFreeze, until(time.Hour+time.Second)))
	})

	It("in the past is refused", func(ctx SpecContext) {
		_, err := freezer(idle()).Freeze(ctx, []string{"api"}, in(0))
		Expect(err).To(MatchError("Sat 2026-01-10 03:00:00 Asia/Tokyo is not in the future: it would freeze nothing; name a later time, or use unfreeze to let go"))
	})

	It("does not shorten one that lasts longer, or cannot be read, but by force", func(ctx SpecContext) {
		s := idle(rotation.KeyFreeze, until(9*time.Hour), rotation.KeyFreezeReason, "audit")
		_, err := freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour))
		Expect(err).To(MatchError("NodePool api is not frozen: it is frozen until Sat 2026-01-10 12:00:00 Asia/Tokyo already, which is later; --force lets it end earlier"))
		Expect(annotations(s)).To(HaveKeyWithValue(rotation.KeyFreeze, until(9*time.Hour)))
		hold := in(time.Hour)
		hold.Force = true
		text(freezer(s).Freeze(ctx, []string{"api"}, hold))
		Expect(annotations(s)).To(Equal(map[string]string{rotation.KeyFreeze: until(time.Hour), rotation.KeyFreezeReason: "audit"}))

		_, err = freezer(idle(rotation.KeyFreeze, "soon")).Freeze(ctx, []string{"api"}, in(time.Hour))
		Expect(err).To(MatchError(ContainSubstring(`its freeze "soon" cannot be read, and so counts as one without an end; --force lets it end earlier`)))
	})

	It("does not inherit the reason of one that is over", func(ctx SpecContext) {
		s := idle(rotation.KeyFreeze, until(-time.Hour), rotation.KeyFreezeReason, "audit")
		text(freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour)))
		Expect(annotations(s)).To(Equal(map[string]string{rotation.KeyFreeze: until(time.Hour)}))
	})

	It("overwrites nothing that another hand has written in between", func(ctx SpecContext) {
		s := idle()
		s.overtaken = 2
		text(freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour)))
		Expect(annotations(s)).To(Equal(map[string]string{rotation.KeyFreeze: until(time.Hour), "by": "another hand"}))
	})

	It("does not shorten one that another hand puts there in between", func(ctx SpecContext) {
		s := idle()
		f := &inspect.Freezer{Inspector: s.inspector(), Client: meddled{s, func(client.Object) error {
			s.annotate("api", rotation.KeyFreeze, until(9*time.Hour))
			return nil
		}}}
		_, err := f.Freeze(ctx, []string{"api"}, in(time.Hour))
		Expect(err).To(MatchError(ContainSubstring("it is frozen until Sat 2026-01-10 12:00:00 Asia/Tokyo already")))
		Expect(annotations(s)).To(HaveKeyWithValue(rotation.KeyFreeze, until(9*time.Hour)))
	})

	It("that stands already asks for no write", func(ctx SpecContext) {
		s := idle(rotation.KeyFreeze, until(time.Hour))
		held, err := freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour))
		Expect(err).NotTo(HaveOccurred())
		Expect(held.NodePools).To(ConsistOf(HaveField("Changed", false)))
		Expect(s.asked).NotTo(ContainElement(HavePrefix("patch")))
	})

	It("says that it holds a pending rotation, and whether that is rolled back meanwhile", func(ctx SpecContext) {
		Expect(text(freezer(standing(pending()...)).Freeze(ctx, []string{"api"}, in(10*time.Minute)))).To(HaveSuffix(
			"The rotation of NodeClaim api-0 is held: no placeholder is made and no drain begins.\n"))
		Expect(text(freezer(standing(pending()...)).Freeze(ctx, []string{"api"}, in(time.Hour)))).To(SatisfyAll(
			ContainSubstring("is held"), ContainSubstring("Its readyTimeout ends before\nthe freeze does, Sat 2026-01-10 03:12:00 Asia/Tokyo: it will then be"), ContainSubstring("rolled back")))
	})

	It("says that it does not hold a drain", func(ctx SpecContext) {
		objects := with(pending(), "api-0", annotating[*karpenterv1.NodeClaim](rotation.KeyState, rotation.StateDraining))
		Expect(text(freezer(standing(objects...)).Freeze(ctx, []string{"api"}, in(time.Hour)))).To(ContainSubstring(
			"The rotation of NodeClaim api-0 goes on: its drain has begun"))
	})

	It("needs to get and patch the pool, and nothing else", func(ctx SpecContext) {
		s := standing(pending()...)
		for _, right := range []string{"nodeclaims.karpenter.sh", "rotationpolicies.noderotation.io", "nodes", "pods", "nodepools.karpenter.sh"} {
			s.denied["list "+right] = true
		}
		Expect(text(freezer(s).Freeze(ctx, []string{"api"}, in(time.Hour)))).To(ContainSubstring(
			"The rotation of NodeClaim api-0 is held if its drain has not begun; a drain is not held."))
		s.denied["patch nodepools.karpenter.sh"] = true
		_, err := freezer(s).Unfreeze(ctx, []string{"api"})
		Expect(err).To(MatchError("NodePool api is not unfrozen: you may not patch nodepools.karpenter.sh: ask for a role that allows it, or use another kubeconfig or context"))
	})

	It("is ended, reason and all", func(ctx SpecContext) {
		s := idle(rotation.KeyFreeze, until(time.Hour), rotation.KeyFreezeReason, "audit")
		Expect(text(freezer(s).Unfreeze(ctx, []string{"api"}))).To(HavePrefix("NodePool api is no longer frozen:"))
		Expect(annotations(s)).To(BeEmpty())
		Expect(text(freezer(s).Unfreeze(ctx, []string{"api"}))).To(Equal("NodePool api was not frozen.\n"))
	})

	It("goes on after a pool that does not exist", func(ctx SpecContext) {
		s := idle()
		held, err := freezer(s).Freeze(ctx, []string{"apo", "api"}, in(time.Hour))
		Expect(err).To(MatchError("there is no NodePool apo; did you mean NodePool api?"))
		Expect(held.NodePools).To(HaveExactElements(
			SatisfyAll(HaveField("Name", "apo"), HaveField("Changed", false), HaveField("Error", err.Error())),
			SatisfyAll(HaveField("Name", "api"), HaveField("Changed", true), HaveField("Error", "")),
		))
		Expect(annotations(s)).To(HaveKeyWithValue(rotation.KeyFreeze, until(time.Hour)))
	})

	// Of these, another hand is at work on api, audit is frozen for longer, the freeze of batch cannot be read, and nobody
	// may patch shop. Nothing is the matter with web.
	several := []string{"api", "audit", "batch", "shop", "web"}
	troubled := func() (*server, *inspect.Freezer) {
		var objects []client.Object
		for _, pool := range several {
			objects = append(objects, aFleet(pool)...)
		}
		with(objects, "audit", annotating[*karpenterv1.NodePool](rotation.KeyFreeze, until(9*time.Hour), rotation.KeyFreezeReason, "audit"))
		with(objects, "batch", annotating[*karpenterv1.NodePool](rotation.KeyFreeze, "soon"))
		s := standing(objects...)
		s.overtaken = 1
		return s, &inspect.Freezer{Inspector: s.inspector(), Client: meddled{s, func(object client.Object) error {
			if object.GetName() != "shop" {
				return nil
			}
			return apierrors.NewForbidden(resourceOf(object), "shop", errors.New("it is closed"))
		}}}
	}
	freezes := func(s *server) map[string]string {
		all := map[string]string{}
		for _, pool := range several {
			if value, frozen := s.objects.NodePool(pool).Annotations[rotation.KeyFreeze]; frozen {
				all[pool] = value
			}
		}
		return all
	}

	It("of all leaves those as they are that are held for longer, and goes on after one that it may not hold", func(ctx SpecContext) {
		s, f := troubled()
		hold := in(time.Hour)
		hold.KeepLonger = true
		held, err := f.Freeze(ctx, several, hold)
		refused := "NodePool shop is not frozen: you may not patch nodepools.karpenter.sh: ask for a role that allows it, or use another kubeconfig or context"
		Expect(err).To(MatchError(refused))
		Expect(freezes(s)).To(Equal(map[string]string{"api": until(time.Hour), "audit": until(9 * time.Hour), "batch": "soon", "web": until(time.Hour)}))
		Expect(annotations(s)).To(HaveKeyWithValue("by", "another hand"))
		Expect(s.objects.NodePool("audit").Annotations).To(HaveKeyWithValue(rotation.KeyFreezeReason, "audit"))
		Expect(text(held, nil)).To(Equal(strings.Join([]string{
			"NodePool api is frozen until Sat 2026-01-10 04:00:00 Asia/Tokyo (2026-01-09T19:00:00Z), in 1h: no rotation starts before\nthat.",
			"NodePool audit is left as it is: it is frozen until Sat 2026-01-10 12:00:00 Asia/Tokyo already, which is later.",
			"NodePool batch is left as it is: its freeze \"soon\" cannot be read, and so counts as one without an end.",
			"NodePool web is frozen until Sat 2026-01-10 04:00:00 Asia/Tokyo (2026-01-09T19:00:00Z), in 1h: no rotation starts before\nthat.",
			"",
		}, "\n")))

		var b strings.Builder
		Expect(inspect.Write(&b, held, inspect.JSON)).To(Succeed())
		note := func(n int) string { return `["` + strings.ReplaceAll(held.NodePools[n].Notes[0], `"`, `\"`) + `"]` }
		Expect(b.String()).To(MatchJSON(`{"at": "2026-01-09T18:00:00Z", "nodePools": [
			{"nodePool": "api", "changed": true, "freeze": {"until": "2026-01-09T19:00:00Z"}, "notes": ` + note(0) + `},
			{"nodePool": "audit", "changed": false, "freeze": {"until": "2026-01-10T03:00:00Z", "reason": "audit"}, "notes": ` + note(1) + `},
			{"nodePool": "batch", "changed": false, "freeze": {}, "notes": ` + note(2) + `},
			{"nodePool": "shop", "changed": false, "notes": [], "error": "` + refused + `"},
			{"nodePool": "web", "changed": true, "freeze": {"until": "2026-01-09T19:00:00Z"}, "notes": ` + note(4) + `}
		]}`))
	})

	It("of several that are named goes on as well, and tells of each that keeps its longer freeze", func(ctx SpecContext) {
		s, f := troubled()
		held, err := f.Freeze(ctx, several, in(time.Hour))
		Expect(strings.Split(err.Error(), "\n")).To(HaveExactElements(
			HavePrefix("NodePool audit is not frozen: it is frozen until"), HavePrefix("NodePool batch is not frozen: its freeze"),
			HavePrefix("NodePool shop is not frozen: you may not patch")))
		Expect(freezes(s)).To(Equal(map[string]string{"api": until(time.Hour), "audit": until(9 * time.Hour), "batch": "soon", "web": until(time.Hour)}))
		Expect(held.NodePools).To(HaveLen(len(several)))
	})

	It("of all is shorter than those in force by force", func(ctx SpecContext) {
		s, f := troubled()
		hold := in(time.Hour)
		hold.Force, hold.KeepLonger = true, true
		_, err := f.Freeze(ctx, several, hold)
		Expect(err).To(MatchError(HavePrefix("NodePool shop is not frozen")))
		Expect(freezes(s)).To(Equal(map[string]string{
			"api": until(time.Hour), "audit": until(time.Hour), "batch": until(time.Hour), "web": until(time.Hour)}))
	})

	It("is ended where it can be, whatever becomes of the others", func(ctx SpecContext) {
		s, f := troubled()
		s.annotate("shop", rotation.KeyFreeze, until(time.Hour))
		held, err := f.Unfreeze(ctx, []string{"shop", "audit", "batch", "web"})
		Expect(err).To(MatchError(HavePrefix("NodePool shop is not unfrozen: you may not patch")))
		Expect(freezes(s)).To(Equal(map[string]string{"shop": until(time.Hour)}))
		Expect(held.NodePools).To(HaveExactElements(
			HaveField("Error", err.Error()), HaveField("Changed", true), HaveField("Changed", true), HaveField("Changed", false)))
	})

	It("that stands for longer is what a pending rotation is measured by", func(ctx SpecContext) {
		s := standing(with(pending(), "api", annotating[*karpenterv1.NodePool](rotation.KeyFreeze, until(time.Hour)))...)
		hold := in(10 * time.Minute)
		hold.KeepLonger = true
		Expect(text(freezer(s).Freeze(ctx, []string{"api"}, hold))).To(SatisfyAll(
			HavePrefix("NodePool api is left as it is"), ContainSubstring("rotation of NodeClaim api-0 is held"), ContainSubstring("rolled back")))
	})

	It("is of the pools that a selector selects", func(ctx SpecContext) {
		i := standing(append(aFleet("api"), aFleet("web")...)...).inspector()
		Expect(i.Selected(ctx, "")).To(Equal([]string{"api", "web"}))
		Expect(i.Selected(ctx, "workload=web")).To(Equal([]string{"web"}))
		_, err := i.Selected(ctx, "workload=x")
		Expect(err).To(MatchError("no NodePool is selected; `status` lists them"))
		_, err = i.Selected(ctx, "a=b=c")
		Expect(err).To(MatchError(HavePrefix(`--selector is "a=b=c", which is no label selector`)))
	})
})

// meddled is an API server on which something happens to an object right before it is patched.
type meddled struct {
	*server

	before func(client.Object) error
}

func (m meddled) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := m.before(object); err != nil {
		return err
	}
	return m.server.Patch(ctx, object, patch, options...)
}

var _ = Describe("The time of a freeze", func() {
	berlin, _ := time.LoadLocation("Europe/Berlin")
	york, _ := time.LoadLocation("America/New_York")

	DescribeTable("is an instant, or the wall clock's in the zone of the policy",
		func(text string, zone *time.Location, expected string) {
			t, err := inspect.ParseUntil(text, zone)
			Expect(err).NotTo(HaveOccurred())
			Expect(rotation.FormatStamp(t)).To(Equal(expected))
		},
		Entry("an instant", "2026-01-10T02:00:00+09:00", berlin, "2026-01-09T17:00:00Z"),
		Entry("an instant, no zone known", "2026-01-10T02:00:00+09:00", nil, "2026-01-09T17:00:00Z"),
		Entry("a wall clock's", "2026-01-10 02:00", berlin, "2026-01-10T01:00:00Z"),
		Entry("a wall clock's without the zero", "2026-12-01 2:00", time.UTC, "2026-12-01T02:00:00Z"),
		Entry("without the zero, the later of two", "2026-11-01 1:30", york, "2026-11-01T06:30:00Z"),
		Entry("with seconds", "2026-01-10T02:00:30", berlin, "2026-01-10T01:00:30Z"),
		Entry("the later of two, on the day that the clock is set back", "2026-10-25 02:30", berlin, "2026-10-25T01:30:00Z"),
	)

	DescribeTable("is refused where it is none",
		func(text string, zone *time.Location, said string) {
			_, err := inspect.ParseUntil(text, zone)
			Expect(err).To(MatchError(ContainSubstring(said)))
		},
		Entry("words", "tomorrow", berlin, "write one such as 2026-01-10T02:00:00+09:00"),
		Entry("without a zone", "2026-01-10 02:00", nil, "add --timezone"),
		Entry("never shown by the clock", "2026-03-29 02:30", berlin, "does not occur in Europe/Berlin"),
		Entry("never shown by the clock, without the zero", "2026-03-29 2:30", berlin, "does not occur in Europe/Berlin"),
	)

	zoned := func(name string, zones ...string) *v1alpha1.RotationPolicy {
		policy := aPolicy(name, name)
		windows := policy.Spec.MaintenanceWindows
		policy.Spec.MaintenanceWindows = nil
		for _, zone := range zones {
			windows[0].Timezone = zone
			policy.Spec.MaintenanceWindows = append(policy.Spec.MaintenanceWindows, windows[0])
		}
		return policy
	}
	// asked reads a wall clock's time for some of five pools; nobody governs free.
	asked := func(ctx context.Context, text string, pools ...string) (string, error) {
		var objects []client.Object
		for _, pool := range []string{"osaka", "york", "paris", "berlin", "free"} {
			objects = append(objects, aFleet(pool)...)
		}
		objects = append(objects, zoned("osaka", "Asia/Tokyo", "UTC"), zoned("york", "America/New_York"), zoned("paris", "Europe/Paris"), zoned("berlin", "Europe/Berlin"))
		zones, err := standing(objects...).inspector().Zones(ctx, pools)
		if err != nil {
			return "", err
		}
		until, err := inspect.ParseUntilAmong(text, zones)
		return until.Format(time.RFC3339), err
	}

	It("is thought of in the zone of the policy's first window", func(ctx SpecContext) {
		Expect(asked(ctx, "2026-01-10 02:00", "osaka")).To(Equal("2026-01-10T02:00:00+09:00"))
		_, err := asked(ctx, "2026-01-10 02:00", "free")
		Expect(err).To(MatchError(ContainSubstring("no policy's windows give one: add --timezone")))
	})

	It("is that of the pools that have a zone, and can be read", func(ctx SpecContext) {
		Expect(asked(ctx, "2026-01-10 02:00", "free", "york")).To(Equal("2026-01-10T02:00:00-05:00"))
		Expect(asked(ctx, "2026-01-10 02:00", "yark", "york")).To(Equal("2026-01-10T02:00:00-05:00"))
		_, err := asked(ctx, "2026-01-10 02:00", "yark", "osako")
		Expect(err).To(MatchError("there is no NodePool yark; did you mean NodePool york?"))
	})

	It("is never guessed where the zones of several pools disagree", func(ctx SpecContext) {
		_, err := asked(ctx, "2026-01-10 02:00", "free", "osaka", "york")
		Expect(err).To(MatchError(`--until "2026-01-10 02:00" is one instant in Asia/Tokyo, where the windows of NodePool osaka are, ` +
			`and another in America/New_York, where those of NodePool york are: add --timezone with the zone that you mean`))
		Expect(asked(ctx, "2026-01-10 02:00", "paris", "berlin")).To(Equal("2026-01-10T02:00:00+01:00"))
		Expect(asked(ctx, "2026-01-10T02:00:00Z", "osaka", "york")).To(Equal("2026-01-10T11:00:00+09:00"))
	})

	It("is refused where the clock of one of the pools never shows it", func(ctx SpecContext) {
		for _, pools := range [][]string{{"osaka", "berlin"}, {"berlin", "osaka"}} {
			_, err := asked(ctx, "2026-03-29 02:30", pools...)
			Expect(err).To(MatchError(ContainSubstring("does not occur in Europe/Berlin")))
		}
	})
})
