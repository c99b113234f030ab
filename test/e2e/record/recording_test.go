// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/test/e2e/record"
)

func claim(name string, annotations ...string) *karpenterv1.NodeClaim {
	c := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{karpenterv1.NodePoolLabelKey: "web"}, Annotations: map[string]string{},
	}}
	for _, annotation := range annotations {
		key, value, _ := strings.Cut(annotation, "=")
		c.Annotations[key] = value
	}
	return c
}

func pod(name, node string, phase corev1.PodPhase) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	p.Spec.NodeName, p.Status.Phase = node, phase
	return p
}

// lifeOf is a recording of a claim that changes and goes, beside a Pod that comes and stays.
func lifeOf() record.Recording {
	return record.NewRecording([]record.Object{claim("a")},
		record.Event{Change: watch.Added, After: pod("p", "", corev1.PodPending)},
		record.Event{Change: watch.Modified, After: claim("a", "noderotation.io/state=pending")},
		record.Event{Change: watch.Modified, After: pod("p", "n", corev1.PodRunning)},
		record.Event{Change: watch.Deleted, After: claim("a")},
	)
}

func TestReplayShowsTheWorldAfterEachEvent(t *testing.T) {
	g := NewWithT(t)
	var states, nodes []string
	lifeOf().Replay(func(_ record.Event, world record.World) {
		state := "gone"
		if c := world.Claims["a"]; c != nil {
			state = c.Annotations["noderotation.io/state"]
		}
		states = append(states, state)
		nodes = append(nodes, world.Pods[types.NamespacedName{Namespace: "default", Name: "p"}].Spec.NodeName)
	})
	g.Expect(states).To(Equal([]string{"", "pending", "pending", "gone"}))
	g.Expect(nodes).To(Equal([]string{"", "", "n", "n"}))
}

func TestAnEventKnowsWhatWasBefore(t *testing.T) {
	g := NewWithT(t)
	events := lifeOf().Events()
	g.Expect(events[0].Before).To(BeNil())
	g.Expect(events[2].Before.(*corev1.Pod).Status.Phase).To(Equal(corev1.PodPending))
	g.Expect(events[3].After).To(BeNil())
	g.Expect(events[3].Object().GetAnnotations()).To(HaveKeyWithValue("noderotation.io/state", "pending"))
}

func TestEndAndBetween(t *testing.T) {
	g := NewWithT(t)
	whole := lifeOf()
	g.Expect(whole.End().Claims).To(BeEmpty())
	g.Expect(record.NewRecording([]record.Object{claim("a")}).End().Claims).To(HaveLen(1), "an end without events is the start")

	middle := whole.Between(1, 3)
	g.Expect(middle.Events()).To(HaveLen(2))
	g.Expect(middle.End().Claims).To(HaveKey("a"))
	g.Expect(middle.End().PodsOn("n")).To(HaveLen(1))
	first := 0
	middle.Replay(func(_ record.Event, world record.World) {
		first++
		if first == 1 {
			g.Expect(world.Pods).To(HaveLen(1), "what came before is part of the start")
		}
	})
	g.Expect(whole.Between(4, 9).Events()).To(BeEmpty())
}

func TestTheWorldAnswers(t *testing.T) {
	g := NewWithT(t)
	other := claim("b")
	other.Labels = nil
	world := record.NewRecording([]record.Object{
		claim("a"), other, pod("p", "n", corev1.PodRunning), pod("done", "n", corev1.PodSucceeded), pod("waiting", "", corev1.PodPending),
	}).End()
	g.Expect(world.ClaimsOf("web")).To(ConsistOf(HaveField("Name", "a")))
	g.Expect(world.PodsOn("n")).To(ConsistOf(HaveField("Name", "p")))
	g.Expect(world.PodsOn("")).To(BeEmpty())
	g.Expect(record.NodeReady(nil)).To(BeFalse())
	ready := pod("p", "n", corev1.PodRunning)
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	g.Expect(record.PodReady(ready)).To(BeTrue())
	ready.DeletionTimestamp = new(metav1.Now())
	g.Expect(record.PodReady(ready)).To(BeFalse(), "it is on its way out")
}

func TestTheStoryNamesWhatChanged(t *testing.T) {
	var story strings.Builder
	lifeOf().Tell(&story)
	g := NewWithT(t)
	g.Expect(strings.Split(strings.TrimSpace(story.String()), "\n")).To(HaveExactElements(
		MatchRegexp(`^1 +Pod +p: added phase=Pending, ready=false$`),
		MatchRegexp(`^ +2 +NodeClaim +a: noderotation.io/state=pending$`),
		MatchRegexp(`^ +3 +Pod +p: node=n, phase=Running$`),
		MatchRegexp(`^ +4 +NodeClaim +a: deleted$`),
	))
}
