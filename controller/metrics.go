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
	labelPool       = "nodepool"
	labelOutcome    = "outcome"
	labelPhase      = "phase"
	labelGuard      = "guard"
	labelTransition = "transition"
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
	gaugeNextDeadline
	gaugeNextWindow
	gaugeUnreadable
	gaugeStalled

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
	gaugeNextDeadline:     {"noderotation_next_deadline_timestamp", "Unix time in seconds of the earliest deadline of a NodeClaim that is not being deleted; absent where none has one."},
	gaugeNextWindow:       {"noderotation_next_window_timestamp", "Unix time in seconds at which the next window opens that is not open yet; absent where none does."},
	gaugeUnreadable:       {"noderotation_annotation_unreadable", "Annotations of the NodePool and its NodeClaims that cannot be read."},
	gaugeStalled:          {"noderotation_stalled", "1 while nothing can be done for the NodePool until a person has acted, else 0; an Event says what is wrong."},
}

// The other series.
const (
	nameBlocked     = "noderotation_blocked"
	nameCompleted   = "noderotation_completed_total"
	nameFallback    = "noderotation_forceful_fallback_total"
	nameMissed      = "noderotation_windows_missed_total"
	nameTransitions = "noderotation_transitions_total"
	nameDuration    = "noderotation_duration_seconds"

	helpBlocked     = "1 for the guard that keeps the NodePool from starting a rotation, the same that the status names; no series while one is in flight."
	helpCompleted   = "Rotations that have ended, by outcome: success, failure or expired."
	helpFallback    = "Rotations that began without a surge, since the deadline was too near for one."
	helpMissed      = "Windows that closed with candidates left. A window over whose end the leader changed is not counted; none is counted twice."
	helpTransitions = "Rows of the table that fired and changed something, by id. A pass that was cut short between two writes is not counted; the row that finishes it is."
	helpDuration    = "Duration of a rotation's phases: surge_wait, from its start until the replacement stands, and drain."
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
		Series{nameBlocked, GaugeSeries, []string{labelPool, labelGuard}, helpBlocked},
		Series{nameCompleted, CounterSeries, []string{labelPool, labelOutcome}, helpCompleted},
		Series{nameFallback, CounterSeries, []string{labelPool}, helpFallback},
		Series{nameMissed, CounterSeries, []string{labelPool}, helpMissed},
		Series{nameTransitions, CounterSeries, []string{labelPool, labelTransition}, helpTransitions},
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

// Metrics holds the product's series (§4.2). Every series belongs to a NodePool and goes with it. Labels have values of
// the table, of this package, or a NodePool's name: their number is bounded by the pools, whatever their claims are
// called.
type Metrics struct {
	gauges      [numGauges]*prometheus.GaugeVec
	blocked     *prometheus.GaugeVec
	completed   *prometheus.CounterVec
	fallback    *prometheus.CounterVec
	missed      *prometheus.CounterVec
	transitions *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	// rows are the ids of the table's rows.
	rows []string
}

// NewMetrics makes the series and registers them. Where the ids of the table's rows are given, their counters stand at
// zero from the start. The error names the series that reg refused.
func NewMetrics(reg prometheus.Registerer, rows ...string) (*Metrics, error) {
	m := &Metrics{
		blocked:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: nameBlocked, Help: helpBlocked}, []string{labelPool, labelGuard}),
		completed:   counter(nameCompleted, helpCompleted, labelPool, labelOutcome),
		fallback:    counter(nameFallback, helpFallback, labelPool),
		missed:      counter(nameMissed, helpMissed, labelPool),
		transitions: counter(nameTransitions, helpTransitions, labelPool, labelTransition),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: nameDuration, Help: helpDuration, Buckets: durationBuckets()},
			[]string{labelPool, labelPhase}),
		rows: rows,
	}
	collectors := make([]prometheus.Collector, 0, numGauges+6)
	for i, g := range &gaugeSeries {
		m.gauges[i] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: g.name, Help: g.help}, []string{labelPool})
		collectors = append(collectors, m.gauges[i])
	}
	names := MetricNames()
	for i, collector := range append(collectors, m.blocked, m.completed, m.fallback, m.missed, m.transitions, m.duration) {
		if err := reg.Register(collector); err != nil {
			return nil, fmt.Errorf("metric %s cannot be registered: %w", names[i], err)
		}
	}
	return m, nil
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// begin has the counters and durations of a pool stand at zero: an alert on increase() misses the first count of a
// series that begins with it.
func (m *Metrics) begin(pool string) {
	for _, outcome := range []effects.Outcome{effects.Success, effects.Failure, effects.Expired} {
		m.completed.WithLabelValues(pool, string(outcome))
	}
	m.fallback.WithLabelValues(pool)
	m.missed.WithLabelValues(pool)
	for _, row := range m.rows {
		m.transitions.WithLabelValues(pool, row)
	}
	for _, phase := range []effects.Phase{effects.SurgeWait, effects.Drain} {
		m.duration.WithLabelValues(pool, string(phase))
	}
}

// end deletes the counters and durations of a pool.
func (m *Metrics) end(pool string) {
	of := prometheus.Labels{labelPool: pool}
	m.completed.DeletePartialMatch(of)
	m.fallback.DeletePartialMatch(of)
	m.missed.DeletePartialMatch(of)
	m.transitions.DeletePartialMatch(of)
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
