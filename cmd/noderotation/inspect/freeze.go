// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/rotation"
)

// Freezer holds NodePools and lets them go, as an operator does by hand (§3.1). It writes the freeze and its reason, and
// nothing else.
type Freezer struct {
	// Inspector reads what a freeze does to a rotation in flight; what may not be read is left out.
	*Inspector
	// Client writes with the person's rights.
	Client client.Client
}

// Hold is a freeze that a person asks for.
type Hold struct {
	// Until is when it ends; it is written in whole seconds. Reason is told to those who ask.
	Until  time.Time
	Reason string
	// Force lets it end earlier than the freeze that is in force.
	Force bool
}

// Held is what became of the freeze of some pools.
type Held struct {
	At        *metav1.Time `json:"at"`
	NodePools []HeldPool   `json:"nodePools"`
}

// HeldPool is what became of the freeze of one pool.
type HeldPool struct {
	Name string `json:"nodePool"`
	// Freeze that is now in force; nil when there is none.
	Freeze *Freeze `json:"freeze,omitempty"`
	// Changed is false when all was so already.
	Changed bool `json:"changed"`
	// Notes are sentences on what it means for the pool.
	Notes []string `json:"notes"`
}

// Text says what was done, a paragraph for each pool.
func (h *Held) Text(bool) string {
	var b block
	for _, pool := range h.NodePools {
		paragraph(&b.Builder, "", strings.Join(pool.Notes, " "))
	}
	return b.String()
}

// Freeze holds the pools, one after the other. Those that come before an error are held, and in the result.
func (f *Freezer) Freeze(ctx context.Context, pools []string, hold Hold) (*Held, error) {
	// The stamp has whole seconds: rounded up, it is no earlier than was asked for.
	hold.Until = stamp(hold.Until.Add(time.Second - 1)).In(hold.Until.Location())
	if !hold.Until.After(f.Now) {
		return nil, fmt.Errorf("%s is not in the future: it would freeze nothing; name a later time, or use unfreeze to let go", at(hold.Until))
	}
	return f.each(ctx, pools, "frozen", func(np *karpenterv1.NodePool) (HeldPool, error) {
		if err := hold.shortens(np); err != nil {
			return HeldPool{}, err
		}
		hold.write(np, f.Now)
		return HeldPool{Name: np.Name, Freeze: freezeOf(f.snapshotOf(np)), Notes: []string{
			fmt.Sprintf("NodePool %s is frozen until %s (%s), %s: no rotation starts before that.", np.Name, at(hold.Until), rotation.FormatStamp(hold.Until), in(f.Now, hold.Until)),
		}}, nil
	}, func(np *karpenterv1.NodePool) []string { return f.inFlight(ctx, np, hold.Until) })
}

// Unfreeze lets the pools go, one after the other.
func (f *Freezer) Unfreeze(ctx context.Context, pools []string) (*Held, error) {
	return f.each(ctx, pools, "unfrozen", func(np *karpenterv1.NodePool) (HeldPool, error) {
		pool := HeldPool{Name: np.Name, Notes: []string{fmt.Sprintf("NodePool %s was not frozen.", np.Name)}}
		if _, frozen := np.Annotations[rotation.KeyFreeze]; frozen {
			pool.Notes = []string{fmt.Sprintf("NodePool %s is no longer frozen: the controller goes on as its policy and windows allow.", np.Name)}
		}
		delete(np.Annotations, rotation.KeyFreeze)
		delete(np.Annotations, rotation.KeyFreezeReason)
		return pool, nil
	}, nil)
}

// each changes the annotations of each pool, on the very version that was read: what another hand has written in between
// is looked at anew. after, where set, has more to say once it is done.
func (f *Freezer) each(
	ctx context.Context, names []string, done string,
	change func(*karpenterv1.NodePool) (HeldPool, error), after func(*karpenterv1.NodePool) []string,
) (*Held, error) {
	held := &Held{At: stamp(f.Now)}
	for _, name := range names {
		np := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pool, verb, err := f.changed(ctx, np, change)
		switch {
		case apierrors.IsNotFound(err):
			return held, f.look("").unknown(ctx, name, kindPool)
		case err != nil:
			return held, fmt.Errorf("NodePool %s is not %s: %w", name, done, Explain(verb, err))
		case after != nil:
			pool.Notes = append(pool.Notes, after(np)...)
		}
		held.NodePools = append(held.NodePools, pool)
	}
	return held, nil
}

// changed reads the NodePool of np's name into np and writes what change makes of its freeze, and nothing where it leaves
// it. Whoever writes at the same time has it begin again. The verb is that of the request that the error is of.
func (f *Freezer) changed(ctx context.Context, np *karpenterv1.NodePool, change func(*karpenterv1.NodePool) (HeldPool, error)) (pool HeldPool, verb string, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		verb = "get"
		was := &karpenterv1.NodePool{} // an answer that is read into an older one leaves what was removed in between
		if err := f.Client.Get(ctx, client.ObjectKeyFromObject(np), was); err != nil {
			return err
		}
		was.DeepCopyInto(np)
		if pool, err = change(np); err != nil {
			return err
		}
		verb = "patch"
		keys := freezeChange(was.Annotations, np.Annotations)
		if pool.Changed = len(keys) > 0; !pool.Changed {
			return nil
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": was.ResourceVersion, "annotations": keys}})
		if err != nil {
			return err
		}
		return f.Client.Patch(ctx, np, client.RawPatch(types.MergePatchType, patch))
	})
	return pool, verb, err
}

// freezeChange is what a merge patch has of the freeze, as it was and as it is to be: a key that is to go has no value.
func freezeChange(was, is map[string]string) map[string]*string {
	change := map[string]*string{}
	for _, key := range []string{rotation.KeyFreeze, rotation.KeyFreezeReason} {
		before, had := was[key]
		after, has := is[key]
		switch {
		case had && !has:
			change[key] = nil
		case has && (!had || before != after):
			change[key] = &after
		}
	}
	return change
}

// shortens is an error where a freeze would let go earlier than the one in force.
func (h Hold) shortens(np *karpenterv1.NodePool) error {
	was := rotation.ParseStamp(np.Annotations, rotation.KeyFreeze)
	switch {
	case h.Force || !was.Present:
		return nil
	case !was.Readable:
		return fmt.Errorf("its freeze %q cannot be read, and so counts as one without an end; --force replaces it", np.Annotations[rotation.KeyFreeze])
	case was.At.After(h.Until):
		return fmt.Errorf("it is frozen until %s already, which is later; --force lets it end earlier", at(was.At.In(h.Until.Location())))
	default:
		return nil
	}
}

// write puts the hold onto the pool. An earlier reason stays only while the freeze that it was given for is still in force.
func (h Hold) write(np *karpenterv1.NodePool, now time.Time) {
	if np.Annotations == nil {
		np.Annotations = map[string]string{}
	}
	before := rotation.ParseStamp(np.Annotations, rotation.KeyFreeze)
	if lasts := before.Readable && before.At.After(now); !lasts {
		delete(np.Annotations, rotation.KeyFreezeReason)
	}
	np.Annotations[rotation.KeyFreeze] = rotation.FormatStamp(h.Until)
	if h.Reason != "" {
		np.Annotations[rotation.KeyFreezeReason] = h.Reason
	}
}

// snapshotOf holds the pool's annotations alone.
func (f *Freezer) snapshotOf(np *karpenterv1.NodePool) rotation.Snapshot {
	return rotation.Snapshot{Now: f.Now, Pool: rotation.Pool{Object: rotation.Object{Name: np.Name}, Annotations: np.Annotations}}
}

// inFlight says what a freeze does to the rotation that is anchored on the pool (§3.1).
func (f *Freezer) inFlight(ctx context.Context, np *karpenterv1.NodePool, until time.Time) []string {
	anchor := np.Annotations[rotation.KeyActiveRotation]
	if anchor == "" {
		return nil
	}
	l := f.look(np.Name)
	s, err := l.snapshot(ctx, np)
	state, unreadable := rotation.State(s)
	switch {
	case err != nil || unreadable != nil || l.undecided():
		return []string{fmt.Sprintf("The rotation of NodeClaim %s is held if its drain has not begun; a drain is not held.", anchor)}
	case state == rotation.StateDraining:
		return []string{fmt.Sprintf("The rotation of NodeClaim %s goes on: its drain has begun, and a freeze does not hold that.", anchor)}
	case state != rotation.StatePending:
		return nil
	}
	claim, _ := s.Claim(anchor)
	held := fmt.Sprintf("The rotation of NodeClaim %s is held: no placeholder is made and no drain begins.", anchor)
	limit := claim.StartedAt().At.Add(s.Governance.Terms.ReadyTimeout)
	if claim.StartedAt().Readable && s.Governance.Policy != nil && limit.Before(until) {
		held += fmt.Sprintf(" Its readyTimeout ends before the freeze does, %s: it will then be rolled back.", at(limit.In(until.Location())))
	}
	return []string{held}
}

// Selected lists the names of the pools that a label selector selects; of all with an empty one.
func (i *Inspector) Selected(ctx context.Context, selector string) ([]string, error) {
	labels, err := parseSelector(selector)
	if err != nil {
		return nil, err
	}
	var list karpenterv1.NodePoolList
	l := i.look("")
	if err := l.live.List(ctx, &list, client.MatchingLabelsSelector{Selector: labels}); err != nil {
		return nil, Explain("list", err)
	}
	if denied := l.live.Denied(); len(denied) > 0 {
		return nil, &DeniedError{Denials: denied}
	}
	var names []string
	for n := range list.Items {
		names = append(names, list.Items[n].Name)
	}
	if len(names) == 0 {
		return nil, errors.New("no NodePool is selected; `status` lists them")
	}
	return names, nil
}
