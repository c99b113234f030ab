// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
)

// pollInterval is how often WaitFor looks.
const pollInterval = 100 * time.Millisecond

// connect makes the clients; the API server need not answer yet.
func (c *Cluster) connect() (err error) {
	if c.restConfig, err = loadRESTConfig(c.kubeconfig); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(c.restConfig); err != nil {
		return fmt.Errorf("no client for the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(c.restConfig)
	if err != nil {
		return fmt.Errorf("no client for the cluster: %w", err)
	}
	c.client = client
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	return nil
}

// Client returns a client for the kinds of Kubernetes that may do everything.
func (c *Cluster) Client() kubernetes.Interface { return c.client }

// Dynamic returns a client for every kind that may do everything.
func (c *Cluster) Dynamic() dynamic.Interface { return c.dynamic }

func (c *Cluster) apiServerReady(ctx context.Context) bool {
	answer, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil && string(answer) == "ok"
}

// WaitFor waits until condition holds, and fails if it returns an error or ctx ends. An error of the condition that may
// pass by itself is the condition's to swallow.
func (c *Cluster) WaitFor(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		holds, err := condition(ctx)
		if err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		if holds {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}

// Apply applies every document of a YAML stream in order, server-side and by force. Of a CustomResourceDefinition it also
// waits until it is established, so that its objects may follow in the same stream.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := documents.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the manifests are not YAML of objects: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := c.applyOne(ctx, object); err != nil {
			return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// applyObject applies what encodes to one object of a known kind.
func (c *Cluster) applyObject(ctx context.Context, object any) error {
	encoded, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return c.Apply(ctx, encoded)
}

func (c *Cluster) applyOne(ctx context.Context, object *unstructured.Unstructured) error {
	resource, err := c.resourceFor(object)
	if err != nil {
		return err
	}
	object.SetManagedFields(nil)
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "cluster", Force: true})
	if err != nil || object.GetKind() != "CustomResourceDefinition" {
		return err
	}
	return c.awaitServed(ctx, object)
}

// awaitServed waits until objects of the defined kind can be found and read. The API server says that a definition is
// established a moment before that is so.
func (c *Cluster) awaitServed(ctx context.Context, definition *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return c.WaitFor(ctx, definition.GetName()+" is served", func(ctx context.Context) (bool, error) {
		mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind})
		if err != nil {
			c.mapper.Reset()
			return false, nil //nolint:nilerr // discovery does not know it yet
		}
		_, err = c.dynamic.Resource(mapping.Resource).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	})
}

// resourceFor returns the client for the object's kind, and asks the API server anew about kinds not known so far.
func (c *Cluster) resourceFor(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.dynamic.Resource(mapping.Resource), nil
	}
	namespace := object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return c.dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// condition returns the status of one of the object's conditions, or "".
func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if fields, ok := entry.(map[string]any); ok && fields["type"] == kind {
			status, _ := fields["status"].(string)
			return status
		}
	}
	return ""
}

// The kinds of Karpenter that this package deals with, by resource.
var (
	nodePools   = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	nodeClaims  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	nodeClasses = schema.GroupVersionResource{Group: "karpenter.kwok.sh", Version: "v1alpha1", Resource: "kwoknodeclasses"}
)
