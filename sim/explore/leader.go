// SPDX-License-Identifier: Apache-2.0

package explore

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/sim/cluster"
)

// leader is a process of the controller: the product's parts put together, with a hand on the API server between them and
// the cluster. It is used again for many passes, each as if it had just started, and by one goroutine.
type leader struct {
	ctx      context.Context
	machine  *controller.Machine
	metrics  *controller.Metrics
	gate     *controller.Gate
	policies map[policySet]*controller.Policies
	hand     Hand

	// in is the pass in hand.
	in *run
}

// policySet tells which policies there are, and the day for which they are judged: what a process knows of them.
type policySet struct {
	exists bool
	day    int64
}

// Hand is what stands between the controller and the API server, for the mutants: nil for nothing.
type Hand func(client.Client) client.Client

func newLeader(machine *controller.Machine, hand Hand) *leader {
	metrics, err := controller.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		panic(err)
	}
	l := &leader{
		ctx: log.IntoContext(context.Background(), logr.Discard()), machine: machine, metrics: metrics,
		gate: controller.NewGate(), policies: map[policySet]*controller.Policies{}, hand: hand,
	}
	l.gate.Open()
	return l
}

// run is one pass, or one sweep.
type run struct {
	// live is the cluster that it writes to, view what its cache shows; view is not changed.
	live *State
	view *cluster.View
	pool string
	// own is what the process remembers of its writes.
	own *controller.OwnWrites
	// fault befalls the write of this number, from 1. What only confirms has no number.
	fault Fault
	at    int
	// before, where set, is called before the write of the number takes effect.
	before func(number int)
	// after, where set, is called once the write of the number has been answered.
	after func(number int)
	// keep has the state after every write kept.
	keep bool

	pass     controller.Pass
	err      error
	number   int
	writes   []write
	told     []effects.Announce
	breaches []string
}

// write is one request that took effect.
type write struct {
	number int
	verb   string
	kind   cluster.Kind
	key    cluster.Key
	change cluster.Change
	after  *State
}

func (w write) String() string { return fmt.Sprintf("%s %s %s", w.verb, w.kind, w.key) }

// pass makes one pass over the pool.
func (l *leader) pass(r *run) *run {
	reconciler := l.assemble(r)
	request := ctrl.Request{}
	request.Name = r.pool
	_, err := reconciler.Reconcile(l.ctx, request)
	if r.err == nil {
		r.err = err
	}
	l.in = nil
	return r
}

// sweep sweeps as a process does when it starts.
func (l *leader) sweep(r *run) *run {
	r.err = l.assemble(r).Sweep.Everything(l.ctx)
	l.in = nil
	return r
}

func (l *leader) assemble(r *run) *controller.Reconciler {
	l.in = r
	if r.own == nil {
		r.own = controller.NewOwnWrites()
	}
	var api client.Client = &hand{Client: cluster.NewClient(r.live.Cluster, r.view, nil), run: r}
	if l.hand != nil {
		api = l.hand(api)
	}
	announcer := controller.NewAnnouncer(silence{}, l.metrics)
	applier := &controller.Applier{Client: api, Own: r.own, Teller: r, Clock: r.live, Term: controller.DefaultTerm}
	return &controller.Reconciler{
		Reader:  &controller.Reader{Cache: r.view, Policies: l.policiesOf(r), Settings: settings()},
		Machine: l.machine, Applier: applier, Own: r.own, Announcer: announcer, Clock: r.live, Gate: l.gate,
		Sweep:   &controller.Sweep{Cache: r.view, Live: r.live.View, Applier: applier, Clock: r.live, Settings: settings()},
		Witness: func(pass controller.Pass, err error) { r.pass, r.err = pass, err },
	}
}

// policiesOf are the policies, judged once for all passes that see the same ones on the same day.
func (l *leader) policiesOf(r *run) *controller.Policies {
	set := policySet{r.view.Policy(policyName) != nil, r.live.now.Unix() / 86400}
	policies := l.policies[set]
	if policies == nil {
		policies = controller.NewPolicies(through{l})
		l.policies[set] = policies
	}
	return policies
}

// through reads what the pass in hand sees.
type through struct{ leader *leader }

// Get reads one object.
func (t through) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return t.leader.in.view.Get(ctx, key, into, options...)
}

// List lists objects.
func (t through) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return t.leader.in.view.List(ctx, into, options...)
}

// Announce takes down what the pass tells.
func (r *run) Announce(_ context.Context, told effects.Announce) { r.told = append(r.told, told) }

// silence takes Events that nobody looks at.
type silence struct{}

// Eventf drops an Event.
func (silence) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// hand is a process's client: it does to the writes what the run's fault says, and judges those that take effect.
type hand struct {
	client.Client
	run *run
}

var errLost = errors.New("the connection was lost before the answer came")

// Create creates, unless the run's fault says otherwise. So do the others.
func (h *hand) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return h.through("create", object, func() error { return h.Client.Create(ctx, object, options...) })
}

// Patch patches.
func (h *hand) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if cluster.Confirms(patch) {
		return h.Client.Patch(ctx, object, patch, options...)
	}
	return h.through("patch", object, func() error { return h.Client.Patch(ctx, object, patch, options...) })
}

// Delete deletes.
func (h *hand) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return h.through("delete", object, func() error { return h.Client.Delete(ctx, object, options...) })
}

func (h *hand) through(verb string, object client.Object, do func() error) error {
	r := h.run
	r.number++
	if r.before != nil {
		r.before(r.number)
	}
	here := r.number == r.at
	if here && r.fault == Conflict {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, object.GetName(), errors.New("the object has been modified"))
	}
	kind, err := cluster.KindOf(object)
	if err != nil {
		return err
	}
	w := write{number: r.number, verb: verb, kind: kind, key: cluster.KeyOf(object)}
	r.live.Changed = func(c cluster.Change) { w.change = c }
	err = do()
	r.live.Changed = nil
	if err == nil && w.change.Object() != nil {
		r.judge(&w)
		if r.keep {
			w.after = r.live.clone()
		}
		r.writes = append(r.writes, w)
	}
	if r.after != nil {
		r.after(r.number)
	}
	if here && r.fault == Unanswered && err == nil {
		return errLost
	}
	return err
}

// row that fired; empty where none did.
func (r *run) row() string {
	if r.pass.Decision.Row == nil {
		return ""
	}
	return r.pass.Decision.Row.ID
}

// poolBefore is the NodePool before the change.
func poolBefore(c cluster.Change) *karpenterv1.NodePool {
	p, _ := c.Before.(*karpenterv1.NodePool)
	return p
}

// placeholderOf finds the claim's placeholder.
func placeholderOf(v *cluster.View, claim string) *corev1.Pod {
	return v.Pod(namespace, rotation.PlaceholderName(claim))
}
