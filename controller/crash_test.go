// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"noderotation.io/noderotation/rotation"
)

// writesOfARotation is the number of writes of one undisturbed rotation (architecture.md).
const writesOfARotation = 12

// catchUp is what a pass asks for that found the cache older than its own last write.
const catchUp = 50 * time.Millisecond

// isAQuestion tells a request that is answered, and changes nothing.
func isAQuestion(meaning string) bool { return strings.HasPrefix(meaning, "confirm ") }

// theEnd is the fleet after the rotation of "old", however it came about.
var theEnd = map[string]string{
	"NodePool api": "last-rotation-at", "NodeClaim spare": "", "Node spare": "", "RotationPolicy weekly": "",
}

// theWorldTurns has the scheduler, the kubelet and Karpenter do whatever is theirs to do.
func (w *world) theWorldTurns() {
	GinkgoHelper()
	if pod := w.placeholder("old"); pod != nil && pod.Spec.NodeName == "" {
		w.thePlaceholderRunsOn("spare", "old")
	}
	if w.claimExists("old") && w.claim("old").DeletionTimestamp != nil {
		w.theClaimFinalizes("old")
	}
}

// theRotationRunsOut makes passes, a new leader in the place of a dead one, until nothing can be left to do. onPass sees
// what each came to.
func (w *world) theRotationRunsOut(onPass func(ctrl.Result, error)) {
	GinkgoHelper()
	for range 20 {
		result, err := w.leader.pass("api")
		if w.leader.ctx.Err() != nil {
			w.aNewLeader()
			continue
		}
		onPass(result, err)
		if result.RequeueAfter > catchUp {
			w.theWorldTurns()
			w.clock.Step(30 * time.Second)
		}
	}
}

func mustGoWell(_ ctrl.Result, err error) {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
}

// theDrainHasItsSurge checks what must be true when the old claim is deleted: its replacement stands, protected, and
// the mirror and the claim say that the drain is on.
func (w *world) theDrainHasItsSurge(next write) {
	GinkgoHelper()
	if next.Meaning != "delete claim old" || !w.claimExists("old") || w.claim("old").DeletionTimestamp != nil {
		return
	}
	Expect(w.placeholder("old")).To(HaveField("Status.Phase", corev1.PodRunning))
	Expect(w.node("spare").Annotations).To(HaveKeyWithValue(rotation.KeyDoNotDisrupt, "true"))
	Expect(w.pool("api").Annotations).To(HaveKeyWithValue(rotation.KeyActiveRotationState, rotation.StateDraining))
	Expect(w.claim("old").Annotations).To(HaveKeyWithValue(rotation.KeyState, rotation.StateDraining))
}

func everyWrite() []TableEntry {
	var entries []TableEntry
	for n := 1; n <= writesOfARotation; n++ {
		entries = append(entries, Entry(fmt.Sprintf("write %d", n), n))
	}
	return entries
}

var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "thing", errors.New("somebody was faster"))

var _ = Describe("A rotation that is disturbed (§5.2 idempotent recovery)", func() {
	var w *world
	BeforeEach(func() {
		w = aFleet()
		w.server.before = w.theDrainHasItsSurge
	})

	DescribeTable("comes to the same end when the controller is killed after", func(n int) {
		var last string
		w.server.judge = func(next write) verdict {
			if next.Nth != n {
				return verdict{}
			}
			w.leader.kill()
			last = next.Meaning
			return verdict{Answer: context.Canceled}
		}
		w.theRotationRunsOut(mustGoWell)
		Expect(last).NotTo(BeEmpty())
		Expect(w.shown()).To(Equal(theEnd))
	}, everyWrite())

	DescribeTable("comes to the same end when it is killed before", func(n int) {
		w.server.judge = func(next write) verdict {
			if next.Nth != n {
				return verdict{}
			}
			w.leader.kill()
			return verdict{Lost: true, Answer: context.Canceled}
		}
		w.theRotationRunsOut(mustGoWell)
		Expect(w.shown()).To(Equal(theEnd))
	}, everyWrite())

	DescribeTable("comes to the same end, quietly, when a conflict takes", func(n int) {
		w.server.judge = func(next write) verdict {
			return verdict{Lost: next.Nth == n, Answer: map[bool]error{true: conflict}[next.Nth == n]}
		}
		w.theRotationRunsOut(mustGoWell)
		Expect(w.shown()).To(Equal(theEnd))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0))
	}, everyWrite())

	DescribeTable("comes to the same end when an error answers, though it took effect,", func(n int) {
		timeout := apierrors.NewTimeoutError("the answer was lost on its way", 1)
		failed := 0
		w.server.judge = func(next write) verdict {
			return verdict{Answer: map[bool]error{true: timeout}[next.Nth == n]}
		}
		w.theRotationRunsOut(func(_ ctrl.Result, err error) {
			if err != nil {
				failed++
				Expect(err).To(MatchError(timeout))
			}
		})
		Expect(failed).To(Equal(1), "the retry of a pass that failed is the work queue's")
		Expect(w.shown()).To(Equal(theEnd))
		Expect(w.leader.people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0))
	}, everyWrite())

	DescribeTable("comes to the same end, in the same twelve writes, when the cache lags one write behind: of", func(kinds ...string) {
		surgeFirst := w.server.before
		w.server.before = func(next write) {
			surgeFirst(next)
			if slices.Contains(kinds, next.Kind) {
				w.theWatchesFallSilent(kinds...)
			}
		}
		behind := 0
		w.theRotationRunsOut(func(result ctrl.Result, err error) {
			Expect(err).NotTo(HaveOccurred())
			if result.RequeueAfter == catchUp {
				behind++
				w.theWatchesCatchUp()
			}
		})
		Expect(behind).To(BeNumerically(">", 0))
		Expect(slices.DeleteFunc(w.server.wrote(), isAQuestion)).To(HaveLen(writesOfARotation))
		Expect(w.shown()).To(Equal(theEnd))
	},
		Entry("all kinds", "NodePool", "NodeClaim", "Node", "Pod"), Entry("NodePools", "NodePool"), Entry("NodeClaims", "NodeClaim"),
		Entry("Nodes", "Node"), Entry("Pods", "Pod"), Entry("all but NodePools", "NodeClaim", "Node", "Pod"),
		Entry("all but NodeClaims", "NodePool", "Node", "Pod"))

	// deposedAfter has a new leader act in the middle of the old one's pass, after its nth write. The old one is not
	// dead: the rest of its pass follows.
	deposedAfter := func(n int, meanwhile func()) {
		w.server.after = func(done write) {
			if done.Nth != n {
				return
			}
			w.server.after = nil
			w.leader = w.aProcess(w.cache)
			Expect(w.leader.reconciler.Sweep.Everything(w.leader.ctx)).To(Succeed())
			meanwhile()
		}
	}

	DescribeTable("comes to the same end when a new leader makes a pass in the middle of the old one's, after", func(n int) {
		deposedAfter(n, func() { w.pass("api") })
		w.theRotationRunsOut(mustGoWell)
		Expect(w.shown()).To(Equal(theEnd))
	}, everyWrite())

	DescribeTable("comes to the same end when a new leader finishes what the old one is still busy with, after", func(n int) {
		deposedAfter(n, func() { w.theRotationRunsOut(mustGoWell) })
		w.theRotationRunsOut(mustGoWell)
		Expect(w.shown()).To(Equal(theEnd))
	}, everyWrite())

	DescribeTable("stays rolled back when the old leader wakes up long after the new one has timed out, after", func(n int) {
		var rolledBack map[string]string
		deposedAfter(n, func() {
			for w.claim("old").Annotations[rotation.KeyState] != rotation.StateFailed {
				w.clock.Step(16 * time.Minute)
				w.pass("api")
			}
			rolledBack = w.shown()
		})
		w.pass("api")
		Expect(rolledBack).To(SatisfyAll(
			HaveKeyWithValue("NodeClaim old", "failed-at retry-count=1 state=failed"), HaveKeyWithValue("Node old", "")))
		Expect(w.shown()).To(Equal(rolledBack))
	}, Entry("the anchor", 1), Entry("the claim is pending", 2), Entry("the node is held", 3), Entry("the placeholder", 4))

	DescribeTable("comes to the same end when the new leader's cache does not show", func(n int) {
		w.server.before = func(next write) {
			if next.Nth == n {
				w.theWatchesFallSilent()
			}
		}
		w.server.judge = func(next write) verdict {
			if next.Nth != n {
				return verdict{}
			}
			w.leader.kill()
			return verdict{Answer: context.Canceled}
		}
		passes := 0
		w.theRotationRunsOut(func(_ ctrl.Result, err error) {
			Expect(err).NotTo(HaveOccurred())
			if passes++; w.server.writes[len(w.server.writes)-1].Nth > n {
				w.theWatchesCatchUp()
			}
		})
		w.theWatchesCatchUp()
		w.theRotationRunsOut(mustGoWell)
		Expect(w.shown()).To(Equal(theEnd))
	}, everyWrite())
})
