// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// installKarpenter applies the definitions that the executable's own Karpenter carries, and the default node class.
func (c *Cluster) installKarpenter(ctx context.Context) error {
	definitions, err := exec.CommandContext(ctx, c.binary, "crds").Output()
	if err != nil {
		return fmt.Errorf("the executable does not tell Karpenter's definitions: %w", err)
	}
	if err := c.Apply(ctx, definitions); err != nil {
		return err
	}
	if err := c.applyObject(ctx, karpenterRights()); err != nil {
		return err
	}
	return c.ApplyNodeClass(ctx, NodeClass{})
}

// karpenterRights let Karpenter do everything.
func karpenterRights() rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: partKarpenter},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: userOf(partKarpenter)}},
	}
}

// StartKarpenter starts Karpenter unless it is running, and returns once it is ready.
func (c *Cluster) StartKarpenter(ctx context.Context) error {
	if err := c.start(partKarpenter, nil, c.karpenterEnv()); err != nil {
		return err
	}
	return c.awaitReady(ctx, partKarpenter, c.karpenterReady)
}

// StopKarpenter ends Karpenter and returns once it is gone. Instances launched but not registered by then never register.
func (c *Cluster) StopKarpenter() { c.stopPart(partKarpenter) }

// StartScheduler starts the scheduler unless it is running.
func (c *Cluster) StartScheduler() error { return c.start(partScheduler, c.schedulerArgs(), nil) }

// StopScheduler ends the scheduler: Pods stay pending until it is started again.
func (c *Cluster) StopScheduler() { c.stopPart(partScheduler) }

// KarpenterMetrics returns the URL of Karpenter's metrics.
func (c *Cluster) KarpenterMetrics() string {
	return localURL("http", c.ports.karpenterMetrics) + "/metrics"
}

func (c *Cluster) karpenterReady(ctx context.Context) bool {
	url := localURL("http", c.ports.karpenterHealth) + "/readyz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
