// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/ptr"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// ofPool keeps the series of one pool.
func ofPool(metrics map[string]float64, pool string) map[string]float64 {
	of := map[string]float64{}
	for _, name := range controller.MetricNames() {
		if value, found := metrics[name+"{"+pool+"}"]; found {
			of[name] = value
		}
	}
	return of
}

var _ = Describe("The metrics (§4.2)", func() {
	It("have the names and labels of the contract", func() {
		labels := map[string][]string{}
		for _, s := range controller.AllSeries() {
			labels[s.Name] = s.Labels
		}
		for _, gauge := range []string{
			"candidates", "in_progress", "window_active", "policy_conflict", "freeze_until_timestamp", "age_threshold_seconds",
			"rotation_chances", "throughput_capacity", "t_rot_estimate_seconds", "t_rot_bound_seconds", "window_period_seconds",
			"short_lead_nodes", "drain_stuck", "retry_count", "next_deadline_timestamp", "next_window_timestamp",
		} {
			Expect(labels).To(HaveKeyWithValue("noderotation_"+gauge, []string{"nodepool"}))
		}
		Expect(labels).To(HaveKeyWithValue("noderotation_blocked", []string{"nodepool", "guard"}))
		Expect(labels).To(HaveKeyWithValue("noderotation_transitions_total", []string{"nodepool", "transition"}))
		Expect(labels).To(HaveKeyWithValue("noderotation_completed_total", []string{"nodepool", "outcome"}))
		Expect(labels).To(HaveKeyWithValue("noderotation_forceful_fallback_total", []string{"nodepool"}))
		Expect(labels).To(HaveKeyWithValue("noderotation_duration_seconds", []string{"nodepool", "phase"}))
	})

	It("refuse to be registered twice, and name what was refused", func() {
		registry := prometheus.NewRegistry()
		_, err := controller.NewMetrics(registry)
		Expect(err).NotTo(HaveOccurred())
		_, err = controller.NewMetrics(registry)
		Expect(err).To(MatchError(ContainSubstring("noderotation_candidates cannot be registered")))
	})
})

var _ = Describe("The gauges of a pool (§4.2)", func() {
	var people *audience
	BeforeEach(func() { people = newAudience() })

	It("show the symbols of the first worked example (§3.2)", func() {
		people.observes(theFleet())
		Expect(ofPool(people.metrics(), "api")).To(Equal(map[string]float64{
			"noderotation_candidates":             0,
			"noderotation_in_progress":            0,
			"noderotation_window_active":          0,
			"noderotation_policy_conflict":        0,
			"noderotation_freeze_until_timestamp": 0,
			"noderotation_age_threshold_seconds":  (5*24*time.Hour + 22*time.Hour + 43*time.Minute).Seconds(),
			"noderotation_rotation_chances":       2,
			"noderotation_throughput_capacity":    10,
			"noderotation_t_rot_estimate_seconds": (15 * time.Minute).Seconds(),
			"noderotation_t_rot_bound_seconds":    (77 * time.Minute).Seconds(),
			"noderotation_window_period_seconds":  (4 * 24 * time.Hour).Seconds(),
			"noderotation_short_lead_nodes":       0,
			"noderotation_drain_stuck":            0,
			"noderotation_retry_count":            0,
			"noderotation_annotation_unreadable":  0,
			"noderotation_stalled":                0,
			// Saturday 02:00 in Tokyo, and thirteen days of a claim's fourteen.
			"noderotation_next_window_timestamp":   float64(openSaturday.Add(-time.Hour).Unix()),
			"noderotation_next_deadline_timestamp": float64(theDay.Add(13 * 24 * time.Hour).Unix()),

			"noderotation_forceful_fallback_total": 0,
			"noderotation_windows_missed_total":    0,
		}))
	})

	It("begin the counters and durations at zero, for alerts on increase()", func() {
		people.observes(theFleet())
		Expect(people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_completed_total{api,success}", 0.0),
			HaveKeyWithValue("noderotation_completed_total{api,failure}", 0.0),
			HaveKeyWithValue("noderotation_completed_total{api,expired}", 0.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,surge_wait}", 0.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,drain}", 0.0)))
	})

	It("show an open window and a rotation in flight with its failures", func() {
		people.observes(theFleet(
			func(s *rotation.Snapshot) { s.Now = theDay.Add(6 * time.Hour) },
			poolAnnotated(rotation.KeyActiveRotation, "api-0"),
			claimAnnotated(0, rotation.KeyRetryCount, "2"), claimAnnotated(1, rotation.KeyRetryCount, "1")))
		Expect(people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_window_active{api}", 1.0),
			HaveKeyWithValue("noderotation_in_progress{api}", 1.0),
			HaveKeyWithValue("noderotation_retry_count{api}", 2.0)))
	})

	DescribeTable("show a freeze so that it can be compared with time() (§3.1)",
		func(freeze string, until float64) {
			people.observes(theFleet(poolAnnotated(rotation.KeyFreeze, freeze)))
			Expect(people.metrics()).To(HaveKeyWithValue("noderotation_freeze_until_timestamp{api}", until))
		},
		Entry("until a time", "2026-02-01T00:00:00Z", float64(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC).Unix())),
		Entry("that cannot be read, which counts as frozen", "next month", math.Inf(1)),
	)

	It("have no age and no chances where nodes never expire (§3.2)", func() {
		people.observes(theFleet())
		people.observes(theFleet(func(s *rotation.Snapshot) { s.Pool.ExpireAfter = nil }))
		Expect(ofPool(people.metrics(), "api")).NotTo(Or(
			HaveKey("noderotation_age_threshold_seconds"), HaveKey("noderotation_rotation_chances")))
	})

	It("leave a claim that is being deleted out of the short leads and the retries", func() {
		people.observes(theFleet(claimsExpiringAfter(8*24*time.Hour), claimAnnotated(0, rotation.KeyRetryCount, "4"),
			func(s *rotation.Snapshot) { s.Claims[0].Deleted = theDay }))
		Expect(people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_short_lead_nodes{api}", 2.0),
			HaveKeyWithValue("noderotation_retry_count{api}", 0.0)))
	})
})

var _ = Describe("The end of a pool's series (§4.2)", func() {
	var people *audience
	BeforeEach(func() {
		people = newAudience()
		people.observes(theFleet())
		people.tells(outcome(effects.ReasonRotationCompleted, effects.Success, "drain 12:10"))
		people.tells(effects.Announce{Pool: "api", Claim: "api-0", Phase: effects.Drain, Duration: time.Minute})
		batch := theFleet()
		batch.Pool.Name = "batch"
		people.observes(batch)
	})

	batchOnly := func() {
		GinkgoHelper()
		Expect(people.metrics()).To(HaveKey("noderotation_candidates{batch}"))
		for series := range people.metrics() {
			Expect(series).To(MatchRegexp(`[{,]batch[,}]`))
		}
	}

	It("comes with the pool's own", func() {
		people.announcer.Forget("api")
		batchOnly()
		people.announcer.Forget("never seen")
	})

	It("comes with the loss of its policy", func() {
		people.observes(theFleet(governedBy()))
		batchOnly()
	})

	It("waits, as far as a rotation is concerned, until that is taken back", func() {
		people.observes(theFleet(governedBy(), poolAnnotated(rotation.KeyActiveRotation, "api-0")))
		Expect(ofPool(people.metrics(), "api")).To(Equal(map[string]float64{"noderotation_in_progress": 1}))
		people.observes(theFleet(governedBy()))
		batchOnly()
	})

	It("spares the conflict while policies tie, which is told once (§5.4)", func() {
		tie := governedBy(wedAndSat("api"), wedAndSat("night"))
		people.heard()
		for range 2 {
			people.observes(theFleet(tie))
			Expect(ofPool(people.metrics(), "api")).To(Equal(map[string]float64{"noderotation_policy_conflict": 1}))
		}
		Expect(people.heard()).To(Equal([]string{"PolicyConflict NodePool/api"}))

		people.observes(theFleet())
		Expect(people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_policy_conflict{api}", 0.0),
			HaveKeyWithValue("noderotation_completed_total{api,success}", 0.0)))
	})

	It("takes a trouble with it", func() {
		people.heard()
		people.announcer.Trouble(GinkgoT().Context(), rotation.Object{Name: "lost"}, "SomeTrouble", "it is bad")
		people.announcer.Forget("lost")
		Expect(people.metrics()).NotTo(HaveKey("noderotation_stalled{lost}"))
		people.announcer.Trouble(GinkgoT().Context(), rotation.Object{Name: "lost"}, "SomeTrouble", "it is bad")
		Expect(people.heard()).To(HaveLen(2))
	})
})

var _ = Describe("The conditions of a snapshot (§3.2 findings, §4.2 Events)", func() {
	reasons := func(s rotation.Snapshot) []string {
		out := []string{}
		for _, told := range controller.Conditions(s) {
			Expect(told.Condition).To(BeTrue())
			Expect(told.Severity).To(Equal(effects.Warning))
			Expect(told.Message).NotTo(BeEmpty())
			out = append(out, told.Reason+" "+told.Target.Kind+"/"+told.Target.Name)
		}
		return out
	}

	It("are none where nothing is wrong", func() {
		Expect(reasons(theFleet())).To(BeEmpty())
	})

	It("are the findings of the policy and of the pool, fatal ones too, by their codes", func() {
		s := theFleet(
			func(s *rotation.Snapshot) { s.Pool.TerminationGracePeriod = nil },
			func(s *rotation.Snapshot) { s.Pool.ExpireAfter = ptr.To(24 * time.Hour) },
			governedBy(wedAndSat("api", func(p *v1alpha1.RotationPolicy) { p.Spec.MinRotationChances = ptr.To[int32](1) })))
		Expect(reasons(s)).To(ContainElements("ANonPositive NodePool/api", "KBelowTwo NodePool/api", "TGPUnset NodePool/api"))
	})

	It("are a short lead on each claim that has one, and says by how much", func() {
		s := theFleet(claimsExpiringAfter(8 * 24 * time.Hour))
		Expect(reasons(s)).To(Equal([]string{"ShortLead NodeClaim/api-0", "ShortLead NodeClaim/api-1", "ShortLead NodeClaim/api-2"}))
		Expect(controller.Conditions(s)[0].Message).To(And(ContainSubstring("8d"), ContainSubstring("8d 1h 17m")))
		Expect(controller.Conditions(s)[0].Claim).To(Equal("api-0"))
	})

	It("are a tie alone where a tie leaves the pool without a policy", func() {
		tied := theFleet(governedBy(wedAndSat("api"), wedAndSat("night")), poolAnnotated(rotation.KeyFreeze, "soon"))
		Expect(reasons(tied)).To(Equal([]string{"PolicyConflict NodePool/api"}))
		Expect(controller.Conditions(tied)[0].Message).To(ContainSubstring("RotationPolicies api and night"))
	})

	It("are none of a pool that no policy selects", func() {
		Expect(reasons(theFleet(governedBy(), poolAnnotated(rotation.KeyFreeze, "soon")))).To(BeEmpty())
	})
})
