// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"noderotation.io/noderotation/effects"
)

// SeriesKind is the type of a metric, in Prometheus' word.
type SeriesKind string

// The kinds of metrics that the product has.
const (
	GaugeSeries     SeriesKind = "gauge"
	CounterSeries   SeriesKind = "counter"
	HistogramSeries SeriesKind = "histogram"
)

// Series describes one metric for the people who read it. Name, kind and labels are a public contract (§4.2).
type Series struct {
	Name   string
	Kind   SeriesKind
	Labels []string
	Help   string
}

// Labels of the series.
const (
	labelPool    = "nodepool"
	labelOutcome = "outcome"
	labelPhase   = "phase"
)

// gauge is the index of a gauge in gaugeSeries. Every gauge has the one label nodepool.
type gauge int

const (
	gaugeCandidates gauge = iota
	gaugeInProgress
	gaugeWindowActive
	gaugePolicyConflict
	gaugeFreezeUntil
	gaugeAgeThreshold
	gaugeChances
	gaugeCapacity
	gaugeRotationEstimate
	gaugeRotationBound
	gaugeWindowPeriod
	gaugeShortLead
	gaugeDrainStuck
	gaugeRetryCount
	gaugeUnreadable
	gaugeBlocked

	numGauges
)

var gaugeSeries = [numGauges]struct{ name, help string }{
	gaugeCandidates:       {"noderotation_candidates", "NodeClaims that are eligible for rotation now."},
	gaugeInProgress:       {"noderotation_in_progress", "1 while a rotation is anchored on the NodePool, else 0."},
	gaugeWindowActive:     {"noderotation_window_active", "1 while a maintenance window of the governing policy is open, else 0."},
	gaugePolicyConflict:   {"noderotation_policy_conflict", "1 while policies of equal specificity tie for the NodePool, which is then not rotated, else 0."},
	gaugeFreezeUntil:      {"noderotation_freeze_until_timestamp", "Unix time in seconds until which the NodePool is frozen; 0 without a freeze, +Inf for a freeze that cannot be read."},
	gaugeAgeThreshold:     {"noderotation_age_threshold_seconds", "Age at which a node of the NodePool is due (A); absent where nodes never come of age."},
	gaugeChances:          {"noderotation_rotation_chances", "Windows that a due node lives to see (G); absent where nodes never expire."},
	gaugeCapacity:         {"noderotation_throughput_capacity", "Rotations that one window occurrence has room for (C)."},
	gaugeRotationEstimate: {"noderotation_t_rot_estimate_seconds", "What a rotation is expected to take (t_rot_est)."},
	gaugeRotationBound:    {"noderotation_t_rot_bound_seconds", "The longest that a rotation can take (t_rot)."},
	gaugeWindowPeriod:     {"noderotation_window_period_seconds", "Worst-case time from the start of one window occurrence to the next (P)."},
	gaugeShortLead:        {"noderotation_short_lead_nodes", "NodeClaims whose life is too short for the chances that they should get."},
	gaugeDrainStuck:       {"noderotation_drain_stuck", "1 while a drain is overdue, else 0."},
	gaugeRetryCount:       {"noderotation_retry_count", "The most failed attempts that any NodeClaim of the NodePool has behind it."},
	gaugeUnreadable:       {"noderotation_annotation_unreadable", "Annotations of the NodePool and its NodeClaims that cannot be read."},
	gaugeBlocked:          {"noderotation_blocked", "1 while nothing can be decided for the NodePool until a person has acted, else 0."},
}

// The other series.
const (
	nameCompleted = "noderotation_completed_total"
	nameFallback  = "noderotation_forceful_fallback_total"
	nameDuration  = "noderotation_duration_seconds"

	helpCompleted = "Rotations that have ended, by outcome: success, failure or expired."
	helpFallback  = "Rotations that began without a surge, since the deadline was too near for one."
	helpDuration  = "Duration of a rotation's phases: surge_wait, from its start until the replacement stands, and drain."
)

// durationBuckets reach from seconds, where spare capacity takes the placeholder, to a day, the longest grace period
// that EKS Auto Mode allows.
func durationBuckets() []float64 {
	const minute, hour = 60, 60 * 60
	return []float64{
		5, 15, 30, 1 * minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute,
		1 * hour, 2 * hour, 4 * hour, 8 * hour, 12 * hour, 24 * hour,
	}
}

// AllSeries lists every metric of the product: the gauges in the order of §4.2, then the counters and the histogram.
func AllSeries() []Series {
	var all []Series
	for _, g := range &gaugeSeries {
		all = append(all, Series{g.name, GaugeSeries, []string{labelPool}, g.help})
	}
	return append(all,
		Series{nameCompleted, CounterSeries, []string{labelPool, labelOutcome}, helpCompleted},
		Series{nameFallback, CounterSeries, []string{labelPool}, helpFallback},
		Series{nameDuration, HistogramSeries, []string{labelPool, labelPhase}, helpDuration},
	)
}

// MetricNames lists the names of AllSeries.
func MetricNames() []string {
	var names []string
	for _, s := range AllSeries() {
		names = append(names, s.Name)
	}
	return names
}

// Metrics holds the product's series (§4.2). Every series belongs to a NodePool and goes with it.
type Metrics struct {
	gauges    [numGauges]*prometheus.GaugeVec
	completed *prometheus.CounterVec
	fallback  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

// NewMetrics makes the series and registers them. The error names the series that reg refused.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		completed: prometheus.NewCounterVec(prometheus.CounterOpts{Name: nameCompleted, Help: helpCompleted}, []string{labelPool, labelOutcome}),
		fallback:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: nameFallback, Help: helpFallback}, []string{labelPool}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: nameDuration, Help: helpDuration, Buckets: durationBuckets()},
			[]string{labelPool, labelPhase}),
	}
	collectors := make([]prometheus.Collector, 0, numGauges+3)
	for i, g := range &gaugeSeries {
		m.gauges[i] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g.name, Help: g.help}, []string{labelPool})
		collectors = append(collectors, m.gauges[i])
	}
	names := MetricNames()
	for i, collector := range append(collectors, m.completed, m.fallback, m.duration) {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("metric %s cannot be registered: %w", names[i], err)
		}
	}
	return m, nil
}

// begin has the counters and durations of a pool stand at zero: an alert on increase() misses the first count of a
// series that begins with it.
func (m *Metrics) begin(pool string) {
	for _, outcome := range []effects.Outcome{effects.Success, effects.Failure, effects.Expired} {
		m.completed.WithLabelValues(pool, string(outcome))
	}
	m.fallback.WithLabelValues(pool)
	for _, phase := range []effects.Phase{effects.SurgeWait, effects.Drain} {
		m.duration.WithLabelValues(pool, string(phase))
	}
}

// end deletes the counters and durations of a pool.
func (m *Metrics) end(pool string) {
	of := prometheus.Labels{labelPool: pool}
	m.completed.DeletePartialMatch(of)
	m.fallback.DeletePartialMatch(of)
	m.duration.DeletePartialMatch(of)
}

// count adds what an announcement asks to be counted and observed.
func (m *Metrics) count(told effects.Announce) {
	if told.Outcome != "" {
		m.completed.WithLabelValues(told.Pool, string(told.Outcome)).Inc()
	}
	if told.Fallback {
		m.fallback.WithLabelValues(told.Pool).Inc()
	}
	if told.Phase != "" {
		m.duration.WithLabelValues(told.Pool, string(told.Phase)).Observe(max(0, told.Duration.Seconds()))
	}
}

// counts tells whether an announcement asks for a count or an observation.
func counts(told effects.Announce) bool {
	return told.Outcome != "" || told.Fallback || told.Phase != ""
}
