// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/rotation"
)

// write is a request of the controller that would change something, said by its meaning.
type write struct {
	// Nth counts the writes that the controller has asked for, from one.
	Nth int
	// Kind of the object.
	Kind, Meaning string
	Accepted      bool
}

// verdict is what befalls a write; the zero value lets it through.
type verdict struct {
	// Lost keeps the write from taking effect.
	Lost bool
	// Answer is the error that the writer gets, whether or not the write took effect.
	Answer error
}

// apiServer stands in for the API server: controller-runtime's fake client, made to answer as the API server does where
// the two differ and the product depends on it. A JSON patch whose test fails is 422 Invalid without causes
// (k8s.io/apiserver/pkg/endpoints/handlers/patch.go); a delete is refused unless its UID precondition holds; creation
// and deletion are stamped, and a UID given, at the time of the scenario's clock; a Node, which nothing finalizes here,
// and a Pod without a grace period are gone at once; a patch that changes nothing is refused like any other on a version
// that has passed, and else makes no new one (k8s.io/apiserver/pkg/registry/generic/registry/store.go, Update).
type apiServer struct {
	// hand is how the scenario itself, as an operator, Karpenter or the kubelet, changes the cluster.
	hand    client.WithWatch
	scheme  *runtime.Scheme
	tracker clienttesting.ObjectTracker
	clock   *testclock.FakeClock
	writes  []write
	// judge decides what befalls the controller's next write; nil lets all through.
	judge func(write) verdict
	// before and after, if set, run around a write that takes effect.
	before, after func(write)
}

func newAPIServer(clock *testclock.FakeClock) *apiServer {
	scheme, err := controller.NewScheme()
	if err != nil {
		panic(err)
	}
	s := &apiServer{scheme: scheme, clock: clock}
	s.tracker = clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(s.tracker).WithGlobalResourceVersionCounter().
		WithStatusSubresource(&karpenterv1.NodePool{}, &karpenterv1.NodeClaim{})
	s.hand = interceptor.NewClient(indexed(builder).Build(), interceptor.Funcs{
		Create: s.create, Delete: s.delete, Patch: s.patch,
	})
	return s
}

// indexed gives the client the product's own indexes.
func indexed(builder *fake.ClientBuilder) *fake.ClientBuilder {
	for _, index := range controller.Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Extract)
	}
	return builder
}

func (s *apiServer) create(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
	if object.GetUID() == "" {
		object.SetUID(uuid.NewUUID())
	}
	if object.GetCreationTimestamp().Time.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(s.clock.Now().Truncate(1e9)))
	}
	return c.Create(ctx, object, options...)
}

func (s *apiServer) delete(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	asked := (&client.DeleteOptions{}).ApplyOptions(options)
	stored := object.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		return err
	}
	gvr := s.resource(object)
	if p := asked.Preconditions; p != nil && p.UID != nil && *p.UID != stored.GetUID() {
		return apierrors.NewConflict(gvr.GroupResource(), object.GetName(),
			fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", *p.UID, stored.GetUID()))
	}
	if stored.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := c.Delete(ctx, object, options...); err != nil {
		return err
	}
	return s.stampDeletion(gvr, object)
}

// stampDeletion puts the deletion of an object that a finalizer keeps at the scenario's time: the fake client asks the
// machine for it.
func (s *apiServer) stampDeletion(gvr schema.GroupVersionResource, object client.Object) error {
	deleted, err := s.tracker.Get(gvr, object.GetNamespace(), object.GetName())
	if apierrors.IsNotFound(err) {
		return nil
	}
	accessor, err := meta.Accessor(deleted)
	if err != nil {
		return err
	}
	accessor.SetDeletionTimestamp(&metav1.Time{Time: s.clock.Now().Truncate(1e9)})
	return s.tracker.Update(gvr, deleted, object.GetNamespace())
}

func (s *apiServer) patch(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	stored := object.DeepCopyObject().(client.Object)
	_ = c.Get(ctx, client.ObjectKeyFromObject(object), stored) // the patch answers where there is none
	err := c.Patch(ctx, object, patch, options...)
	if _, isClaim := object.(*karpenterv1.NodeClaim); err == nil && isClaim && annotated(patch) == "" {
		return s.takeBack(s.resource(object), object, stored.GetResourceVersion())
	}
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) || patch.Type() != types.JSONPatchType {
		return err
	}
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

// takeBack has the object be of that version still.
func (s *apiServer) takeBack(gvr schema.GroupVersionResource, object client.Object, version string) error {
	stored, err := s.tracker.Get(gvr, object.GetNamespace(), object.GetName())
	if err != nil {
		return err
	}
	accessor, err := meta.Accessor(stored)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(version)
	object.SetResourceVersion(version)
	return s.tracker.Update(gvr, stored, object.GetNamespace())
}

func (s *apiServer) resource(object client.Object) schema.GroupVersionResource {
	gvk, err := s.hand.GroupVersionKindFor(object)
	if err != nil {
		panic(err)
	}
	gvr, _ := meta.UnsafeGuessKindToResource(gvk)
	return gvr
}

// clientOf is the client of one process. Once ctx is done the process is dead: nothing that it asks for is heard.
func (s *apiServer) clientOf(process context.Context) client.Client {
	return interceptor.NewClient(s.hand, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return s.admit(process, "create", object, nil, func() error { return c.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return s.admit(process, "delete", object, nil, func() error { return c.Delete(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return s.admit(process, "patch", object, patch, func() error { return c.Patch(ctx, object, patch, options...) })
		},
	})
}

func (s *apiServer) admit(process context.Context, verb string, object client.Object, patch client.Patch, carryOut func() error) error {
	if err := process.Err(); err != nil {
		return err
	}
	w := write{Nth: len(s.writes) + 1, Kind: kindOf(object), Meaning: meaning(verb, object, patch)}
	s.writes = append(s.writes, w)
	var v verdict
	if s.judge != nil {
		v = s.judge(w)
	}
	if v.Lost {
		return v.Answer
	}
	if s.before != nil {
		s.before(w)
	}
	if err := carryOut(); err != nil {
		return err
	}
	s.writes[w.Nth-1].Accepted = true
	if s.after != nil {
		s.after(w)
	}
	return v.Answer
}

// wrote lists the meanings of the writes that were accepted since the last call.
func (s *apiServer) wrote() []string {
	meanings := []string{}
	for _, w := range s.writes {
		if w.Accepted {
			meanings = append(meanings, w.Meaning)
		}
	}
	s.writes = nil
	return meanings
}

// kindOf is the kind of an object or of the objects of a list.
func kindOf(object any) string {
	kind := strings.TrimSuffix(fmt.Sprintf("%T", object), "List")
	return kind[strings.LastIndex(kind, ".")+1:]
}

// meaning says what a write is for.
func meaning(verb string, object client.Object, patch client.Patch) string {
	name := object.GetName()
	switch object.(type) {
	case *corev1.Pod:
		return verb + " the placeholder"
	case *karpenterv1.NodeClaim:
		if verb == "delete" {
			return "delete claim " + name
		}
		if change := annotated(patch); change != "" {
			return "claim " + name + ": " + change
		}
		return "confirm claim " + name
	case *corev1.Node:
		return "node " + name + ": " + annotated(patch)
	default:
		return "pool: " + annotated(patch)
	}
}

// annotated lists what a patch sets, with the values that are words and not times, and what it removes.
func annotated(patch client.Patch) string {
	body, err := patch.Data(nil)
	if err != nil {
		panic(err)
	}
	changes := map[string]*string{}
	if patch.Type() == types.MergePatchType {
		var merge struct {
			Metadata struct{ Annotations map[string]*string }
		}
		if err := json.Unmarshal(body, &merge); err != nil {
			panic(err)
		}
		changes = merge.Metadata.Annotations
	} else {
		var ops []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(body, &ops); err != nil {
			panic(err)
		}
		for _, op := range ops {
			key := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(op.Path, "/metadata/annotations/"))
			switch set, is := changes[key]; {
			case op.Op == "remove" && is && *set == "":
				delete(changes, key) // it makes sure of it, whether or not the key is there
			case op.Op == "remove":
				changes[key] = nil
			case op.Op == "add" && op.Path != "/metadata/annotations":
				value := fmt.Sprint(op.Value)
				changes[key] = &value
			}
		}
	}
	var words []string
	for key, value := range changes {
		words = append(words, said(key, value))
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func said(key string, value *string) string {
	short := key[strings.LastIndex(key, "/")+1:]
	switch {
	case key == "/spec/unschedulable" && *value == "true":
		return "cordon"
	case key == "/spec/unschedulable":
		return "uncordon"
	case value == nil:
		return "-" + short
	case key == rotation.KeyState, key == rotation.KeyActiveRotationState, key == rotation.KeySurgeClaim,
		key == rotation.KeyActiveRotation, key == rotation.KeyRotationMode, key == rotation.KeyRetryCount:
		return short + "=" + *value
	default:
		return short
	}
}
