// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
)

// slow is a cache that takes its time to list NodeClaims.
type slow struct {
	client.Reader
	clock *testclock.FakeClock
	takes time.Duration
}

func (s slow) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, is := list.(*karpenterv1.NodeClaimList); is {
		s.clock.Step(s.takes)
	}
	return s.Reader.List(ctx, list, options...)
}

// paused is the clock of a virtual machine that was paused: what it has measured stands still, and the time is right.
type paused struct{ *testclock.FakeClock }

func (paused) Since(time.Time) time.Duration { return 0 }

var _ = Describe("How long a pass may write: as long as no other process can lead", func() {
	var w *world
	BeforeEach(func() { w = aFleet() })

	It("is what is left of a lease once its holder has given up renewing it", func() {
		Expect(controller.DefaultTerm).To(Equal(8 * time.Second))
	})

	It("counts from the moment that the pass decided on, not from its first write", func() {
		w.leader = w.aProcess(slow{w.cache, w.clock, controller.DefaultTerm + time.Nanosecond})
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict), "it ends quietly, and is made again")
		Expect(w.server.wrote()).To(BeEmpty())

		w.leader = w.aProcess(slow{w.cache, w.clock, controller.DefaultTerm})
		Expect(w.pass("api").RequeueAfter).NotTo(Equal(afterConflict))
		Expect(w.server.wrote()).To(HaveLen(4))
	})

	DescribeTable("ends in the middle of a pass, by the clock on the wall", func(meaning string, writes int) {
		w.leader.reconciler.Applier.Clock = paused{w.clock}
		w.pass("api")
		w.aNode("new", "api", 0)
		w.clock.Step(20 * time.Minute)
		w.server.wrote()
		w.server.after = func(done write) {
			if done.Meaning == meaning {
				w.clock.Step(controller.DefaultTerm + time.Millisecond)
			}
		}
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(HaveLen(writes))
		w.server.after = nil
		Expect(w.pass("api").RequeueAfter).NotTo(Equal(afterConflict), "the next pass goes on")
		Expect(w.shown()).To(HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed"))
	},
		Entry("between two writes", "delete the placeholder", 2),
		Entry("between the question whether the claim is as it was, and the write", "confirm claim old", 1))

	DescribeTable("must be some time: otherwise the controller refuses to start", func(edit func(*controller.Options), says string) {
		o := controller.Options{
			LeaderElection: true, LeaseDuration: controller.DefaultLeaseDuration, RenewDeadline: controller.DefaultRenewDeadline, RetryPeriod: controller.DefaultRetryPeriod,
		}
		edit(&o)
		Expect(controller.Run(w.ctx, &rest.Config{Host: "http://127.0.0.1:1"}, o)).To(MatchError(ContainSubstring(says)))
	},
		Entry("a lease that is as long as its holder tries", func(o *controller.Options) { o.LeaseDuration = 17 * time.Second },
			"a lease of 17s is too short for a leader that renews it every 2s, waits 5s for an answer and tries for 10s"),
		Entry("just long enough", func(o *controller.Options) { o.LeaseDuration = 17*time.Second + 1 }, "preflight"),
		Entry("without an election there is no lease", func(o *controller.Options) { o.LeaderElection, o.LeaseDuration = false, 0 }, "preflight"))
})
