// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// defaultGrace is the termination grace period that Kubernetes gives a Pod that names none.
const defaultGrace = 30 * time.Second

// appLabel selects the Pods of a workload.
const appLabel = "app"

// Workload describes a Deployment and, if it bounds its disruption, the PodDisruptionBudget over its Pods.
type Workload struct {
	Name           string
	Namespace      string // "default" if empty; made if it does not exist
	Replicas       int32
	CPU, Memory    string            // what each Pod asks for; one CPU and none if empty
	Pool           string            // the NodePool its Pods must run in; any if empty
	NodeSelector   map[string]string // further labels that its Nodes must have
	Tolerations    []corev1.Toleration
	PodLabels      map[string]string
	PodAnnotations map[string]string
	EndDelay       time.Duration       // how long each Pod takes to end, in whole seconds
	MaxUnavailable *intstr.IntOrString // of its PodDisruptionBudget
	MinAvailable   *intstr.IntOrString // of its PodDisruptionBudget
}

// ApplyWorkload creates or changes the Deployment and its PodDisruptionBudget. It does not wait for the Pods.
func (c *Cluster) ApplyWorkload(ctx context.Context, workload Workload) error {
	if workload.EndDelay%time.Second != 0 {
		return fmt.Errorf("an end delay is in whole seconds, not %s", workload.EndDelay)
	}
	workload.Namespace = orDefault(workload.Namespace, metav1.NamespaceDefault)
	if err := c.applyObject(ctx, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": workload.Namespace},
	}); err != nil {
		return err
	}
	// The budget comes first: no Pod is ever without it.
	if workload.MaxUnavailable != nil || workload.MinAvailable != nil {
		if err := c.applyObject(ctx, workload.budget()); err != nil {
			return err
		}
	}
	deployment, err := workload.deployment()
	if err != nil {
		return err
	}
	return c.applyObject(ctx, deployment)
}

// WaitForWorkload waits until every replica runs and is ready, and the PodDisruptionBudget, if there is one, knows it.
func (c *Cluster) WaitForWorkload(ctx context.Context, workload Workload) error {
	namespace := orDefault(workload.Namespace, metav1.NamespaceDefault)
	what := fmt.Sprintf("all %d replicas of %s/%s run", workload.Replicas, namespace, workload.Name)
	bounded := workload.MaxUnavailable != nil || workload.MinAvailable != nil
	return c.WaitFor(ctx, what, func(ctx context.Context) (bool, error) {
		now, err := c.client.AppsV1().Deployments(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		if err != nil || now.Status.ReadyReplicas != workload.Replicas || now.Status.ObservedGeneration != now.Generation {
			return false, err
		}
		if !bounded {
			return true, nil
		}
		budget, err := c.client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, workload.Name, metav1.GetOptions{})
		return err == nil && budget.Status.ObservedGeneration == budget.Generation &&
			budget.Status.CurrentHealthy == workload.Replicas, err
	})
}

// PodsOf returns the Pods of the workload, those on their way out included.
func (c *Cluster) PodsOf(ctx context.Context, workload Workload) ([]corev1.Pod, error) {
	namespace := orDefault(workload.Namespace, metav1.NamespaceDefault)
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + workload.Name})
	if err != nil {
		return nil, fmt.Errorf("the pods of %s/%s cannot be read: %w", namespace, workload.Name, err)
	}
	return pods.Items, nil
}

func (w Workload) metadata() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace}
}

func (w Workload) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.Name}}
}

func (w Workload) budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: w.metadata(),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: w.selector(), MaxUnavailable: w.MaxUnavailable, MinAvailable: w.MinAvailable,
		},
	}
}

func (w Workload) deployment() (*appsv1.Deployment, error) {
	template, err := w.podTemplate()
	if err != nil {
		return nil, err
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: w.metadata(),
		Spec:       appsv1.DeploymentSpec{Replicas: &w.Replicas, Selector: w.selector(), Template: template},
	}, nil
}

func (w Workload) podTemplate() (corev1.PodTemplateSpec, error) {
	requests := corev1.ResourceList{}
	for name, asked := range map[corev1.ResourceName]string{
		corev1.ResourceCPU: orDefault(w.CPU, "1"), corev1.ResourceMemory: w.Memory,
	} {
		if asked == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(asked)
		if err != nil {
			return corev1.PodTemplateSpec{}, fmt.Errorf("workload %s asks for %q of %s: %w", w.Name, asked, name, err)
		}
		requests[name] = quantity
	}
	podLabels, annotations, nodeLabels := map[string]string{appLabel: w.Name}, map[string]string{}, map[string]string{}
	maps.Copy(podLabels, w.PodLabels)
	maps.Copy(annotations, w.PodAnnotations)
	maps.Copy(nodeLabels, w.NodeSelector)
	if w.Pool != "" {
		nodeLabels[NodePoolLabel] = w.Pool
	}
	grace := int64(max(defaultGrace, w.EndDelay+time.Second) / time.Second) // a shorter one would cut the delay off
	if w.EndDelay > 0 {
		annotations[EndDelayAnnotation] = fmt.Sprintf("%ds", w.EndDelay/time.Second)
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: podLabels, Annotations: annotations},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "app", Image: "app", Resources: corev1.ResourceRequirements{Requests: requests},
			}},
			NodeSelector:                  nodeLabels,
			Tolerations:                   w.Tolerations,
			TerminationGracePeriodSeconds: &grace,
		},
	}, nil
}
