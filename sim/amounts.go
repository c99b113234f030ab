// SPDX-License-Identifier: Apache-2.0

package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
)

// amounts are quantities of resources, in a form that is quick to add up: thousandths of a CPU, whole units of the rest.
type amounts struct {
	cpu, memory, pods int64
	// rest is nil where there is no other resource. It is never changed in place.
	rest map[corev1.ResourceName]int64
}

func amountsOf(list corev1.ResourceList) amounts {
	var a amounts
	known := 0
	take := func(name corev1.ResourceName, into *int64, value func(*resource.Quantity) int64) {
		if quantity, stated := list[name]; stated {
			*into = value(&quantity)
			known++
		}
	}
	take(corev1.ResourceCPU, &a.cpu, (*resource.Quantity).MilliValue)
	take(corev1.ResourceMemory, &a.memory, (*resource.Quantity).Value)
	take(corev1.ResourcePods, &a.pods, (*resource.Quantity).Value)
	if known == len(list) {
		return a
	}
	a.rest = make(map[corev1.ResourceName]int64, len(list)-known)
	for name, quantity := range list {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourcePods {
			a.rest[name] = quantity.Value()
		}
	}
	return a
}

// requestsOf is what the scheduler counts for a Pod: its requests, and one of the node's places.
func requestsOf(pod *corev1.Pod) amounts {
	var a amounts
	spec := &pod.Spec
	if len(spec.InitContainers) == 0 && len(spec.Overhead) == 0 && spec.Resources == nil && len(spec.Containers) == 1 {
		a = amountsOf(spec.Containers[0].Resources.Requests)
	} else {
		a = amountsOf(helpers.PodRequests(pod, helpers.PodResourcesOptions{}))
	}
	a.pods = 1
	return a
}

func (a amounts) plus(b amounts) amounts { return a.combine(b, 1) }

func (a amounts) minus(b amounts) amounts { return a.combine(b, -1) }

func (a amounts) combine(b amounts, sign int64) amounts {
	a.cpu += sign * b.cpu
	a.memory += sign * b.memory
	a.pods += sign * b.pods
	if len(b.rest) > 0 {
		rest := make(map[corev1.ResourceName]int64, len(a.rest)+len(b.rest))
		for name, n := range a.rest {
			rest[name] = n
		}
		for name, n := range b.rest {
			rest[name] += sign * n
		}
		a.rest = rest
	}
	return a
}

// holds tells whether what is asked for fits. Nothing is asked of a resource that is not requested.
func (a amounts) holds(asked amounts) bool {
	if asked.cpu > 0 && asked.cpu > a.cpu || asked.memory > 0 && asked.memory > a.memory || asked.pods > a.pods {
		return false
	}
	for name, n := range asked.rest {
		if n > 0 && n > a.rest[name] {
			return false
		}
	}
	return true
}
