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
	// KeepLonger leaves a pool as it is that is held for longer already; without it that is an error.
	KeepLonger bool
}

// Held is what became of the freeze of some pools.
type Held struct {
	At        *metav1.Time `json:"at"`
	NodePools []HeldPool   `json:"nodePools"`
}

// HeldPool is what became of the freeze of one pool.
type HeldPool struct {
	Name string `json:"nodePool"`
	// Freeze that is now in force; nil when there is none, and with an Error.
	Freeze *Freeze `json:"freeze,omitempty"`
	// Changed is false when all was so already.
	Changed bool `json:"changed"`
	// Notes are sentences on what it means for the pool.
	Notes []string `json:"notes"`
	// Error says why it is not as was asked for; nothing of the pool was then changed.
	Error string `json:"error,omitempty"`
}

// Text says what was done, a paragraph for each pool. Errors are told apart from it.
func (h *Held) Text(bool) string {
	var b block
	for _, pool := range h.NodePools {
		if pool.Error == "" {
			paragraph(&b.Builder, "", strings.Join(pool.Notes, " "))
		}
	}
	return b.String()
}

// Freeze holds the pools, one after the other. One that cannot be held keeps none of the others from it; the error has them all.
func (f *Freezer) Freeze(ctx context.Context, pools []string, hold Hold) (*Held, error) {
	// The stamp has whole seconds: rounded up, it is no earlier than was asked for.
	hold.Until = stamp(hold.Until.Add(time.Second - 1)).In(hold.Until.Location())
	if !hold.Until.After(f.Now) {
		return nil, fmt.Errorf("%s is not in the future: it would freeze nothing; name a later time, or use unfreeze to let go", at(hold.Until))
	}
	return f.each(ctx, pools, wish{
		done:  "frozen",
		apply: func(np *karpenterv1.NodePool) (HeldPool, error) { return f.hold(np, hold) },
		after: func(np *karpenterv1.NodePool) []string { return f.inFlight(ctx, np, hold.end(np)) },
	})
}

// Unfreeze lets the pools go, one after the other. One that cannot be let go keeps none of the others from it; the error has
// them all.
func (f *Freezer) Unfreeze(ctx context.Context, pools []string) (*Held, error) {
	return f.each(ctx, pools, wish{done: "unfrozen", apply: letGo})
}

// wish is what shall become of the freeze of a pool.
type wish struct {
	// done is what the pool is called once it is granted.
	done string
	// apply makes it so in the annotations, of a pool as it was just read.
	apply func(*karpenterv1.NodePool) (HeldPool, error)
	// after, where set, has more to say once it is written.
	after func(*karpenterv1.NodePool) []string
}

// each grants a wish to each pool, whatever becomes of the others.
func (f *Freezer) each(ctx context.Context, names []string, w wish) (*Held, error) {
	held := &Held{At: stamp(f.Now)}
	var errs []error
	for _, name := range names {
		pool, err := f.grant(ctx, name, w)
		if err != nil {
			pool = HeldPool{Name: name, Notes: []string{}, Error: err.Error()}
			errs = append(errs, err)
		}
		held.NodePools = append(held.NodePools, pool)
	}
	return held, errors.Join(errs...)
}

// grant changes the annotations of a pool on the very version that was read: what another hand has written in between is
// looked at anew.
func (f *Freezer) grant(ctx context.Context, name string, w wish) (HeldPool, error) {
	np := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool, verb, err := f.changed(ctx, np, w.apply)
	switch {
	case apierrors.IsNotFound(err):
		return pool, f.look("").unknown(ctx, name, kindPool)
	case err != nil:
		return pool, fmt.Errorf("NodePool %s is not %s: %w", name, w.done, Explain(verb, err))
	case w.after != nil:
		pool.Notes = append(pool.Notes, w.after(np)...)
	}
	return pool, nil
}

// hold puts the hold onto the pool, unless it is held for longer already.
func (f *Freezer) hold(np *karpenterv1.NodePool, hold Hold) (HeldPool, error) {
	var said string
	switch longer := hold.outlasted(np); {
	case longer == "":
		hold.write(np, f.Now)
		said = fmt.Sprintf("NodePool %s is frozen until %s (%s), %s: no rotation starts before that.",
			np.Name, at(hold.Until), rotation.FormatStamp(hold.Until), in(f.Now, hold.Until))
	case hold.KeepLonger:
		said = fmt.Sprintf("NodePool %s is left as it is: %s.", np.Name, longer)
	default:
		return HeldPool{}, errors.New(longer + "; --force lets it end earlier")
	}
	return HeldPool{Name: np.Name, Freeze: freezeOf(f.snapshotOf(np)), Notes: []string{said}}, nil
}

// letGo takes the freeze off the pool.
func letGo(np *karpenterv1.NodePool) (HeldPool, error) {
	said := "NodePool %s was not frozen."
	if _, frozen := np.Annotations[rotation.KeyFreeze]; frozen {
		said = "NodePool %s is no longer frozen: the controller goes on as its policy and windows allow."
	}
	delete(np.Annotations, rotation.KeyFreeze)
	delete(np.Annotations, rotation.KeyFreezeReason)
	return HeldPool{Name: np.Name, Notes: []string{fmt.Sprintf(said, np.Name)}}, nil
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

// outlasted says how the freeze in force lasts longer than the hold; nothing where it does not, or is to be replaced.
func (h Hold) outlasted(np *karpenterv1.NodePool) string {
	was := rotation.ParseStamp(np.Annotations, rotation.KeyFreeze)
	switch {
	case h.Force || !was.Present:
		return ""
	case !was.Readable:
		return fmt.Sprintf("its freeze %q cannot be read, and so counts as one without an end", np.Annotations[rotation.KeyFreeze])
	case was.At.After(h.Until):
		return fmt.Sprintf("it is frozen until %s already, which is later", at(was.At.In(h.Until.Location())))
	default:
		return ""
	}
}

// end is when the freeze of a pool ends that is held. One that cannot be read holds at least as long.
func (h Hold) end(np *karpenterv1.NodePool) time.Time {
	if is := rotation.ParseStamp(np.Annotations, rotation.KeyFreeze); is.Readable {
		return is.At.In(h.Until.Location())
	}
	return h.Until
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
