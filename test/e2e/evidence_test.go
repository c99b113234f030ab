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

	"noderotation.io/noderotation/rotation"
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controller.MetricsURL(), http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	labels = append(labels, fmt.Sprintf("nodepool=%q", f.Name))
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if !strings.HasPrefix(series, name+"{") || !containsAll(series, labels) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		Expect(err).NotTo(HaveOccurred())
		return number
	}
	return 0
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
