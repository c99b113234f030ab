// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Index is one index of every view of a cluster.
type Index struct {
	Of      Kind
	Field   string
	Extract client.IndexerFunc
}

// View is one version of a cluster's objects: the live one, or what a cache has seen of it. It is a client.Reader. What
// it returns is shared: nobody may change it.
type View struct {
	tables  [numKinds]anyTable
	version uint64
}

var _ client.Reader = (*View)(nil)

func newView(indexes []Index) View {
	return View{tables: [numKinds]anyTable{
		Policy:    newTable[v1alpha1.RotationPolicy](indexes, Policy),
		NodePool:  newTable[karpenterv1.NodePool](indexes, NodePool),
		NodeClaim: newTable[karpenterv1.NodeClaim](indexes, NodeClaim),
		Node:      newTable[corev1.Node](indexes, Node),
		Pod:       newTable[corev1.Pod](indexes, Pod),
		Budget:    newTable[policyv1.PodDisruptionBudget](indexes, Budget),
	}}
}

// Clone is an independent view of the same objects. It costs what is changed afterwards.
func (v *View) Clone() *View {
	other := &View{version: v.version}
	for k := range v.tables {
		other.tables[k] = v.tables[k].clone()
	}
	return other
}

// Apply brings the view up to date with one change.
func (v *View) Apply(c Change) {
	v.tables[c.Kind].set(c.Key(), c.Before, c.After)
	v.version = c.Version
}

// Version is the resourceVersion of the newest change that the view has seen.
func (v *View) Version() uint64 { return v.version }

// Find finds an object of any kind; nil when there is none of this key.
func (v *View) Find(kind Kind, key Key) client.Object { return v.tables[kind].get(key) }

// Kept finds an object of the kind of the one that is handed in, which may be nil; nil when there is none.
func (v *View) Kept(of client.Object, key client.ObjectKey) client.Object {
	kind, err := KindOf(of)
	if err != nil {
		return nil
	}
	return v.tables[kind].get(Key(key))
}

// Each visits every object, kind by kind and in order.
func (v *View) Each(visit func(Kind, client.Object)) {
	for k := range v.tables {
		v.tables[k].each(func(o client.Object) { visit(Kind(k), o) })
	}
}

func tableOf[V any, P pointer[V]](v *View, kind Kind) *table[V, P] {
	return v.tables[kind].(*table[V, P]) //nolint:errcheck // newView made it so
}

// Policy finds a RotationPolicy; nil when there is none of this name. So do the others.
func (v *View) Policy(name string) *v1alpha1.RotationPolicy {
	return tableOf[v1alpha1.RotationPolicy](v, Policy).objects[Key{Name: name}]
}

// NodePool finds a NodePool.
func (v *View) NodePool(name string) *karpenterv1.NodePool {
	return tableOf[karpenterv1.NodePool](v, NodePool).objects[Key{Name: name}]
}

// NodeClaim finds a NodeClaim.
func (v *View) NodeClaim(name string) *karpenterv1.NodeClaim {
	return tableOf[karpenterv1.NodeClaim](v, NodeClaim).objects[Key{Name: name}]
}

// Node finds a Node.
func (v *View) Node(name string) *corev1.Node {
	return tableOf[corev1.Node](v, Node).objects[Key{Name: name}]
}

// Pod finds a Pod.
func (v *View) Pod(namespace, name string) *corev1.Pod {
	return tableOf[corev1.Pod](v, Pod).objects[Key{namespace, name}]
}

// Budget finds a PodDisruptionBudget.
func (v *View) Budget(namespace, name string) *policyv1.PodDisruptionBudget {
	return tableOf[policyv1.PodDisruptionBudget](v, Budget).objects[Key{namespace, name}]
}

// NodePools lists every NodePool in order. So do the others.
func (v *View) NodePools() []*karpenterv1.NodePool {
	return tableOf[karpenterv1.NodePool](v, NodePool).all().members
}

// NodeClaims lists every NodeClaim.
func (v *View) NodeClaims() []*karpenterv1.NodeClaim {
	return tableOf[karpenterv1.NodeClaim](v, NodeClaim).all().members
}

// Nodes lists every Node.
func (v *View) Nodes() []*corev1.Node { return tableOf[corev1.Node](v, Node).all().members }

// Pods lists every Pod.
func (v *View) Pods() []*corev1.Pod { return tableOf[corev1.Pod](v, Pod).all().members }

// Budgets lists every PodDisruptionBudget.
func (v *View) Budgets() []*policyv1.PodDisruptionBudget {
	return tableOf[policyv1.PodDisruptionBudget](v, Budget).all().members
}

// NodeClaimsBy lists the NodeClaims of one value of an index. It panics when there is no such index. So do the others.
func (v *View) NodeClaimsBy(field, value string) []*karpenterv1.NodeClaim {
	return membersBy[karpenterv1.NodeClaim](v, NodeClaim, field, value)
}

// NodesBy lists the Nodes of one value of an index.
func (v *View) NodesBy(field, value string) []*corev1.Node {
	return membersBy[corev1.Node](v, Node, field, value)
}

// PodsBy lists the Pods of one value of an index.
func (v *View) PodsBy(field, value string) []*corev1.Pod {
	return membersBy[corev1.Pod](v, Pod, field, value)
}

func membersBy[V any, P pointer[V]](v *View, kind Kind, field, value string) []*V {
	s, indexed := tableOf[V, P](v, kind).by(field, value)
	if !indexed {
		panic(fmt.Sprintf("sim: there is no index %s of %s", field, kind))
	}
	if s == nil {
		return nil
	}
	return s.members
}

// Get answers as the API server does, or as a cache: the object, or NotFound.
func (v *View) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind, err := KindOf(into)
	if err != nil {
		return err
	}
	found := v.tables[kind].get(Key(key))
	if found == nil {
		return apierrors.NewNotFound(kinds[kind].resource, key.Name)
	}
	assign(into, found)
	return nil
}

// List answers with the objects that the options select, in order of namespace and name. Fields are looked up in the
// indexes, as a cache does.
func (v *View) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	into.SetResourceVersion(strconv.FormatUint(v.version, 10))
	var err error
	switch into := into.(type) {
	case *v1alpha1.RotationPolicyList:
		into.Items, err = selected[v1alpha1.RotationPolicy](v, Policy, &o)
	case *karpenterv1.NodePoolList:
		into.Items, err = selected[karpenterv1.NodePool](v, NodePool, &o)
	case *karpenterv1.NodeClaimList:
		into.Items, err = selected[karpenterv1.NodeClaim](v, NodeClaim, &o)
	case *corev1.NodeList:
		into.Items, err = selected[corev1.Node](v, Node, &o)
	case *corev1.PodList:
		into.Items, err = selected[corev1.Pod](v, Pod, &o)
	case *policyv1.PodDisruptionBudgetList:
		into.Items, err = selected[policyv1.PodDisruptionBudget](v, Budget, &o)
	default:
		_, err = KindOf(into)
	}
	return err
}

func selected[V any, P pointer[V]](v *View, kind Kind, o *client.ListOptions) ([]V, error) {
	t := tableOf[V, P](v, kind)
	source, rest, err := t.source(o.FieldSelector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	values := source.list()
	if o.Namespace == "" && o.LabelSelector == nil && len(rest) == 0 {
		return slices.Clip(values), nil
	}
	var chosen []V
	for i := range values {
		if p := P(&values[i]); t.chosen(p, o, rest) {
			chosen = append(chosen, values[i])
		}
	}
	return chosen, nil
}

// source is the shelf of the first field that is asked for, and what else is.
func (t *table[V, P]) source(selector fields.Selector) (*shelf[V], fields.Requirements, error) {
	if selector == nil || selector.Empty() {
		return t.all(), nil, nil
	}
	requirements := selector.Requirements()
	for _, r := range requirements {
		if _, indexed := t.by(r.Field, r.Value); !indexed {
			return nil, nil, fmt.Errorf("index with name field:%s does not exist", r.Field)
		}
	}
	s, _ := t.by(requirements[0].Field, requirements[0].Value)
	return s, requirements[1:], nil
}

func (t *table[V, P]) chosen(object P, o *client.ListOptions, rest fields.Requirements) bool {
	if o.Namespace != "" && object.GetNamespace() != o.Namespace {
		return false
	}
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	for _, r := range rest {
		for i := range t.indexes {
			if t.indexes[i].field == r.Field && !slices.Contains(t.indexes[i].extract(object), r.Value) {
				return false
			}
		}
	}
	return true
}
