// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

const (
	// pageSize is how many objects are asked for at once.
	pageSize = 500
	// fieldNodeName is the field of a Pod by which the API server finds those of a Node.
	fieldNodeName = "spec.nodeName"
)

// LiveReader answers the lookups of a Reader from the API server, for one look at a cluster with neither cache nor watch.
// A kind is listed at most once, in pages, and as it is now; Pods are asked for by their node, so that only those are read on which
// a decision depends. What may not be read counts as empty, and Denied tells of it.
//
// It is for one moment: whoever looks again makes another. Not safe for concurrent use.
type LiveReader struct {
	server client.Reader
	scope  client.MatchingLabels

	policies kept[v1alpha1.RotationPolicy]
	pools    kept[karpenterv1.NodePool]
	claims   kept[karpenterv1.NodeClaim]
	nodes    kept[corev1.Node]
	budgets  kept[policyv1.PodDisruptionBudget]
	denied   []Denial
}

var _ client.Reader = (*LiveReader)(nil)

// NewLiveReader reads through server. With a pool, NodeClaims and Nodes of other pools are not read.
func NewLiveReader(server client.Reader, pool string) *LiveReader {
	scope := client.MatchingLabels{}
	if pool != "" {
		scope[rotation.LabelNodePool] = pool
	}
	return &LiveReader{server: server, scope: scope}
}

// Get asks the API server.
func (l *LiveReader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return l.server.Get(ctx, key, into, options...)
}

// List answers what a Reader asks a cache, by its indexes or not.
func (l *LiveReader) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	var err error
	switch into := into.(type) {
	case *v1alpha1.RotationPolicyList:
		into.Items, err = once(ctx, l, &l.policies, func() client.ObjectList { return &v1alpha1.RotationPolicyList{} }, &o)
	case *karpenterv1.NodePoolList:
		into.Items, err = once(ctx, l, &l.pools, func() client.ObjectList { return &karpenterv1.NodePoolList{} }, &o)
	case *karpenterv1.NodeClaimList:
		into.Items, err = once(ctx, l, &l.claims, func() client.ObjectList { return &karpenterv1.NodeClaimList{} }, &o, l.scope)
	case *corev1.NodeList:
		into.Items, err = once(ctx, l, &l.nodes, func() client.ObjectList { return &corev1.NodeList{} }, &o, l.scope)
	case *policyv1.PodDisruptionBudgetList:
		into.Items, err = once(ctx, l, &l.budgets, func() client.ObjectList { return &policyv1.PodDisruptionBudgetList{} }, &o)
	case *corev1.PodList:
		into.Items, err = l.pods(ctx, &o)
	default:
		err = fmt.Errorf("%T is no kind that a rotation depends on", into)
	}
	return err
}

// PodsOn lists the Pods of a Node.
func (l *LiveReader) PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	return (&Reader{Cache: l}).pods(ctx, indexNode, node)
}

// Budgets lists every PodDisruptionBudget.
func (l *LiveReader) Budgets(ctx context.Context) ([]*policyv1.PodDisruptionBudget, error) {
	return (&Reader{Cache: l}).budgets(ctx)
}

// pods looks Pods up by an index of the cache's, in what the API server can select by.
func (l *LiveReader) pods(ctx context.Context, o *client.ListOptions) ([]corev1.Pod, error) {
	options := []client.ListOption{client.InNamespace(o.Namespace)}
	if o.FieldSelector != nil {
		for _, by := range o.FieldSelector.Requirements() {
			switch by.Field {
			case indexNode:
				options = append(options, client.MatchingFields{fieldNodeName: strings.TrimPrefix(by.Value, unbound)})
			case indexSurgeFor:
				options = append(options, client.MatchingLabels(rotation.PlaceholderLabels()))
			}
		}
	}
	var asked kept[corev1.Pod]
	return once(ctx, l, &asked, func() client.ObjectList { return &corev1.PodList{} }, o, options...)
}

// kept holds the objects of one kind, once they have been listed.
type kept[T any] struct {
	items  []T
	listed bool
}

// listable is what *T must be for T to be listed.
type listable[T any] interface {
	*T
	client.Object
}

// once lists a kind, unless that has been done, and answers with what o selects of it.
func once[T any, P listable[T]](
	ctx context.Context, l *LiveReader, k *kept[T], fresh func() client.ObjectList, o *client.ListOptions, options ...client.ListOption,
) ([]T, error) {
	if !k.listed {
		items, err := pages[T, P](ctx, l.server, fresh, options)
		if err := l.tolerate(err); err != nil {
			return nil, err
		}
		k.items, k.listed = items, true
	}
	return selected[T, P](k.items, o), nil
}

// pages lists all objects of a kind, page by page. Where the list has grown too old for its next page the pager asks for
// the whole at once.
func pages[T any, P listable[T]](ctx context.Context, server client.Reader, fresh func() client.ObjectList, options []client.ListOption) ([]T, error) {
	asked := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page := fresh()
		return page, server.List(ctx, page, append(slices.Clone(options), client.Limit(o.Limit), client.Continue(o.Continue))...)
	})
	list, _, err := asked.List(ctx, metav1.ListOptions{Limit: pageSize})
	if err != nil {
		return nil, err
	}
	var all []T
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if object, is := item.(P); is {
			all = append(all, *object)
		}
		return nil
	})
	return all, err
}

// selected are the objects that the options select, by label and by the cache's indexes.
func selected[T any, P listable[T]](items []T, o *client.ListOptions) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool {
		object := P(&item)
		if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			return true
		}
		if o.FieldSelector == nil {
			return false
		}
		for _, by := range o.FieldSelector.Requirements() {
			if !slices.Contains(extracted(object, by.Field), by.Value) {
				return true
			}
		}
		return false
	})
}

// extracted are the values of an index of the cache's.
func extracted(object client.Object, field string) []string {
	for _, index := range Indexes() {
		if index.Field == field && kindOf(index.Object) == kindOf(object) {
			return index.Extract(object)
		}
	}
	return nil
}

// Denial is one thing that the API server does not let the caller do.
type Denial struct {
	// Verb and Resource as RBAC calls them: "list", "nodeclaims.karpenter.sh".
	Verb, Resource string
}

func (d Denial) String() string { return d.Verb + " " + d.Resource }

// Denied lists what may not be read, each once. What depends on it is not known.
func (l *LiveReader) Denied() []Denial { return slices.Clone(l.denied) }

// DenialOf reads off an error which right is missing; the second result is false for an error of another kind.
func DenialOf(verb string, err error) (Denial, bool) {
	if !apierrors.IsForbidden(err) {
		return Denial{}, false
	}
	denial := Denial{Verb: verb, Resource: "what was asked for"}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && answer.Status().Details != nil {
		denial.Resource = answer.Status().Details.Kind
		if group := answer.Status().Details.Group; group != "" {
			denial.Resource += "." + group
		}
	}
	return denial, true
}

// tolerate notes what may not be read, and lets every other error through.
func (l *LiveReader) tolerate(err error) error {
	denial, denied := DenialOf("list", err)
	if denied && !slices.Contains(l.denied, denial) {
		l.denied = append(l.denied, denial)
	}
	if denied {
		return nil
	}
	return err
}

// Events lists Events, as the options say.
func (l *LiveReader) Events(ctx context.Context, options ...client.ListOption) ([]corev1.Event, error) {
	events, err := pages[corev1.Event](ctx, l.server, func() client.ObjectList { return &corev1.EventList{} }, options)
	return events, l.tolerate(err)
}
