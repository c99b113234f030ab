// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// providerPrefix is what the kwok provider puts before a Node's name to make its provider id.
const providerPrefix = "kwok://"

// Registrar is the client through which the kwok provider registers its Nodes.
//
// The kwok provider creates a Node some time after the launch, whatever has become of the claim meanwhile. A terminated
// instance must not register: no claim would own the Node and nobody would ever remove it.
type Registrar struct {
	client.Client

	mu         sync.Mutex
	terminated map[string]struct{} // by provider id
}

// NewRegistrar returns a registrar that does everything with inner.
func NewRegistrar(inner client.Client) *Registrar {
	return &Registrar{Client: inner, terminated: map[string]struct{}{}}
}

// Create creates obj, save for the Node of an instance that has been terminated, which it leaves out without an error.
func (r *Registrar) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	node, isNode := obj.(*corev1.Node)
	if !isNode {
		return r.Client.Create(ctx, obj, opts...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, gone := r.terminated[node.Spec.ProviderID]; gone {
		return nil
	}
	return r.Client.Create(ctx, node, opts...)
}

// Terminate keeps the instance from registering from now on and removes its Node if it just did.
//
// Karpenter terminates an instance only after it saw that the claim has no Node left; only a Node that registered
// between the two is still there.
func (r *Registrar) Terminate(ctx context.Context, providerID string) error {
	if providerID == "" {
		return nil // never launched
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.terminated[providerID] = struct{}{}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: strings.TrimPrefix(providerID, providerPrefix)}}
	if err := client.IgnoreNotFound(r.Delete(ctx, node)); err != nil {
		return fmt.Errorf("removing the node of the terminated instance %s: %w", providerID, err)
	}
	return nil
}
