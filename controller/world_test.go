// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// openSaturday is an hour into the Saturday window of wedAndSat.
var openSaturday = time.Date(2026, time.January, 9, 18, 0, 0, 0, time.UTC)

// theTable is the product's own; loading it once is enough for all scenarios.
var theTable = func() *controller.Machine {
	machine, err := controller.LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		panic(err)
	}
	return machine
}()

// world is a cluster in memory and the controller on it, moved by hand: nothing happens but what a scenario says.
type world struct {
	ctx    context.Context
	clock  *testclock.FakeClock
	server *apiServer
	cache  *watchCache
	leader *process
}

// aWorld begins an hour into the Saturday window, empty, with a controller that has just become the leader.
func aWorld() *world {
	w := &world{ctx: log.IntoContext(context.Background(), GinkgoLogr), clock: testclock.NewFakeClock(openSaturday)}
	w.server = newAPIServer(w.clock)
	w.cache = &watchCache{live: w.server.hand, held: map[string]client.Reader{}}
	w.leader = w.aProcess(w.cache)
	return w
}

// aFleet is the pool "api" under the policy "weekly", with the node "old" of ten days, which is due, the node "spare" of
// one day, which is not, and a workload on the old one.
func aFleet() *world {
	w := aWorld()
	w.aPolicy("weekly")
	w.aPool("api")
	w.aNode("old", "api", 10*day)
	w.aNode("spare", "api", day)
	w.aWorkload("shop-1", "old")
	return w
}

// process is one life of the controller: what it remembers ends with it.
type process struct {
	ctx        context.Context
	kill       context.CancelFunc
	reconciler *controller.Reconciler
	people     *audience
}

// aProcess begins a life of the controller, with its gate open.
func (w *world) aProcess(cache client.Reader) *process {
	p := &process{people: newAudience()}
	p.ctx, p.kill = context.WithCancel(w.ctx)
	settings := rotation.Settings{Namespace: namespace, PauseImage: "pause:1", PriorityClass: "placeholder"}
	own := controller.NewOwnWrites()
	applier := &controller.Applier{Client: w.server.clientOf(p.ctx), Own: own, Teller: p.people.announcer, Clock: w.clock, Term: controller.DefaultTerm}
	p.reconciler = &controller.Reconciler{
		Reader:  &controller.Reader{Cache: cache, Policies: controller.NewPolicies(cache), Settings: settings},
		Machine: theTable, Applier: applier, Own: own, Announcer: p.people.announcer, Board: controller.NewBoard(),
		Sweep: &controller.Sweep{Cache: cache, Live: applier.Client, Applier: applier, Clock: w.clock, Settings: settings},
		Gate:  controller.NewGate(), Clock: w.clock,
	}
	p.reconciler.Gate.Open()
	return p
}

// pass makes one pass over the pool.
func (p *process) pass(pool string) (ctrl.Result, error) {
	request := ctrl.Request{}
	request.Name = pool
	return p.reconciler.Reconcile(p.ctx, request)
}

// pass has the leader make one pass over a pool that must go well.
func (w *world) pass(pool string) ctrl.Result {
	GinkgoHelper()
	result, err := w.leader.pass(pool)
	Expect(err).NotTo(HaveOccurred())
	return result
}

// aNewLeader takes over: the old process is dead, the new one sweeps before its first pass.
func (w *world) aNewLeader() {
	GinkgoHelper()
	w.leader.kill()
	w.leader = w.aProcess(w.cache)
	Expect(w.leader.reconciler.Sweep.Everything(w.leader.ctx)).To(Succeed())
}

// watchCache is what the controller's watches have shown it; by default everything at once.
type watchCache struct {
	live client.Reader
	// held has the kinds that are held back, as they were.
	held map[string]client.Reader
}

func (c *watchCache) of(object any) client.Reader {
	if reader, held := c.held[kindOf(object)]; held {
		return reader
	}
	return c.live
}

func (c *watchCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.of(object).Get(ctx, key, object, options...)
}

func (c *watchCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.of(list).List(ctx, list, options...)
}

var writtenKinds = []string{"NodePool", "NodeClaim", "Node", "Pod"}

// theWatchesFallSilent holds the cache of the kinds, all that we write unless named, where it is now.
func (w *world) theWatchesFallSilent(kinds ...string) {
	if len(kinds) == 0 {
		kinds = writtenKinds
	}
	now := w.photograph()
	for _, kind := range kinds {
		w.cache.held[kind] = now
	}
}

func (w *world) theWatchesCatchUp() { w.cache.held = map[string]client.Reader{} }

// photograph is the cluster as it is now, to be read later.
func (w *world) photograph() client.Reader {
	builder := fake.NewClientBuilder().WithScheme(w.server.scheme)
	for _, object := range w.everything() {
		builder.WithObjects(object)
	}
	return indexed(builder).Build()
}

func (w *world) everything() []client.Object {
	GinkgoHelper()
	var objects []client.Object
	var pools karpenterv1.NodePoolList
	var claims karpenterv1.NodeClaimList
	var nodes corev1.NodeList
	var pods corev1.PodList
	var policies v1alpha1.RotationPolicyList
	for _, list := range []client.ObjectList{&pools, &claims, &nodes, &pods, &policies} {
		Expect(w.server.hand.List(w.ctx, list)).To(Succeed())
	}
	for i := range pools.Items {
		objects = append(objects, &pools.Items[i])
	}
	for i := range claims.Items {
		objects = append(objects, &claims.Items[i])
	}
	for i := range nodes.Items {
		objects = append(objects, &nodes.Items[i])
	}
	for i := range pods.Items {
		objects = append(objects, &pods.Items[i])
	}
	for i := range policies.Items {
		objects = append(objects, &policies.Items[i])
	}
	return objects
}

// shown describes every object by what a rotation may change of it: annotations, the cordon, and whether it is being
// deleted. Times are left out.
func (w *world) shown() map[string]string {
	GinkgoHelper()
	state := map[string]string{}
	for _, object := range w.everything() {
		var facts []string
		for key, value := range object.GetAnnotations() {
			facts = append(facts, said(key, &value))
		}
		slices.Sort(facts)
		if node, is := object.(*corev1.Node); is && node.Spec.Unschedulable {
			facts = append(facts, "cordoned-off")
		}
		if object.GetDeletionTimestamp() != nil {
			facts = append(facts, "going")
		}
		state[kindOf(object)+" "+object.GetName()] = strings.Join(facts, " ")
	}
	return state
}

func (w *world) pool(name string) *karpenterv1.NodePool {
	GinkgoHelper()
	np := &karpenterv1.NodePool{}
	Expect(w.server.hand.Get(w.ctx, client.ObjectKey{Name: name}, np)).To(Succeed())
	return np
}

func (w *world) claim(name string) *karpenterv1.NodeClaim {
	GinkgoHelper()
	nc := &karpenterv1.NodeClaim{}
	Expect(w.server.hand.Get(w.ctx, client.ObjectKey{Name: name}, nc)).To(Succeed())
	return nc
}

func (w *world) node(name string) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(w.server.hand.Get(w.ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

// placeholder of the claim; nil when there is none.
func (w *world) placeholder(claim string) *corev1.Pod {
	GinkgoHelper()
	pod := &corev1.Pod{}
	err := w.server.hand.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: rotation.PlaceholderName(claim)}, pod)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return pod
}

func (w *world) claimExists(name string) bool {
	GinkgoHelper()
	err := w.server.hand.Get(w.ctx, client.ObjectKey{Name: name}, &karpenterv1.NodeClaim{})
	Expect(client.IgnoreNotFound(err)).To(Succeed())
	return err == nil
}
