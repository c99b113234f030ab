// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
)

// Sizing is what the placeholder asks for, and why it is not simply what the candidate's Pods ask for (§3.3,
// Requests and Clamp). The sentences come in the order of the resources' names.
type Sizing struct {
	// Wanted is the sum of the effective requests of the Pods that will need a new home.
	Wanted corev1.ResourceList
	// Requests is what the placeholder asks for: per resource the lesser of Wanted and what a node like the
	// candidate offers to workloads, but all of Wanted where that is nothing.
	Requests corev1.ResourceList
	// Clamped has a sentence for each resource of which less is asked for than is wanted.
	Clamped []string
	// Refused has a sentence for each resource that is wanted and of which such a node offers nothing. The
	// placeholder cannot be served then, and readyTimeout rolls the rotation back.
	Refused []string
	// BandExceeded has a sentence for each resource of which the clamp gives up more than the Node's allocatable
	// exceeds the claim's: that much was not explained by Karpenter's rounding.
	BandExceeded []string
}

// Size sums up and clamps what the subject's replacement must have room for (§3.3).
func Size(s Snapshot) Sizing {
	claim, _ := s.Subject()
	node := s.Nodes[claim.NodeName]
	wanted, daemons := corev1.ResourceList{}, corev1.ResourceList{}
	for _, pod := range s.PodsByNode[claim.NodeName] {
		switch {
		case NeedsNewHome(pod, node):
			add(wanted, requestsOf(pod))
		case ownedByDaemonSet(pod) && !Finished(pod):
			add(daemons, requestsOf(pod))
		}
	}
	sizing := Sizing{Wanted: wanted, Requests: maps.Clone(wanted)}
	if len(claim.Allocatable) == 0 {
		return sizing
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		sizing.clamp(name, claim, daemons, node)
	}
	return sizing
}

// clamp limits one resource to what a node like the candidate offers to workloads. Karpenter plans with one
// allocatable per instance type: a candidate that was filled past it asks for a Pod that no new node can hold.
func (z *Sizing) clamp(name corev1.ResourceName, claim Claim, daemons corev1.ResourceList, node *corev1.Node) {
	want, planned, taken := z.Wanted[name], claim.Allocatable[name], daemons[name]
	limit := less(planned, taken)
	if want.Cmp(limit) <= 0 {
		return
	}
	if limit.IsZero() {
		z.Refused = append(z.Refused, fmt.Sprintf("%s: %s is wanted, but a node like that of NodeClaim %s leaves none to workloads (%s allocatable, %s for DaemonSets); the full sum is asked for, which no such node can serve",
			name, want.String(), claim.Name, planned.String(), taken.String()))
		return
	}
	z.Requests[name] = limit
	z.Clamped = append(z.Clamped, fmt.Sprintf("%s: %s is wanted and %s asked for, which is all that a node like that of NodeClaim %s leaves to workloads (%s allocatable, %s for DaemonSets)",
		name, want.String(), limit.String(), claim.Name, planned.String(), taken.String()))
	if node == nil {
		return
	}
	actual := node.Status.Allocatable[name]
	band, given := less(actual, planned), less(want, limit)
	if given.Cmp(band) > 0 {
		z.BandExceeded = append(z.BandExceeded, fmt.Sprintf("%s: the placeholder gives up %s, more than the %s by which Node %s exceeds what Karpenter planned; some of the Pods may find no room on the replacement",
			name, given.String(), band.String(), node.Name))
	}
}

// NeedsNewHome tells whether the Pod on the node will have to be scheduled elsewhere once the node drains (§3.3,
// Requests). Not so: Pods of a DaemonSet, mirror and finished Pods, Pods pinned to this very host, a placeholder; nor a
// Pod on its way out, whose successor is a Pod of its own by now. A StatefulSet makes the successor only once the Pod is
// gone, so that one counts. The node may be nil when it is not known.
func NeedsNewHome(pod *corev1.Pod, node *corev1.Node) bool {
	switch {
	case Finished(pod), ownedByDaemonSet(pod), mirrored(pod), IsPlaceholder(pod):
		return false
	case pod.DeletionTimestamp != nil:
		return ownedBy(pod, "apps/v1", "StatefulSet")
	default:
		return !pinnedTo(pod, node)
	}
}

// pinnedTo tells whether the Pod can run on no other host than this one: by its node selector, or because every
// alternative of its required node affinity names only this host.
func pinnedTo(pod *corev1.Pod, node *corev1.Node) bool {
	if node == nil {
		return false
	}
	hostname := hostnameOf(node)
	if pod.Spec.NodeSelector[corev1.LabelHostname] == hostname {
		return true
	}
	terms := requiredTerms(pod)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool {
		return !namesOnly(term.MatchExpressions, corev1.LabelHostname, hostname) &&
			!namesOnly(term.MatchFields, metav1.ObjectNameField, node.Name)
	})
}

// namesOnly tells whether one of the expressions admits the value and no other under the key.
func namesOnly(expressions []corev1.NodeSelectorRequirement, key, value string) bool {
	return slices.ContainsFunc(expressions, func(e corev1.NodeSelectorRequirement) bool {
		return e.Key == key && e.Operator == corev1.NodeSelectorOpIn &&
			len(e.Values) > 0 && !slices.ContainsFunc(e.Values, func(v string) bool { return v != value })
	})
}

// hostnameOf is the Node's hostname label, which need not be its name.
func hostnameOf(node *corev1.Node) string {
	if hostname := node.Labels[corev1.LabelHostname]; hostname != "" {
		return hostname
	}
	return node.Name
}

// Finished tells whether the Pod will never run again, though it still exists.
func Finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mirrored tells whether the Pod only shows what the kubelet runs by itself.
func mirrored(pod *corev1.Pod) bool {
	_, annotated := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return annotated || ownedBy(pod, "v1", "Node")
}

func ownedByDaemonSet(pod *corev1.Pod) bool { return ownedBy(pod, "apps/v1", "DaemonSet") }

func ownedBy(pod *corev1.Pod, apiVersion, kind string) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == apiVersion && o.Kind == kind
	})
}

// requestsOf is what the scheduler reserves for the Pod: init containers, sidecars, overhead and Pod-level resources
// included. The spec decides, not what a resize in progress has allotted: the successor starts from the spec.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resource.PodRequests(pod, resource.PodResourcesOptions{})
}

// add adds up in total, whose quantities are its own: more never shares memory with it.
func add(total, more corev1.ResourceList) {
	for name, quantity := range more {
		sum := total[name].DeepCopy()
		sum.Add(quantity)
		total[name] = sum
	}
}

// less is a − b, and never below zero.
func less(a, b apiresource.Quantity) apiresource.Quantity {
	difference := a.DeepCopy()
	difference.Sub(b)
	if difference.Sign() < 0 {
		return apiresource.Quantity{Format: a.Format}
	}
	return difference
}
