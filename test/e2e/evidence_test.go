// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/process"
	"noderotation.io/noderotation/test/e2e/record"
	"noderotation.io/noderotation/test/e2e/verdict"
)

// told waits for an Event of this reason about the NodePool or NodeClaim, and returns the first: the controller queues
// its Events.
func told(ctx context.Context, reason, about string) eventsv1.Event {
	GinkgoHelper()
	return toldWithin(ctx, 30*time.Second, reason, about)
}

// toldWithin is told with a patience of its own.
func toldWithin(ctx context.Context, patience time.Duration, reason, about string) eventsv1.Event {
	GinkgoHelper()
	var first eventsv1.Event
	Eventually(ctx, func(g Gomega) {
		events, err := shared.Client().EventsV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		for _, event := range events.Items {
			if event.Reason == reason && event.Regarding.Name == about {
				first = event
				return
			}
		}
		g.Expect(events.Items).To(BeNil(), "no Event %s about %s", reason, about)
	}).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(Succeed())
	return first
}

// reads is the value of the controller's series of this name that has this label and value and is the pool's; 0 if there
// is none.
func (s *scenario) reads(ctx context.Context, f *fleet, name string, labels ...string) float64 {
	GinkgoHelper()
	values := seriesOf(ctx, s.controller, name, append(labels, fmt.Sprintf("nodepool=%q", f.Name))...)
	if len(values) == 0 {
		return 0
	}
	return values[0]
}

// seriesOf are the values of a controller's series of this name that have these labels and values.
func seriesOf(ctx context.Context, controller *process.Controller, name string, labels ...string) (values []float64) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, controller.MetricsURL(), http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(series, name+"{") || !containsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Expect(err).NotTo(HaveOccurred())
		values = append(values, number)
	}
	return values
}

// passesOf counts the passes that a controller has ended, over all pools.
func passesOf(ctx context.Context, controller *process.Controller) (passes float64) {
	GinkgoHelper()
	for _, value := range seriesOf(ctx, controller, "controller_runtime_reconcile_total", `controller="rotation"`) {
		passes += value
	}
	return passes
}

// labelTouched stands on a NodePool for no other reason than that a change of it wakes a pass.
const labelTouched = "touched"

// isPassedOver wakes the controller for the pool, which must be the only one, until a pass has begun and ended since: what
// did not come of it does not come. Passes over one pool follow one another, so that of two that end the second has also
// begun by then.
func (s *scenario) isPassedOver(ctx context.Context, controller *process.Controller, f *fleet) {
	GinkgoHelper()
	for range 2 {
		before := passesOf(ctx, controller)
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"%d"}}}`, labelTouched, time.Now().UnixNano())
		_, err := shared.Dynamic().Resource(nodePools).Patch(ctx, f.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() float64 { return passesOf(ctx, controller) }).WithPolling(50*time.Millisecond).
			Should(BeNumerically(">", before), "passes that have ended")
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// isIn tells whether the claim exists and is in the state.
func isIn(world record.World, claim, state string) bool {
	found := world.Claims[claim]
	return found != nil && found.Annotations[rotation.KeyState] == state
}

// comesTo waits until the claim is in the state.
func (s *scenario) comesTo(ctx context.Context, claim, state string) {
	GinkgoHelper()
	s.await(ctx, fmt.Sprintf("NodeClaim %s is %s", claim, state), func(world record.World) bool { return isIn(world, claim, state) })
}

// ExpectEndings holds that the pool's attempts ended like this, in this order, each leaving behind what it must and no
// more.
func ExpectEndings(recording record.Recording, f *fleet, outcomes ...verdict.Outcome) {
	GinkgoHelper()
	Expect(verdict.Outcomes(verdict.Attempts(recording, f.Name))).To(Equal(outcomes), "outcomes")
	ended, breaches := verdict.EndedInOrder(recording, f.Name)
	Expect(breaches).To(BeEmpty(), "what an attempt left behind")
	Expect(ended).To(Equal(len(outcomes)), "endings judged")
}
