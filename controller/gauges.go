// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// readings are the values of a pool's gauges. A gauge that is not known has no series.
type readings [numGauges]struct {
	value float64
	known bool
}

func (r *readings) set(g gauge, value float64) { r[g].value, r[g].known = value, true }

func (r *readings) setTruth(g gauge, holds bool) {
	r.set(g, 0)
	if holds {
		r.set(g, 1)
	}
}

func (r *readings) setSeconds(g gauge, d time.Duration) { r.set(g, d.Seconds()) }

// tally counts the conditions of a pool that its gauges show.
type tally struct {
	shortLead, unreadable int
	drainStuck            bool
}

func (t *tally) count(reason string) {
	switch reason {
	case effects.ReasonShortLead:
		t.shortLead++
	case effects.ReasonAnnotationUnreadable, effects.ReasonFreezeUnreadable:
		t.unreadable++
	}
}

// read takes the readings of a pool whose rotation is in state. One that no policy governs has none but what still
// needs a person's eye: the tie that keeps it ungoverned, and a rotation that is yet to be taken back.
func read(state string, s *rotation.Snapshot, windowOpen bool, conditions tally) readings {
	var r readings
	inProgress := state != rotation.StateIdle
	if s.Governance.Policy == nil {
		if s.Governance.Conflict {
			r.set(gaugePolicyConflict, 1)
		}
		if inProgress {
			r.set(gaugeInProgress, 1)
		}
		return r
	}
	r.set(gaugeCandidates, float64(s.Selection.Candidates))
	r.setTruth(gaugeInProgress, inProgress)
	r.setTruth(gaugeWindowActive, windowOpen)
	r.set(gaugePolicyConflict, 0)
	r.set(gaugeFreezeUntil, freezeUntil(s))
	r.feasibility(&s.Feasibility)
	r.set(gaugeShortLead, float64(conditions.shortLead))
	r.setTruth(gaugeDrainStuck, conditions.drainStuck)
	r.set(gaugeRetryCount, float64(mostRetries(s.Claims)))
	if _, deadline, known := rotation.FirstToExpire(s.Claims); known {
		r.set(gaugeNextDeadline, float64(deadline.Unix()))
	}
	if next, known := s.Governance.Windows.Next(s.Now); known {
		r.set(gaugeNextWindow, float64(next.Start.Unix()))
	}
	r.set(gaugeUnreadable, float64(conditions.unreadable))
	r.set(gaugeStalled, 0)
	return r
}

func (r *readings) feasibility(f *rotation.Feasibility) {
	if f.HasAgeThreshold {
		r.setSeconds(gaugeAgeThreshold, f.AgeThreshold)
	}
	if f.HasDeadline {
		r.set(gaugeChances, float64(f.Chances))
	}
	r.set(gaugeCapacity, float64(f.Capacity))
	r.setSeconds(gaugeRotationEstimate, f.RotationEstimate)
	r.setSeconds(gaugeRotationBound, f.RotationBound)
	r.setSeconds(gaugeWindowPeriod, f.P)
}

// freezeUntil reads the freeze so that "> time()" means frozen, for one that cannot be read too (§3.1).
func freezeUntil(s *rotation.Snapshot) float64 {
	switch until := rotation.ParseStamp(s.Pool.Annotations, rotation.KeyFreeze); {
	case !until.Present:
		return 0
	case !until.Readable:
		return math.Inf(1)
	default:
		return float64(until.At.Unix())
	}
}

// mostRetries is the highest retry-count of a claim that is not on its way out.
func mostRetries(claims []*rotation.Claim) int {
	most := 0
	for _, c := range claims {
		if len(c.Annotations) == 0 || c.Deleting() {
			continue
		}
		if count, readable := c.RetryCount(); readable {
			most = max(most, count)
		}
	}
	return most
}

// poolGauges holds the series of one pool's gauges, looked up once; nil where there is no series.
type poolGauges [numGauges]prometheus.Gauge

// show brings the series to the readings.
func (p *poolGauges) show(m *Metrics, pool string, r readings) {
	for g := range numGauges {
		if r[g].known {
			p.set(m, pool, g, r[g].value)
		} else if p[g] != nil {
			m.gauges[g].DeleteLabelValues(pool)
			p[g] = nil
		}
	}
}

func (p *poolGauges) set(m *Metrics, pool string, g gauge, value float64) {
	if p[g] == nil {
		p[g] = m.gauges[g].WithLabelValues(pool)
	}
	p[g].Set(value)
}

// obstacleGauge is the one series that shows which guard keeps a pool from starting.
type obstacleGauge struct{ guard string }

// show has the series be about guard, and be none where guard is empty.
func (o *obstacleGauge) show(m *Metrics, pool, guard string) {
	if o.guard == guard {
		return
	}
	if o.guard != "" {
		m.blocked.DeleteLabelValues(pool, o.guard)
	}
	if guard != "" {
		m.blocked.WithLabelValues(pool, guard).Set(1)
	}
	o.guard = guard
}
