// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// indexedCache is the watch cache without a watch: client-go's own indexers with the product's indexes, read without
// copies, as CacheOptions has it.
type indexedCache map[reflect.Type]toolscache.Indexer

func newIndexedCache(objects ...client.Object) *shelvedCache {
	indexers := map[reflect.Type]toolscache.Indexers{}
	for _, index := range Indexes() {
		of := reflect.TypeOf(index.Object)
		if indexers[of] == nil {
			indexers[of] = toolscache.Indexers{}
		}
		indexers[of][index.Field] = func(object any) ([]string, error) { return index.Extract(object.(client.Object)), nil }
	}
	cache := indexedCache{}
	for _, object := range objects {
		of := reflect.TypeOf(unpacked(object))
		if cache[of] == nil {
			cache[of] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers[of])
		}
		if err := cache[of].Add(object); err != nil {
			panic(err)
		}
	}
	return &shelvedCache{cache, cache}
}

func (c indexedCache) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	if indexer := c[reflect.TypeOf(object)]; indexer != nil {
		if found, exists, _ := indexer.GetByKey(name); exists {
			reflect.ValueOf(object).Elem().Set(reflect.ValueOf(found).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (c indexedCache) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	indexer := c[reflect.PointerTo(items.Type().Elem())]
	if indexer == nil {
		return nil
	}
	found, err := lookUp(indexer, asked.FieldSelector)
	if err != nil {
		return err
	}
	out, n := reflect.MakeSlice(items.Type(), len(found), len(found)), 0
	for _, object := range found {
		if asked.Namespace == "" || object.(client.Object).GetNamespace() == asked.Namespace {
			out.Index(n).Set(reflect.ValueOf(unpacked(object)).Elem())
			n++
		}
	}
	items.Set(out.Slice(0, n))
	return nil
}

// lookUp finds everything, or what the index has under the one requirement of the selector.
func lookUp(indexer toolscache.Indexer, selector fields.Selector) ([]any, error) {
	if selector == nil {
		return indexer.List(), nil
	}
	asked := selector.Requirements()[0]
	return indexer.ByIndex(asked.Field, asked.Value)
}

const (
	benchmarkClaims = 500
	podsPerNode     = 10
)

// anHourIn is an hour into the Saturday window of the benchmark's policy.
var anHourIn = time.Date(2026, time.January, 9, 18, 0, 0, 0, time.UTC)

// aLargeFleet is one pool of 500 claims with their Nodes and 5,000 Pods, as the cache keeps them. The oldest claim has
// this age.
func aLargeFleet(oldest time.Duration) []client.Object {
	policy := &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "weekly", UID: "weekly"}}
	policy.Spec.MaintenanceWindows = []v1alpha1.MaintenanceWindow{
		{Timezone: "Asia/Tokyo", Days: []v1alpha1.Day{v1alpha1.Wednesday, v1alpha1.Saturday}, Start: "02:00", End: "06:00"}}
	pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "api", UID: "api", ResourceVersion: "1"}}
	pool.Spec.Template.Spec.ExpireAfter = karpenterv1.NillableDuration{Duration: ptr.To(14 * 24 * time.Hour)}
	pool.Spec.Template.Spec.TerminationGracePeriod = &metav1.Duration{Duration: time.Hour}
	objects := []client.Object{policy, pool}
	var pods packing
	for i := range benchmarkClaims {
		name := fmt.Sprintf("api-%03d", i)
		created := metav1.NewTime(anHourIn.Add(-oldest + time.Duration(i)*time.Minute))
		labels := map[string]string{rotation.LabelNodePool: "api", corev1.LabelHostname: name, corev1.LabelTopologyZone: "zone-a"}
		amounts := corev1.ResourceList{"cpu": resource.MustParse("7910m"), "memory": resource.MustParse("28Gi"), "pods": resource.MustParse("58")}
		claim := &karpenterv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: labels, CreationTimestamp: created}}
		claim.Spec.ExpireAfter, claim.Spec.TerminationGracePeriod = pool.Spec.Template.Spec.ExpireAfter, pool.Spec.Template.Spec.TerminationGracePeriod
		claim.Spec.Requirements = []karpenterv1.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-a"}},
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}}}
		claim.Status.NodeName, claim.Status.Allocatable = name, amounts
		for _, c := range []string{karpenterv1.ConditionTypeLaunched, karpenterv1.ConditionTypeRegistered, karpenterv1.ConditionTypeInitialized} {
			claim.StatusConditions().SetTrue(c)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: labels}}
		node.Status.Allocatable = amounts
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objects = append(objects, claim, trimmed(node, trimNode))
		for j := range podsPerNode {
			pod := aTypicalPod(i*podsPerNode + j)
			pod.Spec.NodeName = name
			kept, err := pods.transform(pod)
			if err != nil {
				panic(err)
			}
			objects = append(objects, kept.(*packedPod))
		}
	}
	return objects
}

// accepting answers every write as the API server does that accepts it, and counts them.
type accepting struct {
	client.Client
	requests int
}

func (a *accepting) accept(object client.Object) error {
	a.requests++
	object.SetResourceVersion("2")
	return nil
}

func (a *accepting) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return a.accept(object)
}

func (a *accepting) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return a.accept(object)
}

type nobody struct{}

func (nobody) Eventf(_, _ kruntime.Object, _, _, _, _ string, _ ...any) {}

// benchmarkController is the whole reconciler over the cache.
func benchmarkController(b testing.TB, cache client.Reader) (*Reconciler, *accepting) {
	b.Helper()
	series, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		b.Fatal(err)
	}
	table, err := LoadTable(noderotation.TransitionsFile, noderotation.Transitions)
	if err != nil {
		b.Fatal(err)
	}
	clock := testclock.NewFakeClock(anHourIn)
	server := &accepting{Client: fake.NewFakeClient()}
	announcer := NewAnnouncer(nobody{}, series)
	r := &Reconciler{
		Reader:  &Reader{Cache: cache, Policies: NewPolicies(cache), Settings: rotation.Settings{Namespace: "noderotation-system", PauseImage: "pause"}},
		Machine: table, Applier: &Applier{Client: server, Own: NewOwnWrites(), Teller: announcer, Clock: clock},
		Own: NewOwnWrites(), Announcer: announcer, Gate: NewGate(), Clock: clock,
	}
	r.Gate.Open()
	return r, server
}

func benchmarkPass(b *testing.B, oldest time.Duration, writes int) {
	r, server := benchmarkController(b, newIndexedCache(aLargeFleet(oldest)...))
	ctx := log.IntoContext(b.Context(), logr.Discard())
	request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "api"}}
	b.ReportAllocs()
	passes, began := 0, cpuTime(b)
	for b.Loop() {
		if _, err := r.Reconcile(ctx, request); err != nil {
			b.Fatal(err)
		}
		passes++
	}
	b.ReportMetric(float64(cpuTime(b)-began)/float64(passes), "cpu-ns/op")
	if server.requests != writes*passes {
		b.Fatalf("%d requests in %d passes, want %d in each", server.requests, passes, writes)
	}
}

// cpuTime is what this process has used of the processors: unlike the time on the wall it does not count what others on
// the machine do meanwhile.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkIdlePass is a pass over a large pool in which no node is of age: it asks the API server for nothing.
func BenchmarkIdlePass(b *testing.B) { benchmarkPass(b, 24*time.Hour, 0) }

// BenchmarkDecidingPass is a pass over a large pool of which every node is of age: it chooses one, sizes its
// placeholder, and starts a rotation in four writes. The cache never shows them, so that each pass starts anew.
func BenchmarkDecidingPass(b *testing.B) { benchmarkPass(b, 10*24*time.Hour, 4) }

// BenchmarkLoadTable parses the table, checks every law and binds it.
func BenchmarkLoadTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := LoadTable(noderotation.TransitionsFile, noderotation.Transitions); err != nil {
			b.Fatal(err)
		}
	}
}

// The cache hands out its own objects (CacheOptions): no pass may change one, whatever it decides.
func TestNoPassChangesWhatItRead(t *testing.T) {
	objects := aLargeFleet(10 * 24 * time.Hour)
	before := make([]client.Object, len(objects))
	for i, object := range objects {
		before[i] = object.DeepCopyObject().(client.Object)
	}
	r, server := benchmarkController(t, newIndexedCache(objects...))
	ctx := log.IntoContext(t.Context(), logr.Discard())
	if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: "api"}}); err != nil {
		t.Fatal(err)
	}
	if server.requests != 4 {
		t.Fatalf("the pass made %d requests; it should have started a rotation", server.requests)
	}
	for i, object := range objects {
		if !reflect.DeepEqual(unpacked(object), before[i]) {
			t.Errorf("%T %s was changed by the pass", object, object.GetName())
		}
	}
}
