// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What trouble is written on. The stages in manifests/kwok.yaml and the package provider of clusterbin read it.
const (
	// EndDelayAnnotation on a Pod is for how long after it was told to end it goes on, in whole seconds: "20s". Its
	// termination grace period still ends it, as a kubelet would.
	EndDelayAnnotation = "cluster.noderotation.io/end-delay"
	// NotReadyAnnotation on a Node makes and keeps it not ready.
	NotReadyAnnotation = "cluster.noderotation.io/not-ready"

	troubleNamespace   = "kube-system"
	troubleName        = "cluster-trouble"
	keyShortZones      = "shortage-zones"
	keyFailingLaunches = "failing-launches"
)

// CapacityShortage takes the capacity out of these zones, and gives it back to any other. From its return on a launch that
// may go elsewhere does, and one that may not gets Karpenter's insufficient-capacity error: its NodeClaim is given up and
// deleted by Karpenter, which tries again with a new one for as long as a Pod asks for it.
func (c *Cluster) CapacityShortage(ctx context.Context, zones ...string) error {
	return c.writeTrouble(ctx, keyShortZones, strings.Join(zones, ","))
}

// EndShortage gives every zone its capacity back.
func (c *Cluster) EndShortage(ctx context.Context) error {
	return c.writeTrouble(ctx, keyShortZones, "")
}

// FailLaunches makes the next n launches fail with Karpenter's insufficient-capacity error, wherever they go; the ones
// after that succeed.
func (c *Cluster) FailLaunches(ctx context.Context, n int) error {
	return c.writeTrouble(ctx, keyFailingLaunches, strconv.Itoa(n))
}

// writeTrouble sets one key of the ConfigMap that Karpenter's provider reads at every launch.
func (c *Cluster) writeTrouble(ctx context.Context, key, value string) error {
	maps := c.client.CoreV1().ConfigMaps(troubleNamespace)
	patch, err := json.Marshal(map[string]any{"data": map[string]string{key: value}})
	if err != nil {
		return err
	}
	_, err = maps.Patch(ctx, troubleName, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: troubleName, Namespace: troubleNamespace},
			Data:       map[string]string{key: value},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("the trouble asked for (%s=%q) cannot be written down: %w", key, value, err)
	}
	return nil
}

// ProvisioningDelay lets d, in whole seconds, pass between the launch of an instance and the registration of its Node,
// for every node class there is. Instances on their way keep the delay they were launched with.
func (c *Cluster) ProvisioningDelay(ctx context.Context, d time.Duration) error {
	classes, err := c.dynamic.Resource(nodeClasses).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("the node classes cannot be read: %w", err)
	}
	for _, class := range classes.Items {
		if err := c.ApplyNodeClass(ctx, NodeClass{Name: class.GetName(), RegistrationDelay: d}); err != nil {
			return err
		}
	}
	return nil
}

// NodeNotReady turns the Node's Ready condition False, and keeps it there until NodeReady. It returns once it is so.
func (c *Cluster) NodeNotReady(ctx context.Context, node string) error {
	return c.setReady(ctx, node, `"true"`, corev1.ConditionFalse)
}

// NodeReady lets the Node become ready again, and returns once it is.
func (c *Cluster) NodeReady(ctx context.Context, node string) error {
	return c.setReady(ctx, node, "null", corev1.ConditionTrue)
}

func (c *Cluster) setReady(ctx context.Context, node, annotation string, wanted corev1.ConditionStatus) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, NotReadyAnnotation, annotation)
	_, err := c.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("node %s cannot be asked to change its readiness: %w", node, err)
	}
	what := fmt.Sprintf("node %s has Ready=%s", node, wanted)
	return c.WaitFor(ctx, what, func(ctx context.Context) (bool, error) {
		now, err := c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		return err == nil && readyStatus(now) == wanted, err
	})
}

// readyStatus returns the status of the Node's Ready condition, or "".
func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return ""
}
