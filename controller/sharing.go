// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sharing holds the parts of Pods that many of them have alike: the Pods of one workload differ in little but their names.
// What is shared is never changed, since nothing in this product changes what the cache keeps. Safe for concurrent use.
type sharing struct {
	labels, selectors, annotations parts[map[string]string]
	owners                         parts[[]metav1.OwnerReference]
	tolerations                    parts[[]corev1.Toleration]
	affinities                     parts[*corev1.Affinity]
	containers                     parts[[]corev1.Container]
	conditions                     parts[[]corev1.PodCondition]
}

// mostParts bounds a kind of part. A cluster has far fewer workloads; where it has not, sharing begins anew, and what is
// already shared stays as it is.
const mostParts = 16384

// parts are those of one kind, by what they say.
type parts[T any] struct {
	mu   sync.Mutex
	have map[string]T
}

func (p *parts[T]) of(text string, part T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if had, known := p.have[text]; known {
		return had
	}
	if p.have == nil || len(p.have) >= mostParts {
		p.have = map[string]T{}
	}
	p.have[text] = part
	return part
}

// transform trims a Pod for the cache and lets it share what others have alike.
func (s *sharing) transform(object any) (any, error) {
	slim, err := trimPod(object)
	pod, ok := slim.(*corev1.Pod)
	if err != nil || !ok {
		return slim, err
	}
	if err := s.pod(pod); err != nil {
		return nil, fmt.Errorf("Pod %s/%s cannot be kept: %w", pod.Namespace, pod.Name, err)
	}
	return pod, nil
}

func (s *sharing) pod(pod *corev1.Pod) error {
	pod.Namespace = unique.Make(pod.Namespace).Value()
	pod.Spec.NodeName = unique.Make(pod.Spec.NodeName).Value()
	pod.Labels = shareMap(&s.labels, pod.Labels)
	pod.Annotations = shareMap(&s.annotations, pod.Annotations)
	pod.Spec.NodeSelector = shareMap(&s.selectors, pod.Spec.NodeSelector)
	var err error
	if len(pod.OwnerReferences) > 0 {
		err = share(&s.owners, &pod.OwnerReferences)
	}
	if len(pod.Spec.Tolerations) > 0 && err == nil {
		err = share(&s.tolerations, &pod.Spec.Tolerations)
	}
	if pod.Spec.Affinity != nil && err == nil {
		err = share(&s.affinities, &pod.Spec.Affinity)
	}
	if len(pod.Status.Conditions) > 0 && err == nil {
		err = share(&s.conditions, &pod.Status.Conditions)
	}
	if err == nil {
		err = share(&s.containers, &pod.Spec.Containers)
	}
	return err
}

func share[T any](p *parts[T], part *T) error {
	text, err := json.Marshal(*part)
	if err == nil {
		*part = p.of(string(text), *part)
	}
	return err
}

// shareMap shares a map of strings. No key or value that is kept of a Pod holds a NUL.
func shareMap(p *parts[map[string]string], m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		text.WriteString(key + "\x00" + m[key] + "\x00")
	}
	return p.of(text.String(), m)
}
