// SPDX-License-Identifier: Apache-2.0

package controller

import "noderotation.io/noderotation/effects"

// poolMemory is what the announcer has told of one pool: of its last claim, and of that claim's last attempt, no more.
type poolMemory struct {
	claim, attempt string
	// ofClaim holds what a claim can come to only once, ofAttempt the rest.
	ofClaim, ofAttempt map[delivery]struct{}
	// conditions that last, and whether each was repeated since the last completed pass.
	conditions map[conditionKey]bool
	gauges     poolGauges
	obstacle   obstacleGauge
	window     windowWatch
	// counted is true while the counters and durations of the pool have series.
	counted bool
}

// delivery identifies what is told once.
type delivery struct {
	reason  string
	outcome effects.Outcome
	phase   effects.Phase
	// message of what is a log line only.
	message string
}

// deliver notes what is told; false when it was told before. A claim succeeds or expires once, whatever the attempt is
// called by then: its name changes when the claim goes, which may be between a pass and its repetition.
func (m *poolMemory) deliver(told effects.Announce) bool {
	if told.Claim != m.claim {
		m.claim, m.ofClaim = told.Claim, map[delivery]struct{}{}
		m.attempt, m.ofAttempt = "", nil
	}
	if told.Attempt != m.attempt || m.ofAttempt == nil {
		m.attempt, m.ofAttempt = told.Attempt, map[delivery]struct{}{}
	}
	key := delivery{reason: told.Reason, outcome: told.Outcome, phase: told.Phase}
	if told.Reason == "" {
		key.message = told.Message
	}
	known := m.ofAttempt
	if told.Outcome == effects.Success || told.Outcome == effects.Expired || told.Phase == effects.Drain {
		known = m.ofClaim
	}
	_, delivered := known[key]
	known[key] = struct{}{}
	return !delivered
}

// begin notes a condition; false when it lasts already. One that is not repeated ends with the next completed pass.
func (m *poolMemory) begin(key conditionKey, repeated bool) bool {
	if m.conditions == nil {
		m.conditions = map[conditionKey]bool{}
	}
	_, stood := m.conditions[key]
	m.conditions[key] = repeated
	return !stood
}

func (m *poolMemory) stands(key conditionKey) bool {
	_, stands := m.conditions[key]
	return stands
}

// endPass ends the conditions that were not repeated, so that their return is told again.
func (m *poolMemory) endPass() (ended []conditionKey) {
	for key, repeated := range m.conditions {
		if repeated {
			m.conditions[key] = false
		} else {
			delete(m.conditions, key)
			ended = append(ended, key)
		}
	}
	return ended
}
