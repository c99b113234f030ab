// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// seenAt looks at the pool at another time.
func seenAt(now time.Time) func(*rotation.Snapshot) {
	return func(s *rotation.Snapshot) { s.Now = now }
}

// onNodes gives every claim a Node.
func onNodes(s *rotation.Snapshot) {
	for i := range s.Claims {
		node := &corev1.Node{}
		node.Name = s.Claims[i].NodeName
		s.Nodes[node.Name] = node
	}
}

// due has every claim created ten days before theDay, and so of age.
func due(s *rotation.Snapshot) {
	onNodes(s)
	for i := range s.Claims {
		s.Claims[i].Created = theDay.Add(-10 * day)
	}
}

// blockedBy lists the guards that the pool's series names.
func (a *audience) blockedBy() []string {
	found := []string{}
	for series, value := range a.metrics() {
		if labels, is := strings.CutPrefix(series, "noderotation_blocked{"); is {
			Expect(value).To(Equal(1.0))
			found = append(found, strings.TrimSuffix(labels, ",api}"))
		}
	}
	return found
}

var _ = Describe("The guard that keeps a pool from starting (§4.2)", func() {
	var people *audience
	BeforeEach(func() { people = newAudience() })

	DescribeTable("has the only series of the pool", func(guard string, edits ...func(*rotation.Snapshot)) {
		people.observes(theFleet(due))
		people.observes(theFleet(edits...))
		Expect(people.blockedBy()).To(ConsistOf(guard))
	},
		Entry("a window that is closed", "in_window", due),
		Entry("a fatal finding", "feasible", due, seenAt(openSaturday), func(s *rotation.Snapshot) { s.Pool.ExpireAfter = ptr.To(day) }),
		Entry("a freeze", "frozen", due, seenAt(openSaturday), poolAnnotated(rotation.KeyFreeze, "soon")),
		Entry("a cooldown", "cooldown_elapsed", due, seenAt(openSaturday), poolAnnotated(rotation.KeyLastRotationAt, rotation.FormatStamp(openSaturday))),
		Entry("nothing to be done", "candidate", seenAt(openSaturday)),
		Entry("no room for a surge", "surge_headroom", due, seenAt(openSaturday), func(s *rotation.Snapshot) {
			s.Pool.Limits, s.Pool.Used = quantities("nodes", "3"), quantities("nodes", "3")
		}),
	)

	It("has none while a rotation is in flight, and none where nothing blocks", func() {
		people.observes(theFleet(due))
		people.observes(theFleet(due, poolAnnotated(rotation.KeyActiveRotation, "api-0")))
		Expect(people.blockedBy()).To(BeEmpty())
		people.observes(theFleet(due))
		people.observes(theFleet(due, seenAt(openSaturday)))
		Expect(people.blockedBy()).To(BeEmpty(), "a rotation starts")
	})

	It("goes with the pool's governance, with the pool, and while nothing can be decided", func() {
		for _, end := range []func(){
			func() { people.observes(theFleet(due, governedBy())) },
			func() { people.announcer.Forget("api") },
			func() {
				people.announcer.Trouble(context.Background(), rotation.Object{Name: "api"}, "AnnotationUnreadable", "the state is unknown")
			},
		} {
			people.observes(theFleet(due))
			Expect(people.blockedBy()).To(Equal([]string{"in_window"}))
			end()
			Expect(people.blockedBy()).To(BeEmpty())
		}
	})
})

var _ = Describe("The transitions that are counted (§4.2)", func() {
	transitions := func(people *audience) map[string]float64 {
		counted := map[string]float64{}
		for series, value := range people.metrics() {
			if labels, is := strings.CutPrefix(series, "noderotation_transitions_total{api,"); is && value > 0 {
				counted[strings.TrimSuffix(labels, "}")] = value
			}
		}
		return counted
	}

	It("are those of a rotation that changed something: what only waited is none", func() {
		w := aFleet()
		w.pass("api")
		w.pass("api")
		w.thePlaceholderRunsOn("spare", "old")
		w.pass("api")
		w.pass("api")
		w.theClaimFinalizes("old")
		w.pass("api")
		w.pass("api")
		Expect(transitions(w.leader.people)).To(Equal(map[string]float64{"start": 1, "drain": 1, "drained": 1}))
	})

	It("are a row that stays too, where it repaired something", func() {
		people := newAudience()
		people.announcer.Observe(context.Background(), aPassOver(theFleet(due, poolAnnotated(rotation.KeyActiveRotation, "api-0")), 1))
		Expect(transitions(people)).To(Equal(map[string]float64{"pending-wait": 1}))
	})

	It("stand at zero for every row from the start, for alerts on increase()", func() {
		people := newAudience()
		people.observes(theFleet())
		for _, row := range theTable.Table().RowIDs() {
			Expect(people.metrics()).To(HaveKeyWithValue("noderotation_transitions_total{api,"+row+"}", 0.0))
		}
	})
})

var _ = Describe("The windows that closed with candidates left (§4.2)", func() {
	var people *audience
	BeforeEach(func() { people = newAudience() })

	closing := openSaturday.Add(3 * time.Hour)
	missed := func() float64 { return people.metrics()["noderotation_windows_missed_total{api}"] }

	It("are counted once each, however long they have been over", func() {
		people.observes(theFleet(due, seenAt(openSaturday)))
		people.observes(theFleet(due, seenAt(closing.Add(-time.Second))))
		Expect(missed()).To(BeZero())
		for _, after := range []time.Duration{0, time.Minute, day} {
			people.observes(theFleet(due, seenAt(closing.Add(after))))
			Expect(missed()).To(Equal(1.0))
		}
		wednesday := openSaturday.Add(4 * day)
		people.observes(theFleet(due, seenAt(wednesday)))
		people.observes(theFleet(due, seenAt(wednesday.Add(4*time.Hour))))
		Expect(missed()).To(Equal(2.0))
	})

	DescribeTable("are not", func(before, after func(*rotation.Snapshot)) {
		people.observes(theFleet(before, seenAt(closing.Add(-time.Minute))))
		people.observes(theFleet(after, seenAt(closing.Add(time.Minute))))
		Expect(missed()).To(BeZero())
	},
		Entry("one that left nothing to be done", onNodes, onNodes),
		Entry("one after whose end a claim came of age", due, func(s *rotation.Snapshot) {
			due(s)
			age := 5*day + 22*time.Hour + 43*time.Minute
			for i := range s.Claims {
				s.Claims[i].Created = closing.Add(30 * time.Second).Add(-age)
			}
		}),
		Entry("one that an edit of the policy has made longer", due, func(s *rotation.Snapshot) {
			due(s)
			governedBy(wedAndSat("api", func(p *v1alpha1.RotationPolicy) { p.Spec.MaintenanceWindows[0].End = "07:00" }))(s)
		}),
		Entry("one whose pool has lost its policy", due, func(s *rotation.Snapshot) { due(s); governedBy()(s) }),
	)

	It("are not one that an edit of the policy has taken away", func() {
		people.observes(theFleet(due, seenAt(openSaturday)))
		narrowed := governedBy(wedAndSat("api", func(p *v1alpha1.RotationPolicy) { p.Spec.MaintenanceWindows[0].End = "02:30" }))
		people.observes(theFleet(due, narrowed, seenAt(openSaturday.Add(time.Minute))))
		people.observes(theFleet(due, narrowed, seenAt(closing.Add(time.Minute))))
		Expect(missed()).To(BeZero())
	})

	It("are not doubled by a new leader, which did not see the window open", func() {
		people.observes(theFleet(due, seenAt(openSaturday)))
		people = newAudience()
		people.observes(theFleet(due, seenAt(closing.Add(time.Minute))))
		Expect(missed()).To(BeZero())
	})
})

var _ = Describe("The Event about a short lead (§3.2)", func() {
	message := func(edits ...func(*rotation.Snapshot)) string {
		edits = append(edits, claimsExpiringAfter(8*day))
		for _, told := range controller.Conditions(theFleet(edits...)) {
			if told.Reason == "ShortLead" {
				return told.Message
			}
		}
		return ""
	}

	It("promises the earliest chance, but not under a fatal finding", func() {
		Expect(message()).To(ContainSubstring("it is rotated at the earliest one"))
		Expect(message(func(s *rotation.Snapshot) { s.Pool.ExpireAfter = ptr.To(8 * day) })).To(SatisfyAll(
			ContainSubstring("it is not rotated as long as ANonPositive stands"), Not(ContainSubstring("earliest"))))
	})
})
