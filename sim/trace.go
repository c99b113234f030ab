// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/sim/cluster"
)

// Trace takes down what happens in a world, as text that can be compared: every pass that did something, with the row
// that fired, its writes and what was announced, in their order; and what the actors do.
type Trace struct {
	lines []string
	// pass holds the lines of the pass in hand.
	pass   []string
	inPass bool
}

// String is the trace so far.
func (t *Trace) String() string { return strings.Join(t.lines, "\n") + "\n" }

// Lines are those of the trace so far.
func (t *Trace) Lines() []string { return slices.Clone(t.lines) }

// Len is the number of lines so far, the pass in hand left out; 0 of no trace.
func (t *Trace) Len() int {
	if t == nil {
		return 0
	}
	return len(t.lines)
}

const traceTime = "2006-01-02 15:04:05"

// tell takes down what an actor does.
func (w *World) tell(who, format string, args ...any) {
	if w.config.Trace == nil {
		return
	}
	w.config.Trace.add(w.now, who+" "+fmt.Sprintf(format, args...))
}

func (t *Trace) add(now time.Time, line string) {
	if t.inPass {
		t.pass = append(t.pass, "  "+line)
		return
	}
	t.lines = append(t.lines, now.Format(traceTime)+"  "+line)
}

func (w *World) announced(regarding runtime.Object, reason, note string, args ...any) {
	if w.config.Trace == nil {
		return
	}
	about := ""
	if ref, ok := regarding.(*corev1.ObjectReference); ok {
		about = ref.Kind + " " + ref.Name
	}
	w.config.Trace.add(w.now, fmt.Sprintf("tell %s on %s: %s", reason, about, fmt.Sprintf(note, args...)))
}

func (p *process) began() {
	p.told = 0
	p.last, p.lastErr = controller.Pass{}, nil
	if t := p.world.config.Trace; t != nil {
		t.pass, t.inPass = t.pass[:0], true
	}
}

// ended takes the pass down, if it did something.
func (p *process) ended(pool string, err error) {
	if passed := p.world.config.Passed; passed != nil && p.last.Decision.Row != nil {
		passed(p.last, p.told)
	}
	t := p.world.config.Trace
	if t == nil {
		return
	}
	t.inPass = false
	if len(t.pass) == 0 && err == nil {
		return
	}
	row := ""
	if d := p.last.Decision; d.Row != nil {
		row = fmt.Sprintf(": %s (%s → %s)", d.Row.ID, d.State, d.Row.To)
	} else if p.last.Writes > 0 {
		row = ": sweep"
	}
	t.add(p.world.now, "controller "+pool+row)
	t.lines = append(t.lines, t.pass...)
	if err != nil {
		t.lines = append(t.lines, "  ends with: "+err.Error())
	}
}

// traced is the controller's client; it takes down what the API server made of each request.
type traced struct {
	client.Client
	world *World
}

// Create creates, and takes it down.
func (c *traced) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, options...)
	c.took("create", nil, object, err)
	return err
}

// Patch patches, and takes it down.
func (c *traced) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	before := c.current(object) //nolint:contextcheck // in memory
	err := c.Client.Patch(ctx, object, patch, options...)
	if err != nil || !cluster.Confirms(patch) {
		c.took("patch", before, object, err)
	}
	return err
}

// Delete deletes, and takes it down.
func (c *traced) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	err := c.Client.Delete(ctx, object, options...)
	c.took("delete", nil, object, err)
	return err
}

func (c *traced) current(object client.Object) client.Object {
	if c.world.config.Trace == nil {
		return nil
	}
	before, _ := object.DeepCopyObject().(client.Object)
	if c.world.Get(context.Background(), client.ObjectKeyFromObject(object), before) != nil {
		return nil
	}
	return before
}

func (c *traced) took(verb string, before, after client.Object, err error) {
	t := c.world.config.Trace
	if t == nil {
		return
	}
	kind, _ := cluster.KindOf(after)
	line := fmt.Sprintf("%s %s %s", verb, kind, cluster.KeyOf(after))
	switch {
	case err != nil:
		line += ": refused, " + string(apierrors.ReasonForError(err))
	case before != nil:
		line += ":" + differences(before, after)
	}
	t.add(c.world.now, line)
}

// differences tells what a patch made of the annotations and the cordon.
func differences(before, after client.Object) string {
	var told strings.Builder
	was, is := before.GetAnnotations(), after.GetAnnotations()
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if old, had := was[key]; !had || old != is[key] {
			fmt.Fprintf(&told, " %s=%s", short(key), is[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if _, has := is[key]; !has {
			fmt.Fprintf(&told, " -%s", short(key))
		}
	}
	if node, ok := after.(*corev1.Node); ok {
		if old, ok := before.(*corev1.Node); ok && old.Spec.Unschedulable != node.Spec.Unschedulable {
			fmt.Fprintf(&told, " unschedulable=%t", node.Spec.Unschedulable)
		}
	}
	if told.Len() == 0 {
		return " nothing"
	}
	return told.String()
}

// short leaves the prefix out that nearly every key has.
func short(key string) string { return strings.TrimPrefix(key, "noderotation.io/") }
