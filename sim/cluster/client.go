// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Client makes requests of a cluster, as a controller's client does: reads go to a cache, writes to the API server.
type Client struct {
	// Reader answers reads.
	client.Reader
	cluster *Cluster
	scheme  *runtime.Scheme
}

var _ client.Client = (*Client)(nil)

// NewClient reads through cache, or live when it is nil.
func NewClient(c *Cluster, cache client.Reader, scheme *runtime.Scheme) *Client {
	if cache == nil {
		cache = c.View
	}
	return &Client{cache, c, scheme}
}

// errUnsupported is the answer to what no part of the product asks for.
var errUnsupported = errors.New("the simulated cluster does not answer this request")

// Create stores a new object; the answer takes its place.
func (c *Client) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return answer(object)(c.cluster.create(object))
}

// Update replaces an object, but for its status.
func (c *Client) Update(_ context.Context, object client.Object, _ ...client.UpdateOption) error {
	return answer(object)(c.cluster.update(object, false))
}

// Patch applies a JSON patch or a merge patch.
func (c *Client) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	return c.patch(object, patch, false)
}

func (c *Client) patch(object client.Object, patch client.Patch, status bool) error {
	kind, err := KindOf(object)
	if err != nil {
		return err
	}
	request := patchRequest{patch: patch, object: object}
	return answer(object)(c.cluster.patch(kind, KeyOf(object), &request, status))
}

// Delete deletes an object, on the options' preconditions.
func (c *Client) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	kind, err := KindOf(object)
	if err != nil {
		return err
	}
	var o client.DeleteOptions
	o.ApplyOptions(options)
	var on precondition
	if o.Preconditions != nil {
		on = precondition{o.Preconditions.UID, o.Preconditions.ResourceVersion}
	}
	return c.cluster.delete(kind, KeyOf(object), on, o.GracePeriodSeconds)
}

// answer gives the caller's object what the API server answered with.
func answer(object client.Object) func(client.Object, error) error {
	return func(stored client.Object, err error) error {
		if err == nil {
			assign(object, stored)
		}
		return err
	}
}

// Status writes the status subresource.
func (c *Client) Status() client.SubResourceWriter { return subresource{c} }

type subresource struct{ client *Client }

// Update writes the status.
func (s subresource) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	return answer(object)(s.client.cluster.update(object, true))
}

// Patch changes the status.
func (s subresource) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.client.patch(object, patch, true)
}

// Create is not supported.
func (subresource) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return errUnsupported
}

// Apply is not supported.
func (subresource) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errUnsupported
}

// Get is not supported.
func (subresource) Get(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errUnsupported
}

// SubResource knows status; no part of the product writes another.
func (c *Client) SubResource(string) client.SubResourceClient { return subresource{c} }

// Apply is not supported.
func (*Client) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	return errUnsupported
}

// DeleteAllOf is not supported.
func (*Client) DeleteAllOf(context.Context, client.Object, ...client.DeleteAllOfOption) error {
	return errUnsupported
}

// Scheme is the one that the client was made with.
func (c *Client) Scheme() *runtime.Scheme { return c.scheme }

// RESTMapper is nil: no part of the product asks for it.
func (*Client) RESTMapper() meta.RESTMapper { return nil }

// GroupVersionKindFor looks the object's type up in the scheme.
func (c *Client) GroupVersionKindFor(object runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(object, c.scheme)
}

// IsObjectNamespaced tells whether the object's kind lives in namespaces.
func (*Client) IsObjectNamespaced(object runtime.Object) (bool, error) {
	kind, err := KindOf(object)
	if err != nil {
		return false, err
	}
	return kinds[kind].namespaced, nil
}
