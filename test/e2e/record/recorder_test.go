// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"noderotation.io/noderotation/test/e2e/record"
)

// apiServer answers lists and watches from what a test puts into it.
type apiServer struct {
	dynamic.Interface
	mu       sync.Mutex
	revision int
	stored   map[string]map[string]*unstructured.Unstructured // by resource and name
	watches  map[string]*watch.RaceFreeFakeWatcher            // by resource
	// from are the resourceVersions from which NodeClaims were watched.
	from []string
}

func newAPIServer() *apiServer {
	return &apiServer{
		revision: 10, stored: map[string]map[string]*unstructured.Unstructured{}, watches: map[string]*watch.RaceFreeFakeWatcher{},
	}
}

func (a *apiServer) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return &served{server: a, resource: resource.Resource}
}

// served is one resource of the server.
type served struct {
	dynamic.NamespaceableResourceInterface
	server   *apiServer
	resource string
}

func (s *served) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	list := &unstructured.UnstructuredList{}
	list.SetResourceVersion(strconv.Itoa(s.server.revision))
	for _, object := range s.server.stored[s.resource] {
		list.Items = append(list.Items, *object)
	}
	return list, nil
}

func (s *served) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.resource == "nodeclaims" {
		s.server.from = append(s.server.from, options.ResourceVersion)
	}
	watcher := watch.NewRaceFreeFake()
	s.server.watches[s.resource] = watcher
	return watcher, nil
}

// write stores the object, or removes it, and returns the event that tells of it.
func (a *apiServer) write(change watch.EventType, object runtime.Object, resource string) watch.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revision++
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(err)
	}
	raw := &unstructured.Unstructured{Object: content}
	raw.SetResourceVersion(strconv.Itoa(a.revision))
	raw.SetUID(types.UID(resource + "/" + raw.GetName()))
	if a.stored[resource] == nil {
		a.stored[resource] = map[string]*unstructured.Unstructured{}
	}
	if change == watch.Deleted {
		delete(a.stored[resource], raw.GetName())
	} else {
		a.stored[resource][raw.GetName()] = raw
	}
	return watch.Event{Type: change, Object: raw}
}

// tell sends an event to whoever watches the resource.
func (a *apiServer) tell(g Gomega, resource string, event watch.Event) {
	a.watcher(g, resource).Action(event.Type, event.Object)
}

// watcher is the present watch of the resource.
func (a *apiServer) watcher(g Gomega, resource string) *watch.RaceFreeFakeWatcher {
	var watcher *watch.RaceFreeFakeWatcher
	g.Eventually(func() *watch.RaceFreeFakeWatcher {
		a.mu.Lock()
		defer a.mu.Unlock()
		watcher = a.watches[resource]
		return watcher
	}).ShouldNot(BeNil(), resource+" is watched")
	return watcher
}

func (a *apiServer) watchedFrom() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.from...)
}

// recorded starts a recorder that ends with the test.
func recorded(t *testing.T, server *apiServer) (*record.Recorder, Gomega) {
	t.Helper()
	g := NewWithT(t)
	recorder, err := record.Start(t.Context(), server)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(recorder.Stop)
	return recorder, g
}

func claims(names ...string) func(record.World) bool {
	return func(world record.World) bool {
		for _, name := range names {
			if world.Claims[name] == nil {
				return false
			}
		}
		return len(world.Claims) == len(names)
	}
}

func TestARecordingHoldsEventsOfAllKindsInTheOrderOfTheirWrites(t *testing.T) {
	server := newAPIServer()
	server.write(watch.Added, claim("there"), "nodeclaims")
	recorder, g := recorded(t, server)
	first := server.write(watch.Added, pod("p", "", ""), "pods")
	second := server.write(watch.Added, claim("new"), "nodeclaims")
	third := server.write(watch.Modified, pod("p", "n", ""), "pods")
	server.tell(g, "nodeclaims", second) // one watch is ahead of the other
	server.tell(g, "pods", first)
	server.tell(g, "pods", third)

	fence, err := recorder.Fence(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	recording, err := recorder.Recording()
	g.Expect(err).NotTo(HaveOccurred())
	var revisions []record.Revision
	for _, event := range recording.Events() {
		revisions = append(revisions, event.Revision)
		g.Expect(event.At).NotTo(BeZero())
	}
	g.Expect(revisions).To(Equal([]record.Revision{12, 13, 14}))
	g.Expect(fence).To(BeEquivalentTo(14))
	g.Expect(recording.End().Claims).To(And(HaveKey("there"), HaveKey("new")))
}

func TestAFenceWaitsForWhatTheWatchHasYetToTell(t *testing.T) {
	for name, change := range map[string]watch.EventType{"a change": watch.Modified, "a deletion": watch.Deleted} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer()
			server.write(watch.Added, claim("a"), "nodeclaims")
			recorder, g := recorded(t, server)
			late := server.write(change, claim("a", "x=y"), "nodeclaims")

			soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := recorder.Fence(soon)
			g.Expect(err).To(MatchError(ContainSubstring("waited in vain until the recording of nodeclaims has come to revision 12")))

			server.tell(g, "nodeclaims", late)
			g.Expect(recorder.Fence(t.Context())).To(BeEquivalentTo(12))
		})
	}
}

func TestAWatchThatEndsInGoodOrderGoesOnFromItsLastEvent(t *testing.T) {
	server := newAPIServer()
	recorder, g := recorded(t, server)
	server.tell(g, "nodeclaims", server.write(watch.Added, claim("a"), "nodeclaims"))
	g.Expect(recorder.Await(t.Context(), "a is there", claims("a"))).To(Succeed())
	server.watcher(g, "nodeclaims").Stop()
	g.Eventually(server.watchedFrom).Should(Equal([]string{"10", "11"}))
	server.tell(g, "nodeclaims", server.write(watch.Added, claim("b"), "nodeclaims"))
	g.Expect(recorder.Await(t.Context(), "b is there", claims("a", "b"))).To(Succeed())
	g.Expect(recorder.Err()).NotTo(HaveOccurred())
}

func TestAGapEndsTheRecordingForGood(t *testing.T) {
	server := newAPIServer()
	recorder, g := recorded(t, server)
	gone := &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Message: "too old resource version"}
	server.tell(g, "nodeclaims", watch.Event{Type: watch.Error, Object: gone})

	g.Expect(recorder.Await(t.Context(), "something comes", claims("a"))).To(MatchError(And(
		ContainSubstring("the recording of nodeclaims has a gap after resourceVersion 10"), ContainSubstring("too old resource version"))))
	g.Expect(recorder.Err()).To(HaveOccurred())
	_, err := recorder.Recording()
	g.Expect(err).To(HaveOccurred())
	_, err = recorder.Fence(t.Context())
	g.Expect(err).To(HaveOccurred())
}

func TestAwaitSaysWhatItWaitedForAndWhyItStopped(t *testing.T) {
	recorder, g := recorded(t, newAPIServer())
	died := errors.New("the controller died")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(died)
	err := recorder.Await(ctx, "the moon is full", claims("a"))
	g.Expect(err).To(MatchError(died))
	g.Expect(err).To(MatchError(ContainSubstring("waited in vain until the moon is full")))
}

func TestAResourceVersionThatOrdersNothingIsRefused(t *testing.T) {
	server := newAPIServer()
	recorder, g := recorded(t, server)
	odd := server.write(watch.Added, claim("a"), "nodeclaims")
	odd.Object.(*unstructured.Unstructured).SetResourceVersion("blue")
	server.tell(g, "nodeclaims", odd)
	g.Expect(recorder.Await(t.Context(), "a is there", claims("a"))).To(MatchError(ContainSubstring(`resourceVersion "blue" does not order anything`)))
}
