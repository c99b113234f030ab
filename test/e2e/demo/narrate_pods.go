// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"noderotation.io/noderotation/rotation"
	"noderotation.io/noderotation/test/e2e/record"
)

// evictedByAPI is the reason in a Pod's DisruptionTarget condition when the eviction API let it go: its budget agreed.
const evictedByAPI = "EvictionByEvictionAPI"

// ofNode tells of protection and readiness. The marker surge-for stands on both nodes of a rotation (§3.4).
func (f fleet) ofNode(was, is *corev1.Node, world record.World) []happening {
	if is == nil {
		return nil // its NodeClaim's end tells it
	}
	object, said := "Node/"+is.Name, []happening(nil)
	ready, wasReady := record.NodeReady(is), record.NodeReady(was)
	switch {
	case ready && !wasReady:
		said = append(said, by(kubernetes, nodeReady, object, "node "+callNode(is.Name, world)+" is Ready"))
	case wasReady && !ready && is.DeletionTimestamp == nil:
		said = append(said, by(kubernetes, nodeNotReady, object, "node "+callNode(is.Name, world)+" is not Ready any more"))
	}
	marked, wasMarked := is.Annotations[rotation.KeySurgeFor], ""
	if was != nil {
		wasMarked = was.Annotations[rotation.KeySurgeFor]
	}
	switch {
	case marked != "" && wasMarked == "":
		said = append(said, by(noderotation, nodeProtected, object, protection(is, world)))
	case marked == "" && wasMarked != "":
		said = append(said, by(noderotation, nodeReleased, object, "takes its protection off node "+callNode(is.Name, world)))
	}
	return said
}

// callNode gives a node the name that its NodeClaim has: the Node's own is long, and says no more. The two know each
// other by the instance that both stand for.
func callNode(name string, world record.World) string {
	node := world.Nodes[name]
	if node == nil || node.Spec.ProviderID == "" {
		return name
	}
	for _, claim := range world.Claims {
		if claim.Status.ProviderID == node.Spec.ProviderID {
			return claim.Name
		}
	}
	return name
}

// protection says what was done to a node of a rotation: the old one is also cordoned.
func protection(node *corev1.Node, world record.World) string {
	old := world.Claims[node.Annotations[rotation.KeySurgeFor]]
	if old != nil && old.Status.NodeName == node.Name {
		return "cordons node " + callNode(node.Name, world) + " and protects it from voluntary disruption"
	}
	return "protects node " + callNode(node.Name, world) + " as well"
}

// ofPlaceholder tells how the room for the old node's Pods is asked for, stands, and is handed over (§3.3).
func (f fleet) ofPlaceholder(was, is *corev1.Pod, world record.World) []happening {
	switch {
	case is == nil:
		object := "Pod/" + was.Name
		if claim := world.Claims[was.Annotations[rotation.KeySurgeFor]]; claim != nil && claim.DeletionTimestamp != nil {
			return one(noderotation, placeholderGone, object, "removes the placeholder: the room is for the Pods that now move")
		}
		return one(kubernetes, placeholderLost, object, "the placeholder is gone, and no drain has begun")
	case was == nil:
		return one(noderotation, placeholderAsks, "Pod/"+is.Name, "asks for the room its Pods need: a placeholder of "+cpuOf(is)+" CPU"+in(requiredZone(is)))
	case was.Status.Phase != corev1.PodRunning && is.Status.Phase == corev1.PodRunning:
		return one(kubernetes, placeholderRuns, "Pod/"+is.Name, "the placeholder runs on node "+callNode(is.Spec.NodeName, world)+": the room stands")
	}
	return nil
}

// cpuOf is what the Pod asks for, in CPUs.
func cpuOf(pod *corev1.Pod) string {
	sum := resource.Quantity{}
	for _, container := range pod.Spec.Containers {
		sum.Add(*container.Resources.Requests.Cpu())
	}
	return sum.String()
}

// requiredZone is the zone that the Pod must run in; empty if it may choose.
func requiredZone(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			if expression.Key == corev1.LabelTopologyZone && len(expression.Values) == 1 {
				return expression.Values[0]
			}
		}
	}
	return ""
}

// ofPod tells how the workload moves: each Pod that leaves, and each that is back.
func (f fleet) ofPod(was, is *corev1.Pod, world record.World) []happening {
	if is == nil {
		return nil // that it was leaving has been told
	}
	object, count := "Pod/"+is.Name, fmt.Sprintf("%d of %d Ready", f.ready(world), f.Replicas)
	leaves := is.DeletionTimestamp != nil && (was == nil || was.DeletionTimestamp == nil)
	comes := record.PodReady(is) && (was == nil || !record.PodReady(was))
	switch {
	case leaves && evicted(is):
		return one(karpenter, podEvicted, object, "evicts Pod "+is.Name+f.allowance(world)+": "+count)
	case leaves:
		return one(kubernetes, podDeleted, object, "Pod "+is.Name+" is deleted: "+count)
	case comes:
		return one(kubernetes, podReady, object, "Pod "+is.Name+" is Ready on node "+callNode(is.Spec.NodeName, world)+": "+count)
	}
	return nil
}

// evicted tells whether the Pod is on its way out because the eviction API let it go.
func evicted(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget {
			return condition.Reason == evictedByAPI
		}
	}
	return false
}

// allowance is what the fleet's PodDisruptionBudget has to say.
func (f fleet) allowance(world record.World) string {
	budget := world.Budgets[f.budget()]
	if budget == nil || budget.Spec.MaxUnavailable == nil {
		return ""
	}
	return " (PDB allows " + budget.Spec.MaxUnavailable.String() + ")"
}
