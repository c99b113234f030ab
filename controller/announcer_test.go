// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// audience hears what an Announcer tells: Events as "reason Kind/name", and the metrics as "name{label values}".
type audience struct {
	announcer *controller.Announcer
	registry  *prometheus.Registry
	mu        sync.Mutex
	events    []heardEvent
	deaf      bool
}

type heardEvent struct {
	regarding, related *corev1.ObjectReference
	severity, reason   string
	action, note       string
}

func (e heardEvent) String() string {
	return e.reason + " " + e.regarding.Kind + "/" + e.regarding.Name
}

func (a *audience) Eventf(regarding, related runtime.Object, severity, reason, action, note string, args ...any) {
	if a.deaf {
		panic("the recorder is broken")
	}
	heard := heardEvent{regarding: regarding.(*corev1.ObjectReference), severity: severity, reason: reason, action: action, note: fmt.Sprintf(note, args...)}
	heard.related, _ = related.(*corev1.ObjectReference)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, heard)
}

func newAudience() *audience {
	a := &audience{registry: prometheus.NewRegistry()}
	metrics, err := controller.NewMetrics(a.registry, theTable.Table().RowIDs()...)
	if err != nil {
		panic(err)
	}
	a.announcer = controller.NewAnnouncer(a, metrics)
	return a
}

// heard lists the Events since the last call, as "reason Kind/name".
func (a *audience) heard() []string {
	out := []string{}
	for _, e := range a.events {
		out = append(out, e.String())
	}
	a.events = nil
	return out
}

// metrics gathers every series: counters and gauges by value, histograms by the number of observations.
func (a *audience) metrics() map[string]float64 {
	families, err := a.registry.Gather()
	if err != nil {
		panic(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			var labels []string
			for _, pair := range metric.Label {
				labels = append(labels, pair.GetValue())
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			values[family.GetName()+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}
	return values
}

// tells delivers what an effect would tell.
func (a *audience) tells(told effects.Announce) { a.announcer.Announce(context.Background(), told) }

// observes completes a pass that wrote nothing.
func (a *audience) observes(s rotation.Snapshot) {
	a.announcer.Observe(context.Background(), aPassOver(s))
}

// aPassOver is a pass over the snapshot, decided by the product's own table, in which so many writes were made.
func aPassOver(s rotation.Snapshot, writes ...int) controller.Observation {
	state, err := rotation.State(s)
	if err != nil {
		panic(err)
	}
	decision, err := theTable.Decide(state, &s)
	if err != nil {
		panic(err)
	}
	pass := controller.Observation{Snapshot: &s, Decision: decision}
	for _, n := range writes {
		pass.Writes += n
	}
	return pass
}

// theDay of these tests is a Friday; the windows of the policy open Saturday 02:00 in Tokyo, 17:00 UTC of that day.
var theDay = time.Date(2026, time.January, 9, 12, 0, 0, 0, time.UTC)

// wedAndSat is the policy of §3.2's first worked example, edited.
func wedAndSat(name string, edits ...func(*v1alpha1.RotationPolicy)) *v1alpha1.RotationPolicy {
	p := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{
		{Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00"},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// theFleet is the pool "api" with three claims of a day, under wedAndSat: nothing is wrong with it.
func theFleet(edits ...func(*rotation.Snapshot)) rotation.Snapshot {
	s := rotation.Snapshot{
		Now: theDay,
		Pool: rotation.Pool{
			Object:      rotation.Object{Name: "api", UID: "uid-api"},
			ExpireAfter: ptr.To(14 * 24 * time.Hour), TerminationGracePeriod: ptr.To(time.Hour),
		},
		Nodes: map[string]*corev1.Node{},
	}
	for i := range 3 {
		s.Claims = append(s.Claims, &rotation.Claim{
			Object:  rotation.Object{Name: fmt.Sprintf("api-%d", i), UID: "uid"},
			Created: theDay.Add(-24 * time.Hour), Ready: true, NodeName: fmt.Sprintf("node-%d", i),
			ExpireAfter: ptr.To(14 * 24 * time.Hour), TerminationGracePeriod: ptr.To(time.Hour),
		})
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.Claims[i].NodeName, Labels: map[string]string{
			corev1.LabelTopologyZone: "zone-a", corev1.LabelArchStable: "amd64", "karpenter.sh/capacity-type": "on-demand"}}}
		s.Nodes[node.Name] = node
	}
	governedBy(wedAndSat("api"))(&s)
	for _, edit := range edits {
		edit(&s)
	}
	return s.Observe()
}

func governedBy(policies ...*v1alpha1.RotationPolicy) func(*rotation.Snapshot) {
	return func(s *rotation.Snapshot) {
		var assessments []rotation.Assessment
		for _, p := range policies {
			assessments = append(assessments, rotation.Assess(p, theDay))
		}
		s.Governance = rotation.Govern(assessments, s.Pool.Labels)
	}
}

func poolAnnotated(key, value string) func(*rotation.Snapshot) {
	return func(s *rotation.Snapshot) {
		s.Pool.Annotations = rotation.Annotate(s.Pool.Annotations, map[string]string{key: value})
	}
}

func claimAnnotated(i int, key, value string) func(*rotation.Snapshot) {
	return func(s *rotation.Snapshot) {
		s.Claims[i].Annotations = rotation.Annotate(s.Claims[i].Annotations, map[string]string{key: value})
	}
}

func claimsExpiringAfter(d time.Duration) func(*rotation.Snapshot) {
	return func(s *rotation.Snapshot) {
		for i := range s.Claims {
			s.Claims[i].ExpireAfter = &d
		}
	}
}

// outcome is what the completing rows tell of a rotation of api-0.
func outcome(reason string, o effects.Outcome, attempt string) effects.Announce {
	return effects.Announce{
		Pool: "api", Claim: "api-0", Attempt: attempt, Reason: reason, Severity: effects.Normal, Message: "as it went", Outcome: o,
		Target: effects.Target{Kind: "NodePool", Object: rotation.Object{Name: "api"}},
	}
}

// lasting is what an effect tells as a condition of the pool.
func lasting(reason, message string) effects.Announce {
	told := outcome(reason, "", "started 12:00")
	told.Condition, told.Severity, told.Message = true, effects.Warning, message
	return told
}

var _ = Describe("Telling what happened to a rotation (§4.2, §5.2 observability skews)", func() {
	var people *audience
	BeforeEach(func() { people = newAudience() })

	It("counts a success once, though the pass is made again after a conflict", func() {
		done := outcome(effects.ReasonRotationCompleted, effects.Success, "drain 12:10")
		people.tells(done)
		people.tells(done)

		Expect(people.heard()).To(Equal([]string{"RotationCompleted NodePool/api"}))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0))
	})

	It("counts an expiry once, though the claim is gone when the pass is made again", func() {
		people.tells(outcome(effects.ReasonRotationExpired, effects.Expired, "failures "))
		people.tells(outcome(effects.ReasonRotationExpired, effects.Expired, "drain "))

		Expect(people.heard()).To(HaveLen(1))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,expired}", 1.0))
	})

	It("counts every failed attempt of one claim, each once", func() {
		for _, attempt := range []string{"failures 1", "failures 1", "failures 2"} {
			people.tells(outcome(effects.ReasonRotationFailed, effects.Failure, attempt))
		}
		Expect(people.heard()).To(HaveLen(2))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,failure}", 2.0))
	})

	It("counts the successes of one claim after another", func() {
		for i := range 3 {
			done := outcome(effects.ReasonRotationCompleted, effects.Success, "drain 12:10")
			done.Claim = fmt.Sprintf("api-%d", i)
			people.tells(done)
		}
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,success}", 3.0))
	})

	It("tells a second loss of governance over the same claim, which has not failed in between", func() {
		for _, started := range []string{"started 12:00", "started 13:00"} {
			people.tells(outcome(effects.ReasonRotationStarted, "", started))
			people.tells(outcome(effects.ReasonGovernanceLost, "", "failures "))
			people.tells(outcome(effects.ReasonGovernanceLost, "", "failures "))
		}
		Expect(people.heard()).To(Equal([]string{
			"RotationStarted NodePool/api", "GovernanceLost NodePool/api",
			"RotationStarted NodePool/api", "GovernanceLost NodePool/api",
		}))
	})

	It("observes a duration once, and never a negative one", func() {
		wait := effects.Announce{Pool: "api", Claim: "api-0", Attempt: "started 12:00", Phase: effects.SurgeWait, Duration: 90 * time.Second}
		people.tells(wait)
		people.tells(wait)
		drain := effects.Announce{Pool: "api", Claim: "api-0", Attempt: "drain 12:02", Phase: effects.Drain, Duration: -time.Second}
		people.tells(drain)

		Expect(people.heard()).To(BeEmpty())
		Expect(people.metrics()).To(SatisfyAll(
			HaveKeyWithValue("noderotation_duration_seconds{api,surge_wait}", 1.0),
			HaveKeyWithValue("noderotation_duration_seconds{api,drain}", 1.0)))
	})

	It("counts a forceful fallback once, though a torn start is finished by a later pass", func() {
		fallback := outcome(effects.ReasonForcefulFallback, "", "failures ")
		fallback.Fallback = true
		people.tells(fallback)
		people.tells(fallback)
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_forceful_fallback_total{api}", 1.0))
	})

	It("sends no Event for what is only a log line", func() {
		people.tells(effects.Announce{Pool: "api", Claim: "api-0", Message: "nothing is reaped: it holds a Pod"})
		Expect(people.heard()).To(BeEmpty())
	})

	It("shows the rotation's other object beside the Event's own, so that two rotations make no series", func() {
		people.tells(outcome(effects.ReasonRotationStarted, "", "started 12:00"))
		failed := outcome(effects.ReasonRotationFailed, effects.Failure, "failures 1")
		failed.Target = effects.Target{Kind: "NodeClaim", Object: rotation.Object{Name: "api-0", UID: "uid-0"}}
		people.tells(failed)

		started, told := people.events[0], people.events[1]
		Expect(started.regarding).To(Equal(&corev1.ObjectReference{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "api"}))
		Expect(started.related).To(Equal(&corev1.ObjectReference{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "api-0"}))
		Expect(told.regarding).To(Equal(&corev1.ObjectReference{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: "api-0", UID: "uid-0"}))
		Expect(told.related).To(Equal(&corev1.ObjectReference{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "api"}))
		Expect(started.action).NotTo(BeEmpty(), "the API server refuses an Event without an action")
	})

	It("cuts a note that the API server would refuse, between two characters", func() {
		long := outcome(effects.ReasonRotationStarted, "", "started 12:00")
		long.Message = "100% " + strings.Repeat("ü", 1000)
		people.tells(long)

		note := people.events[0].note
		Expect(len(note)).To(And(BeNumerically("<=", 1024), BeNumerically(">", 1000)))
		Expect(utf8.ValidString(note)).To(BeTrue())
		Expect(note).To(And(HavePrefix("100% ü"), HaveSuffix("…")))
	})

	It("loses nothing when the passes of many pools run side by side", func() {
		var passes sync.WaitGroup
		for i := range 8 {
			passes.Go(func() {
				s := theFleet(poolAnnotated(rotation.KeyFreeze, "soon"))
				s.Pool.Name = fmt.Sprintf("pool-%d", i)
				done := outcome(effects.ReasonRotationCompleted, effects.Success, "drain 12:10")
				done.Pool = s.Pool.Name
				for range 20 {
					people.tells(done)
					people.observes(s)
				}
				people.announcer.Forget("pool-0")
			})
		}
		passes.Wait()
		Expect(people.heard()).To(ContainElements("FreezeUnreadable NodePool/pool-1", "FreezeUnreadable NodePool/pool-7"))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{pool-7,success}", 1.0))
	})

	It("goes on when the recorder is broken, and still counts", func() {
		people.deaf = true
		Expect(func() {
			people.tells(outcome(effects.ReasonRotationCompleted, effects.Success, "drain 12:10"))
			people.observes(theFleet(poolAnnotated(rotation.KeyFreeze, "soon")))
			people.announcer.Trouble(context.Background(), rotation.Object{Name: "api"}, "SomeTrouble", "it is bad")
		}).NotTo(Panic())
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_completed_total{api,success}", 1.0))
	})
})

var _ = Describe("Telling what lasts (§4.2: on the change into the condition, not on every pass)", func() {
	var people *audience
	BeforeEach(func() { people = newAudience() })

	It("tells a condition of the snapshot when it begins, and again when it returns", func() {
		frozen := theFleet(poolAnnotated(rotation.KeyFreeze, "soon"))
		people.observes(frozen)
		Expect(people.heard()).To(Equal([]string{"FreezeUnreadable NodePool/api"}))
		people.observes(frozen)
		Expect(people.heard()).To(BeEmpty())

		people.observes(theFleet())
		people.observes(frozen)
		Expect(people.heard()).To(Equal([]string{"FreezeUnreadable NodePool/api"}))
	})

	It("tells what an effect repeats once, whatever its message says by then, and again when it returns", func() {
		for minute := range 3 {
			people.tells(lasting(effects.ReasonDrainStuck, fmt.Sprintf("overdue for %d minutes", minute)))
			people.observes(theFleet())
			Expect(people.metrics()).To(HaveKeyWithValue("noderotation_drain_stuck{api}", 1.0))
		}
		Expect(people.heard()).To(Equal([]string{"DrainStuck NodePool/api"}))

		people.observes(theFleet())
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_drain_stuck{api}", 0.0))
		people.tells(lasting(effects.ReasonDrainStuck, "overdue once more"))
		Expect(people.heard()).To(Equal([]string{"DrainStuck NodePool/api"}))
	})

	It("keeps a condition over passes that did not complete", func() {
		people.tells(lasting(effects.ReasonInsufficientHeadroom, "no room"))
		people.tells(lasting(effects.ReasonInsufficientHeadroom, "no room"))
		people.observes(theFleet())
		people.tells(lasting(effects.ReasonInsufficientHeadroom, "no room"))
		Expect(people.heard()).To(Equal([]string{"InsufficientHeadroom NodePool/api"}))
	})

	It("tells each unreadable annotation by itself, with its place", func() {
		people.observes(theFleet(
			poolAnnotated(rotation.KeyLastRotationAt, "yesterday"), poolAnnotated(rotation.KeyLastFailureAt, "yesterday"),
			claimAnnotated(1, rotation.KeyRetryCount, "many")))

		var places []string
		for _, e := range people.events {
			places = append(places, e.String()+" "+e.regarding.FieldPath)
		}
		Expect(places).To(Equal([]string{
			"AnnotationUnreadable NodePool/api metadata.annotations[noderotation.io/last-rotation-at]",
			"AnnotationUnreadable NodePool/api metadata.annotations[noderotation.io/last-failure-at]",
			"AnnotationUnreadable NodeClaim/api-1 metadata.annotations[noderotation.io/retry-count]",
		}))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_annotation_unreadable{api}", 3.0))
	})

	It("spreads hundreds of claims with a short lead over several passes, and tells each once", func() {
		s := theFleet()
		one := *s.Claims[0]
		s.Claims = nil
		for i := range 120 {
			one.Name = fmt.Sprintf("api-%03d", i)
			s.Claims = append(s.Claims, new(one))
		}
		claimsExpiringAfter(8 * 24 * time.Hour)(&s)
		var heard []int
		told := map[string]int{}
		for range 5 {
			people.observes(s)
			events := people.heard()
			heard = append(heard, len(events))
			for _, e := range events {
				told[e]++
			}
		}
		Expect(heard).To(Equal([]int{50, 50, 20, 0, 0}))
		Expect(told).To(HaveLen(120))
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_short_lead_nodes{api}", 120.0))
	})

	It("tells a trouble once, shows it until a pass completes, and tells its return", func() {
		ctx, pool := context.Background(), rotation.Object{Name: "api", UID: "uid-api"}
		for range 3 {
			people.announcer.Trouble(ctx, pool, effects.ReasonAnnotationUnreadable, "the state is unknown")
			Expect(people.metrics()).To(HaveKeyWithValue("noderotation_stalled{api}", 1.0))
		}
		Expect(people.heard()).To(Equal([]string{"AnnotationUnreadable NodePool/api"}))

		people.observes(theFleet())
		Expect(people.metrics()).To(HaveKeyWithValue("noderotation_stalled{api}", 0.0))
		people.announcer.Trouble(ctx, pool, effects.ReasonAnnotationUnreadable, "the state is unknown")
		Expect(people.heard()).To(Equal([]string{"AnnotationUnreadable NodePool/api"}))
	})

	It("keeps the troubles and conditions of two pools apart", func() {
		other := theFleet(poolAnnotated(rotation.KeyFreeze, "soon"))
		people.observes(other)
		other.Pool.Name = "batch"
		people.observes(other)
		Expect(people.heard()).To(Equal([]string{"FreezeUnreadable NodePool/api", "FreezeUnreadable NodePool/batch"}))
	})
})

// BenchmarkObserve is what showing an idle pass costs, in a pool of 500 claims in which nothing changes: an ordinary
// one, and one whose claims all have a short lead.
func BenchmarkObserve(b *testing.B) {
	for name, edits := range map[string][]func(*rotation.Snapshot){
		"ordinary":   nil,
		"short-lead": {claimsExpiringAfter(8 * 24 * time.Hour)},
	} {
		s := theFleet()
		one := *s.Claims[0]
		s.Claims = nil
		for i := range 500 {
			one.Name = fmt.Sprintf("api-%03d", i)
			one.Annotations = map[string]string{"karpenter.sh/nodepool-hash": "1", "karpenter.sh/nodepool-hash-version": "v3"}
			s.Claims = append(s.Claims, new(one))
		}
		for _, edit := range edits {
			edit(&s)
		}
		s = s.Observe()
		people := newAudience()
		pass := aPassOver(s)
		for range 20 {
			people.announcer.Observe(b.Context(), pass)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				people.announcer.Observe(b.Context(), pass)
			}
		})
	}
}
