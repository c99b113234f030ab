// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/go-logr/logr"
)

// leaseLost is the manager's word for a lease that it no longer holds: because it was taken away, or because the manager
// itself let it go on its way out.
const leaseLost = "leader election lost"

// quietEnd is a logger to which a lease that is let go after ctx has ended is no error: the process was asked to stop, and
// has done so. The manager makes no difference, and an operator would look for a fault in every rollout.
func quietEnd(ctx context.Context, log logr.Logger) logr.Logger {
	return log.WithSink(endSink{log.GetSink(), func() bool { return ctx.Err() != nil }})
}

type endSink struct {
	logr.LogSink
	ended func() bool
}

// Init leaves the sink as it is: it belongs to a logger already.
func (endSink) Init(logr.RuntimeInfo) {}

// Error logs an error, but for the one that is none.
func (s endSink) Error(err error, message string, keysAndValues ...any) {
	if s.ended() && err != nil && err.Error() == leaseLost {
		s.Info(0, "the lease is let go", keysAndValues...)
		return
	}
	s.LogSink.Error(err, message, keysAndValues...)
}

// WithValues keeps the end quiet. So does WithName.
func (s endSink) WithValues(keysAndValues ...any) logr.LogSink {
	return endSink{s.LogSink.WithValues(keysAndValues...), s.ended}
}

// WithName keeps the end quiet.
func (s endSink) WithName(name string) logr.LogSink {
	return endSink{s.LogSink.WithName(name), s.ended}
}
