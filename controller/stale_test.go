// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"noderotation.io/noderotation/rotation"
)

var _ = Describe("A decision that has gone stale (architecture.md, the claims about crash safety)", func() {
	const draining = "claim old: state=draining"
	var w *world
	BeforeEach(func() {
		w = aFleet()
		w.pass("api")
	})
	// theSurgeStands on a claim that the attempt brought about, and is recorded.
	theSurgeStands := func() {
		w.clock.Step(time.Minute)
		w.aNode("new", "api", 0)
		w.thePlaceholderRunsOn("new", "old")
	}
	// endsAfter has the process killed by a write that takes effect, and another begin, whose watches of NodePools and
	// NodeClaims have yet to show what the first did in that pass.
	endsAfter := func(meaning string) {
		GinkgoHelper()
		w.theWatchesFallSilent("NodePool", "NodeClaim")
		w.server.judge = func(next write) verdict {
			if next.Meaning != meaning {
				return verdict{}
			}
			w.leader.kill()
			return verdict{Answer: context.Canceled}
		}
		w.pass("api")
		Expect(w.leader.ctx.Err()).To(HaveOccurred(), "the write %q was never asked for", meaning)
		w.server.judge = nil
		w.aNewLeader()
		w.server.wrote()
	}

	It("reaps no surge of a drain that has been decided meanwhile", func() {
		theSurgeStands()
		endsAfter(draining)
		w.clock.Step(16 * time.Minute)
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(BeEmpty(), "neither the surge nor its placeholder nor its protection goes")

		w.theWatchesCatchUp()
		w.server.before = func(next write) {
			if next.Meaning == "delete claim old" {
				Expect(w.claim("new").DeletionTimestamp).To(BeNil())
				Expect(w.placeholder("old")).NotTo(BeNil())
				Expect(w.node("new").Annotations).To(HaveKeyWithValue(rotation.KeyDoNotDisrupt, "true"))
			}
		}
		w.pass("api")
		Expect(w.server.wrote()).To(HaveExactElements("delete claim old", "delete the placeholder"))
	})

	It("gives up no reserved room of a drain that has been decided meanwhile", func() {
		w.thePlaceholderRunsOn("spare", "old")
		endsAfter(draining)
		w.clock.Step(16 * time.Minute)
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(BeEmpty())
		Expect(w.placeholder("old")).NotTo(BeNil())
	})

	It("takes no protection from the replacement of a drain that has begun meanwhile", func() {
		w.thePlaceholderRunsOn("spare", "old")
		endsAfter("delete the placeholder")
		w.clock.Step(16 * time.Minute)
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(BeEmpty())
		Expect(w.node("spare").Annotations).To(HaveKeyWithValue(rotation.KeyDoNotDisrupt, "true"))
	})

	It("protects and cordons no node of a rotation that has been rolled back meanwhile", func() {
		w.clock.Step(16 * time.Minute)
		endsAfter("claim old: -started-at failed-at retry-count=1 state=failed")
		w.clock.Step(-16 * time.Minute)
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.server.wrote()).To(BeEmpty())
		Expect(w.shown()).To(HaveKeyWithValue("Node old", ""))
	})

	It("creates no placeholder beside a drain that has begun meanwhile", func() {
		theSurgeStands()
		endsAfter("delete the placeholder")
		Expect(w.pass("api").RequeueAfter).To(Equal(afterConflict))
		Expect(w.placeholder("old")).To(BeNil())
		Expect(w.server.wrote()).To(BeEmpty())
	})

	It("asks before a rollback, once, and changes nothing by asking", func() {
		theSurgeStands()
		change(w, &corev1.Node{}, "new", nodeNotReady)
		w.pass("api")
		before := w.claim("old").ResourceVersion
		asked := ""
		w.server.after = func(done write) {
			if done.Meaning == "confirm claim old" {
				asked = w.claim("old").ResourceVersion
			}
		}
		w.server.wrote()
		w.clock.Step(16 * time.Minute)
		w.pass("api")
		Expect(w.server.wrote()).To(HaveExactElements(
			"confirm claim old", "delete claim new", "delete the placeholder",
			"node old: -cordoned -do-not-disrupt -do-not-disrupt-owned -surge-for uncordon",
			"claim old: -started-at -surge-claim failed-at retry-count=1 state=failed",
			"pool: -active-rotation -anchored-on last-failure-at"))
		Expect(asked).To(Equal(before))
	})
})

var _ = Describe("A write whose answer was lost (architecture.md, reading its own writes)", func() {
	var w *world
	BeforeEach(func() { w = aFleet() })

	// loses the answer to the write with this meaning; it takes effect, or not.
	loses := func(meaning string, answer error, tookEffect bool) {
		GinkgoHelper()
		w.server.judge = func(next write) verdict {
			if next.Meaning != meaning {
				return verdict{}
			}
			return verdict{Lost: !tookEffect, Answer: answer}
		}
		_, err := w.leader.pass("api")
		Expect(err).To(MatchError(ContainSubstring(answer.Error())))
		w.server.judge = nil
		w.server.wrote()
	}
	cut := errors.New("http2: client connection lost")
	timeout := apierrors.NewTimeoutError("request did not complete within requested timeout", 1)
	writes := []TableEntry{
		Entry("the anchor", "NodePool", "pool: active-rotation=old anchored-on"), Entry("the claim's state", "NodeClaim", "claim old: started-at state=pending"),
		Entry("the old node's marks", "Node", "node old: cordon cordoned do-not-disrupt do-not-disrupt-owned surge-for"),
		Entry("the placeholder", "Pod", "create the placeholder"),
	}

	DescribeTable("lets nothing be decided before the cache shows that it took effect:", func(kind, meaning string) {
		w.theWatchesFallSilent(kind)
		loses(meaning, cut, true)
		Expect(w.pass("api").RequeueAfter).To(Equal(catchUp))
		Expect(w.server.writes).To(BeEmpty())

		w.theWatchesCatchUp()
		Expect(w.pass("api").RequeueAfter).NotTo(Equal(catchUp))
	}, writes)

	DescribeTable("lets the pass be made again after ten seconds if it did not take effect:", func(_, meaning string) {
		loses(meaning, timeout, false)
		Expect(w.pass("api").RequeueAfter).To(Equal(catchUp))
		w.clock.Step(10*time.Second + time.Millisecond)
		w.pass("api")
		Expect(w.server.wrote()).To(ContainElement(meaning))
	}, writes)

	It("is waited for when it was a delete", func() {
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		loses("delete claim old", cut, false)
		Expect(w.pass("api").RequeueAfter).To(Equal(catchUp))
		w.clock.Step(10*time.Second + time.Millisecond)
		w.pass("api")
		Expect(w.server.wrote()).To(HaveExactElements("delete claim old", "delete the placeholder"))
	})

	DescribeTable("is another matter than one that was refused, or never sent", func(answer error) {
		loses("claim old: started-at state=pending", answer, false)
		Expect(w.pass("api").RequeueAfter).NotTo(Equal(catchUp))
	},
		Entry("by RBAC", apierrors.NewForbidden(schema.GroupResource{Resource: "nodeclaims"}, "old", errors.New("not by you"))),
		Entry("for want of a connection", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}))
})
