// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/internal/fleet"
	"noderotation.io/noderotation/rotation"
)

// anEvent of the controller about a pool or a claim, so long ago, as the API server keeps it.
func anEvent(ago time.Duration, reason, kind, name, related, message string) corev1.Event {
	other := "NodeClaim"
	if kind == "NodeClaim" {
		other = "NodePool"
	}
	return corev1.Event{
		EventTime: metav1.NewMicroTime(now.Add(-ago)), Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Related: &corev1.ObjectReference{Kind: other, Name: related},
	}
}

var _ = Describe("The history of a pool without a past", func() {
	It("is an empty list to programs", func(ctx SpecContext) {
		history, err := standing(append(aFleet("api", fleet.Day), aPolicy("api", "api"))...).inspector().History(ctx, "api")
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Marshal(history)).To(MatchJSON(`{"at": "2026-01-09T18:00:00Z", "nodePool": "api", "past": []}`))
	})
})

var _ = Describe("The history of a pool", func() {
	rotated := func() *server {
		objects := append(aFleet("api", fleet.Day), aPolicy("api", "api"))
		with(objects, "api", annotating[*karpenterv1.NodePool](rotation.KeyLastRotationAt, rotation.FormatStamp(now.Add(-50*time.Hour))))
		with(objects, "api-0", annotating[*karpenterv1.NodeClaim](
			rotation.KeyFailedAt, rotation.FormatStamp(now.Add(-20*time.Minute)), rotation.KeyRetryCount, "2"))
		s := standing(objects...)
		stuck := anEvent(30*time.Minute, "DrainStuck", "NodePool", "api", "old", "the drain of NodeClaim old is overdue")
		stuck.Series = &corev1.EventSeries{Count: 4, LastObservedTime: metav1.NewMicroTime(now.Add(-10 * time.Minute))}
		s.events = []corev1.Event{
			anEvent(20*time.Minute, "RotationFailed", "NodeClaim", "api-0", "api", "the replacement of NodeClaim api-0 did not stand within readyTimeout"),
			stuck,
			anEvent(40*time.Minute, "RotationStarted", "NodePool", "web", "x", "of another pool"),
			anEvent(46*time.Minute, "TGPUnset", "NodePool", "api", "", "of a policy, and no rotation"),
			anEvent(45*time.Minute, "RotationStarted", "NodePool", "api", "api-0", "rotating NodeClaim api-0"),
		}
		return s
	}

	It("is what Events and annotations tell, the oldest first, and how far back they reach", func(ctx SpecContext) {
		Expect(text(rotated().inspector().History(ctx, "api"))).To(Equal(`
WHEN                     WHAT              TOLD
Thu 2026-01-08 01:00:00  last-rotation-at  the last rotation that succeeded ended
Sat 2026-01-10 02:15:00  RotationStarted   rotating NodeClaim api-0
Sat 2026-01-10 02:30:00  DrainStuck        the drain of NodeClaim old is overdue (told 4 times, the last 10m ago)
Sat 2026-01-10 02:40:00  RotationFailed    the replacement of NodeClaim api-0 did not stand within readyTimeout
Sat 2026-01-10 02:40:00  failed-at         NodeClaim api-0: the last attempt failed; failures so far: 2

Times are those of Asia/Tokyo.
The Events of NodePool api reach back to Sat 2026-01-10 02:14:00 Asia/Tokyo, 46m ago.
The API server drops an Event after an hour, unless it is told otherwise; annotations have only the last of each.
`[1:]))
	})

	It("tells programs which claim each thing was about, and where it was read", func(ctx SpecContext) {
		history, err := rotated().inspector().History(ctx, "api")
		Expect(err).NotTo(HaveOccurred())
		Expect(history.Past).To(HaveLen(5))
		Expect(history.Past[3]).To(SatisfyAll(
			HaveField("What", "RotationFailed"), HaveField("NodeClaim", "api-0"), HaveField("Source", "Event")))
		Expect(history.Past[2]).To(SatisfyAll(HaveField("Times", int32(4)), HaveField("NodeClaim", "old")))
	})

	It("says so where nothing is kept, or may be read", func(ctx SpecContext) {
		s := standing(append(aFleet("api", fleet.Day), aPolicy("api", "api"))...)
		Expect(text(s.inspector().History(ctx, "api"))).To(HavePrefix("No Event of NodePool api is kept.\n"))
		s.denied["list events"] = true
		Expect(text(s.inspector().History(ctx, "api"))).To(ContainSubstring("You may not list events."))
	})

	It("is wide where that is asked for", func(ctx SpecContext) {
		s := rotated()
		s.events[0].Message = strings.Repeat("word ", 50)
		history, err := s.inspector().History(ctx, "api")
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Split(history.Text(true), "\n")[4]).To(HaveLen(25 + 18 + 250))
	})
})
