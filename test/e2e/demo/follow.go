// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"maps"

	"noderotation.io/noderotation/test/e2e/record"
)

// follow calls visit for every event after a revision, in the order in which they were written, as they happen, until
// visit says that it has seen enough. It returns the revision of the last event visited.
//
// The watches of the kinds run beside each other, so what has arrived is in order only up to a fence: follow sleeps until
// the recording has something new, puts up a fence behind it, and then tells all that lies before.
func follow(ctx context.Context, recorder *record.Recorder, from record.Revision, visit func(record.Event, record.World) (enough bool)) (record.Revision, error) {
	told := from
	recording, err := recorder.Recording()
	if err != nil {
		return told, err
	}
	seen := recording.Between(0, told).End()
	for {
		if err := recorder.Await(ctx, "something happens", func(now record.World) bool { return !same(seen, now) }); err != nil {
			return told, err
		}
		fence, err := recorder.Fence(ctx)
		if err != nil {
			return told, err
		}
		if recording, err = recorder.Recording(); err != nil {
			return told, err
		}
		enough, last := false, told
		news := recording.Between(told, fence)
		news.Replay(func(event record.Event, world record.World) {
			if !enough {
				last, enough = event.Revision, visit(event, world)
			}
		})
		if enough {
			return last, nil
		}
		told, seen = fence, news.End()
	}
}

// same tells whether nothing happened between two worlds of one recording: they share every object.
func same(a, b record.World) bool {
	return maps.Equal(a.Pools, b.Pools) && maps.Equal(a.Claims, b.Claims) && maps.Equal(a.Nodes, b.Nodes) &&
		maps.Equal(a.Pods, b.Pods) && maps.Equal(a.Budgets, b.Budgets)
}
