// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Shelves is what a cache may offer beside client.Reader: its objects by an index, in order of namespace and name,
// without a copy of each. The informers' stores do, and an in-memory cluster.
type Shelves interface {
	NodeClaimsBy(index, value string) []*karpenterv1.NodeClaim
	NodesBy(index, value string) []*corev1.Node
	PodsBy(index, value string) []*corev1.Pod
	// Kept finds an object of the kind of the one that is handed in, which may be nil; nil when there is none.
	Kept(of client.Object, key client.ObjectKey) client.Object
	// Budgets are every PodDisruptionBudget, in any order.
	Budgets() []*policyv1.PodDisruptionBudget
}

// shelvedCache is the manager's cache with the stores of its informers: what it shows under an index and what it shows by
// name are of one store, so that a pass which has seen its own writes in the one has seen them in the other. Pods, which are
// packed there, it also hands out whole where a client asks for them.
type shelvedCache struct {
	client.Reader
	stores map[reflect.Type]toolscache.Indexer
}

// shelve adds the product's indexes to the cache's informers, which must not have been started.
func shelve(ctx context.Context, c cache.Cache) (*shelvedCache, error) {
	shelved := &shelvedCache{Reader: c, stores: map[reflect.Type]toolscache.Indexer{}}
	for _, index := range Indexes() {
		informer, err := shelved.informer(ctx, c, index.Object)
		if err != nil {
			return nil, err
		}
		if err := informer.AddIndexers(toolscache.Indexers{index.Field: underIndex(index)}); err != nil {
			return nil, fmt.Errorf("the cache's index %s cannot be set up: %w", index.Field, err)
		}
	}
	for _, object := range []client.Object{&karpenterv1.NodePool{}, &policyv1.PodDisruptionBudget{}} {
		if _, err := shelved.informer(ctx, c, object); err != nil {
			return nil, err
		}
	}
	return shelved, nil
}

// look finds an object in a cache, in place where the cache has shelves, else a copy. The error is the cache's: NotFound
// where there is none.
func look(ctx context.Context, cache client.Reader, k kind, key client.ObjectKey) (client.Object, error) {
	if shelves, ok := cache.(Shelves); ok {
		if kept := shelves.Kept(k.none(), key); kept != nil {
			return kept, nil
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: string(k)}, key.Name)
	}
	found := k.new()
	return found, cache.Get(ctx, key, found)
}

// informer is the cache's for the kind of the object, whose store is read from then on.
func (s *shelvedCache) informer(ctx context.Context, c cache.Cache, object client.Object) (toolscache.SharedIndexInformer, error) {
	found, err := c.GetInformer(ctx, object)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be watched: %w", object, err)
	}
	informer, ok := found.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("the cache keeps %T in a %T, which has no indexes to read", object, found)
	}
	s.stores[reflect.TypeOf(object)] = informer.GetIndexer()
	return informer, nil
}

func underIndex(index Index) toolscache.IndexFunc {
	return func(kept any) ([]string, error) {
		object, ok := kept.(client.Object)
		if !ok {
			return nil, fmt.Errorf("the cache keeps a %T among objects of %T", kept, index.Object)
		}
		return index.Extract(object), nil
	}
}

// NodeClaimsBy implements Shelves. So do the others.
func (s *shelvedCache) NodeClaimsBy(index, value string) []*karpenterv1.NodeClaim {
	return shelf(s, index, value, func(a, b *karpenterv1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
}

// NodesBy lists Nodes.
func (s *shelvedCache) NodesBy(index, value string) []*corev1.Node {
	return shelf(s, index, value, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
}

// PodsBy lists Pods.
func (s *shelvedCache) PodsBy(index, value string) []*corev1.Pod {
	return shelf(s, index, value, func(a, b *corev1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// shelf is what the cache has under an index, in order. It panics on an index that was not set up: to find nothing there
// would mean that the objects are gone.
func shelf[O client.Object](s *shelvedCache, index, value string, order func(a, b O) int) []O {
	kept, err := s.stores[reflect.TypeFor[O]()].ByIndex(index, value)
	if err != nil {
		panic(fmt.Sprintf("the cache is asked for %s: %v", index, err))
	}
	objects := make([]O, 0, len(kept))
	for _, each := range kept {
		if object, ok := unpacked(each).(O); ok {
			objects = append(objects, object)
		}
	}
	slices.SortFunc(objects, order)
	return objects
}

// unpacked is an object as it is asked for, of what the cache keeps.
func unpacked(kept any) client.Object {
	if packed, is := kept.(*packedPod); is {
		return packed.whole()
	}
	object, _ := kept.(client.Object)
	return object
}

// Kept finds an object.
func (s *shelvedCache) Kept(of client.Object, key client.ObjectKey) client.Object {
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + name
	}
	kept, exists, err := s.stores[reflect.TypeOf(of)].GetByKey(name)
	if err != nil || !exists {
		return nil
	}
	return unpacked(kept)
}

// Get finds a Pod as Kept does, and anything else as the manager's cache does.
func (s *shelvedCache) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	pod, asked := into.(*corev1.Pod)
	if !asked {
		return s.Reader.Get(ctx, key, into, options...)
	}
	found, err := look(ctx, s, kindPod, key)
	if kept, is := found.(*corev1.Pod); is {
		kept.DeepCopyInto(pod)
	}
	return err
}

// List lists the Pods of a namespace, or of all, and anything else as the manager's cache does. The Pods share their parts
// with the cache, and must not be changed.
func (s *shelvedCache) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	pods, asked := into.(*corev1.PodList)
	if !asked {
		return s.Reader.List(ctx, into, options...)
	}
	var o client.ListOptions
	o.ApplyOptions(options)
	if o.FieldSelector != nil || o.LabelSelector != nil {
		return errors.New("the cache lists Pods by their namespace alone; PodsBy has the indexes")
	}
	pods.Items = pods.Items[:0]
	for _, kept := range s.stores[reflect.TypeFor[*corev1.Pod]()].List() {
		pod, is := unpacked(kept).(*corev1.Pod)
		if is && (o.Namespace == "" || o.Namespace == pod.Namespace) {
			pods.Items = append(pods.Items, *pod)
		}
	}
	return nil
}

// Budgets lists PodDisruptionBudgets.
func (s *shelvedCache) Budgets() []*policyv1.PodDisruptionBudget {
	kept := s.stores[reflect.TypeFor[*policyv1.PodDisruptionBudget]()].List()
	budgets := make([]*policyv1.PodDisruptionBudget, 0, len(kept))
	for _, each := range kept {
		if budget, ok := each.(*policyv1.PodDisruptionBudget); ok {
			budgets = append(budgets, budget)
		}
	}
	return budgets
}
