// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/rotation"
)

// Rehearsal logs what the controller would do with the cluster as it is, and does none of it. A pass never builds on what
// an earlier one would have written: a rotation that nobody starts is shown as one that would start, for as long as it
// would. Safe for concurrent use.
type Rehearsal struct {
	mu sync.Mutex
	// last has the outline of what was last shown of each pool.
	last map[string]string
}

// NewRehearsal has shown nothing.
func NewRehearsal() *Rehearsal { return &Rehearsal{last: map[string]string{}} }

// show writes a line for each action of a pass, or one that says why there is none, unless the last pass over the pool
// was to do the same.
func (r *Rehearsal) show(ctx context.Context, s *rotation.Snapshot, d machine.Decision, actions []effects.Action) {
	actions = effects.Merge(actions)
	if !r.isNews(s.Pool.Name, outline(s, d, actions)) {
		return
	}
	logger := log.FromContext(ctx).WithValues("row", d.Row.ID, "pool", s.Pool.Name, "claim", s.SubjectName(), "why", d.Why())
	if len(actions) == 0 {
		logger.Info("would do nothing")
	}
	for i, action := range actions {
		logger.Info("would do", "action", action.String(), "step", fmt.Sprintf("%d of %d", i+1, len(actions)))
	}
}

func (r *Rehearsal) isNews(pool, outline string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, shown := r.last[pool]
	r.last[pool] = outline
	return !shown || last != outline
}

// forget lets go of a pool that is gone.
func (r *Rehearsal) forget(pool string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, pool)
}

// outline is what of a plan does not move with the clock: the row, its subject, what keeps the state, and of each action
// all but the values that it writes, many of which are stamps.
func outline(s *rotation.Snapshot, d machine.Decision, actions []effects.Action) string {
	_, obstacle, _ := d.Obstacle()
	parts := []string{d.Row.ID, s.SubjectName(), obstacle.String()}
	for _, action := range actions {
		switch a := action.(type) {
		case effects.PatchPool:
			parts = append(parts, "pool", keysOf(a.Change))
		case effects.PatchClaim:
			parts = append(parts, "claim", a.Claim.Name, keysOf(a.Change))
		case effects.PatchNode:
			parts = append(parts, "node", a.Node.Name, keysOf(a.Change))
		case effects.Announce:
			parts = append(parts, "announce", a.Reason, string(a.Phase))
		default:
			parts = append(parts, action.String())
		}
	}
	return strings.Join(parts, "\n")
}

// keysOf are the annotations that a change is about.
func keysOf(change effects.Change) string {
	return strings.Join(slices.Concat(slices.Sorted(maps.Keys(change.Set)), change.Remove), " ")
}

// unheard takes the Events of a controller that only rehearses.
type unheard struct{}

// Eventf drops an Event.
func (unheard) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// rehearsalLock is the lease of a controller that only rehearses. The manager's own lock would tell the election in an
// Event.
func rehearsalLock(config *rest.Config, o *Options) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("the lease cannot be signed without a host name: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Timeout = o.requestTimeout() // one request that hangs does not cost the lease
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("the lease cannot be asked for: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.Settings.Namespace, Name: RehearsalLeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}
