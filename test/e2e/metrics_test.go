// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/test/e2e/record"
)

var _ = Describe("The metrics of a running controller", func() {
	It("are those of the contract, tell of a rotation, and hold no claim's name (§4.2)", func(ctx SpecContext) {
		s, f, shut := begin(ctx), fleetOf("told", 1), fleetOf("shut", 0)
		s.stands(ctx, f)
		s.stands(ctx, shut)
		s.controllerRuns(ctx)
		s.governs(ctx, policyFor("told"))
		s.governs(ctx, policyFor("shut", func(spec *v1alpha1.RotationPolicySpec) { spec.MaintenanceWindows = inTwoDays() }))
		s.rotatesOnce(ctx, f)

		By("telling how the rotation went and what keeps the next from starting")
		Eventually(ctx, func() map[string]float64 { return s.series(ctx, f, "noderotation_blocked", "guard") }).
			WithTimeout(20 * time.Second).Should(Equal(map[string]float64{"frozen": 1}))
		Expect(s.series(ctx, shut, "noderotation_blocked", "guard")).To(Equal(map[string]float64{"in_window": 1}))
		transitions := s.series(ctx, f, "noderotation_transitions_total", "transition")
		Expect(transitions).To(SatisfyAll(HaveKeyWithValue("start", 1.0), HaveKeyWithValue("drain", 1.0),
			HaveKeyWithValue("drained", 1.0), HaveKeyWithValue("pending-timed-out", 0.0), Not(HaveKey(""))))
		Expect(s.reads(ctx, f, "noderotation_completed_total", `outcome="success"`)).To(Equal(1.0))
		Expect(s.reads(ctx, f, "noderotation_windows_missed_total")).To(BeZero())
		now := float64(time.Now().Unix())
		Expect(s.reads(ctx, shut, "noderotation_next_window_timestamp") - now).To(BeNumerically("~", 36*time.Hour.Seconds(), 13*time.Hour.Seconds()))
		Expect(s.reads(ctx, f, "noderotation_next_deadline_timestamp") - now).To(BeNumerically("~", longLife.Seconds(), time.Hour.Seconds()))

		By("being what docs/contract.md lists, all of it and nothing else")
		families := s.scrape(ctx)
		ours := map[string]string{}
		for name, family := range families {
			if strings.HasPrefix(name, "noderotation_") {
				ours[name] = strings.ToLower(family.GetType().String()) + " " + strings.Join(labelsOf(family), ", ")
			}
		}
		Expect(ours).To(Equal(contractMetrics()))

		By("naming no claim and no Node, so that their number is bounded")
		named := namesIn(s.recording(ctx))
		Expect(named).To(ContainElements(f.Originals))
		for _, family := range families {
			for _, value := range valuesOf(family) {
				Expect(named).NotTo(ContainElement(value), family.GetName())
			}
		}

		By("going with the pool's governance")
		deletePolicy(ctx, "told")
		Eventually(ctx, func() []string {
			var left []string
			for name, family := range s.scrape(ctx) {
				if slices.Contains(valuesOf(family), f.Name) {
					left = append(left, name)
				}
			}
			return left
		}).WithTimeout(20 * time.Second).Should(BeEmpty())
		Expect(s.series(ctx, shut, "noderotation_candidates", "nodepool")).NotTo(BeEmpty())
	}, SpecTimeout(patience))
})

// inTwoDays is a window that is closed today and tomorrow.
func inTwoDays() []v1alpha1.MaintenanceWindow {
	day := v1alpha1.Day(time.Now().UTC().AddDate(0, 0, 2).Format("Mon"))
	return []v1alpha1.MaintenanceWindow{{Timezone: "UTC", Start: "00:00", End: "24:00", Days: []v1alpha1.Day{day}}}
}

// scrape reads the controller's metrics as Prometheus does.
func (s *scenario) scrape(ctx context.Context) map[string]*dto.MetricFamily {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.controller.MetricsURL(), http.NoBody)
	Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	return families
}

// series has the values of the pool's series of a metric, by one of its labels.
func (s *scenario) series(ctx context.Context, f *fleet, name, by string) map[string]float64 {
	GinkgoHelper()
	values := map[string]float64{}
	for _, metric := range s.scrape(ctx)[name].GetMetric() {
		labels := map[string]string{}
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		if labels["nodepool"] == f.Name {
			values[labels[by]] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	return values
}

func labelsOf(family *dto.MetricFamily) []string {
	labels := map[string]bool{}
	for _, metric := range family.GetMetric() {
		for _, pair := range metric.GetLabel() {
			labels[pair.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(labels))
}

func valuesOf(family *dto.MetricFamily) []string {
	var values []string
	for _, metric := range family.GetMetric() {
		for _, pair := range metric.GetLabel() {
			values = append(values, pair.GetValue())
		}
	}
	return values
}

// contractMetrics are the type and the labels of each metric that docs/contract.md lists.
func contractMetrics() map[string]string {
	GinkgoHelper()
	_, here, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(here), "..", "..", "docs", "contract.md"))
	Expect(err).NotTo(HaveOccurred())
	row := regexp.MustCompile("(?m)^\\| `(noderotation_[a-z_]+)` \\| ([a-z]+) \\| ([a-z, ]+) \\|")
	listed := map[string]string{}
	for _, found := range row.FindAllStringSubmatch(string(text), -1) {
		labels := strings.Split(found[3], ", ")
		slices.Sort(labels)
		listed[found[1]] = found[2] + " " + strings.Join(labels, ", ")
	}
	Expect(listed).NotTo(BeEmpty())
	return listed
}

// namesIn are the names of every NodeClaim and Node that there ever was.
func namesIn(recording record.Recording) []string {
	names := map[string]bool{}
	recording.Replay(func(_ record.Event, world record.World) {
		for name := range world.Claims {
			names[name] = true
		}
		for name := range world.Nodes {
			names[name] = true
		}
	})
	return slices.Sorted(maps.Keys(names))
}
