// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/window"
)

// windowWatch remembers the window in which the pool was last looked at, to notice what it closes on.
//
// Only the process that saw a window open judges its end, so that none is counted twice however often the leader
// changes. One over whose end it changes is judged by nobody: the older process did not live to see the end, and the
// younger cannot know whether it did.
type windowWatch struct{ open window.Occurrence }

// follow looks at the windows as of a pass over a governed pool. It tells whether one is open, and whether the one that
// was open has closed and left candidates behind. A window that an edit of the policy has moved did not close.
func (w *windowWatch) follow(s *rotation.Snapshot) (open, missed bool) {
	was := w.open
	w.open, open = s.Governance.Windows.Current(s.Now)
	stillOpen := open && w.open.Start.Equal(was.Start)
	if was.End.IsZero() || s.Now.Before(was.End) || stillOpen {
		return open, false
	}
	return open, leftBehind(s, was.End)
}

// leftBehind tells whether a claim is a candidate that has been of age since before the instant. Nothing but age and
// backoff becomes a candidate by time alone, so that with passes a minute apart it was one then.
func leftBehind(s *rotation.Snapshot, since time.Time) bool {
	for i, c := range s.Candidacies() {
		if c.Standing != rotation.Eligible {
			continue
		}
		if due, ever := s.DueAt(s.Claims[i]); ever && due.Before(since) {
			return true
		}
	}
	return false
}
