// SPDX-License-Identifier: Apache-2.0

package main

// sections says where the specification has each row of the embedded table. A table has no key for it: another one may
// have rows that no section knows of.
func sections() map[string]string {
	return map[string]string{
		"start-fallback":           "§3.6; §5.3, (none) → draining",
		"start":                    "§5.2, start gates and candidate selection; §5.3, (none) → pending",
		"start-without-headroom":   "§3.3, surge_headroom; §5.2, candidate selection",
		"rest":                     "§5.2, start gates",
		"pending-claim-gone":       "§5.2, force-expiry detection: late",
		"pending-force-expired":    "§5.2, force-expiry detection: early; §5.3, pending → expired",
		"pending-governance-lost":  "§3.8, governance lost; §5.4",
		"pending-timed-out":        "§3.8; §5.3, pending → failed",
		"pending-held":             "§3.1, freeze; §5.3, pending → pending",
		"drain":                    "§3.3, surge_ready; §5.3, pending → draining",
		"pending-wait":             "§5.2, idempotent recovery; §5.3, pending → pending",
		"drained":                  "§5.2, completion outcome; §5.3, draining → (success)",
		"draining-governance-lost": "§3.8, governance lost; §5.4",
		"redelete":                 "§5.2, idempotent recovery; §5.3, draining → draining",
		"drain-stuck":              "§5.2, stuck drain; §5.3, draining → draining",
		"draining-wait":            "§5.2, idempotent recovery",
		"failed-force-expired":     "§5.3, failed → expired",
		"retry":                    "§5.3, failed → pending",
		"failed-release":           "§3.8; §5.2, case failed",
		"expired-release":          "§5.3, expired → expired",
	}
}
