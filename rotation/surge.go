// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
)

// limitNodes is the entry of a NodePool's limits that counts nodes.
const limitNodes corev1.ResourceName = "nodes"

// SurgeHeadroom tells whether the pool's limits leave room for the surge: for each limited resource the clamped requests
// must fit between what the pool uses and its limit, and limits.nodes must leave one node (§3.3). The second result is a
// sentence with the figures.
func SurgeHeadroom(s Snapshot) (bool, string) {
	if _, found := s.Subject(); !found {
		return false, fmt.Sprintf("NodePool %s has no NodeClaim to make room for", s.Pool.Name)
	}
	if len(s.Pool.Limits) == 0 {
		return true, fmt.Sprintf("NodePool %s has no limits", s.Pool.Name)
	}
	requests := Size(s).Requests
	var short, left []string
	for _, name := range slices.Sorted(maps.Keys(s.Pool.Limits)) {
		limit, used, need := s.Pool.Limits[name], s.Pool.Used[name], requests[name]
		if name == limitNodes {
			need = *apiresource.NewQuantity(1, apiresource.DecimalSI)
		}
		room := limit.DeepCopy()
		room.Sub(used)
		if need.Cmp(room) > 0 {
			short = append(short, fmt.Sprintf("%s: the surge needs %s, %s of %s are used", name, need.String(), used.String(), limit.String()))
		} else {
			left = append(left, fmt.Sprintf("%s: %s needed, %s left", name, need.String(), room.String()))
		}
	}
	if len(short) > 0 {
		return false, fmt.Sprintf("the limits of NodePool %s leave no room for the surge (%s)", s.Pool.Name, strings.Join(short, "; "))
	}
	return true, fmt.Sprintf("the limits of NodePool %s leave room for the surge (%s)", s.Pool.Name, strings.Join(left, "; "))
}

// SurgeReady finds the host on which the subject's replacement capacity stands reserved (§3.3): the placeholder runs
// there and is not being removed, and the host is another Node of this pool, Ready and not on its way out. A host that
// has since been cordoned, or tainted beyond what the pool's template says, is not ready either: the workloads could
// not follow. Nor is one whose NodeClaim is not Ready: a Node can be Ready moments before Karpenter has initialized it,
// and in between the eviction by the taint that it was born with may still be under way. The host is nil while the
// surge is not ready; the reason is a sentence either way.
func SurgeReady(s Snapshot) (host *corev1.Node, reason string) {
	pod := s.Placeholder()
	if reason := notRunning(pod, s.SubjectName()); reason != "" {
		return nil, reason
	}
	subject, found := s.Subject()
	node := s.Nodes[pod.Spec.NodeName]
	switch {
	case !found:
		return nil, fmt.Sprintf("NodeClaim %s, for which placeholder %s reserves room, does not exist", s.SubjectName(), pod.Name)
	case pod.Spec.NodeName == subject.NodeName:
		return nil, fmt.Sprintf("placeholder %s sits on Node %s, the very one that is to be replaced", pod.Name, pod.Spec.NodeName)
	case node == nil:
		return nil, fmt.Sprintf("placeholder %s sits on Node %s, which is not known as a Node of NodePool %s", pod.Name, pod.Spec.NodeName, s.Pool.Name)
	}
	if reason := s.unfit(pod, node); reason != "" {
		return nil, fmt.Sprintf("placeholder %s sits on Node %s, which %s", pod.Name, node.Name, reason)
	}
	return node, fmt.Sprintf("placeholder %s runs on Node %s, which is Ready", pod.Name, node.Name)
}

// Settling is how long a placeholder has run before the drain may begin. While the placeholder waited for its node it
// had Karpenter open a batch of Pods to plan for, and that batch closes a second after its last Pod. Were it to close
// between the delete of the old claim and that of the placeholder, Karpenter would count the Pods of the one and the
// room of the other, and launch a node too many: seen on a real cluster in one of fifty rotations. Times have a
// resolution of one second, hence one more than twice the batch's.
const Settling = 3 * time.Second

// SurgeSettles is the first instant at which the placeholder has run for long enough. The second result is false when
// no rotation is anchored, or its placeholder does not tell since when it runs. Its stamp is the kubelet's: one that is
// further ahead than clocks may lie apart tells nothing, and holds no drain up.
func SurgeSettles(s Snapshot) (time.Time, bool) {
	pod := s.Placeholder()
	if s.Anchor() == "" || pod == nil || pod.Status.StartTime == nil || pod.Status.StartTime.After(s.Now.Add(clockSkew)) {
		return time.Time{}, false
	}
	return pod.Status.StartTime.Add(Settling), true
}

// notRunning says why the placeholder reserves nothing; empty when it runs. A preempted Pod stays Running for a while,
// with a deletionTimestamp: its room is already another's.
func notRunning(pod *corev1.Pod, claim string) string {
	switch {
	case pod == nil:
		return fmt.Sprintf("placeholder %s does not exist", PlaceholderName(claim))
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("placeholder %s is being removed", pod.Name)
	case pod.Spec.NodeName == "":
		return fmt.Sprintf("placeholder %s has no node yet: %s", pod.Name, schedulerMessage(pod))
	case pod.Status.Phase != corev1.PodRunning:
		return fmt.Sprintf("placeholder %s does not run on Node %s yet (phase %q)", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
	default:
		return ""
	}
}

// schedulerMessage is what the scheduler last said of a Pod that it could not place.
func schedulerMessage(pod *corev1.Pod) string {
	if message := Unschedulable(pod); message != "" {
		return message
	}
	return "the scheduler has not judged it yet"
}

// Unschedulable is the scheduler's word on a Pod that found no node; empty when it has one, or was not judged yet.
func Unschedulable(pod *corev1.Pod) string {
	if pod == nil || pod.Spec.NodeName != "" {
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// unfit says why the Node cannot take the workloads over; empty when it can.
func (s *Snapshot) unfit(placeholder *corev1.Pod, node *corev1.Node) string {
	claim, known := s.ClaimOfNode(node.Name)
	switch pool := node.Labels[LabelNodePool]; {
	case pool != s.Pool.Name:
		return fmt.Sprintf("is labelled as NodePool %q and not %q", pool, s.Pool.Name)
	case node.DeletionTimestamp != nil || claim.Deleting():
		return "is being removed"
	case !nodeReady(node):
		return "is not Ready"
	case !known:
		return "no NodeClaim of the pool names as its own yet"
	case !claim.Ready:
		return fmt.Sprintf("belongs to NodeClaim %s, which is not Ready", claim.Name)
	case node.Spec.Unschedulable:
		return "is cordoned"
	}
	for _, taint := range node.Spec.Taints {
		if keepsAway(taint) && !tolerates(placeholder, taint) {
			return fmt.Sprintf("has the taint %s that the pool's template does not", taint.ToString())
		}
	}
	return ""
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// SurgeHost is the name of the node that the placeholder is bound to, whether or not it runs there yet or is being
// removed from it; empty while there is none.
func SurgeHost(s Snapshot) string {
	pod := s.Placeholder()
	if pod == nil {
		return ""
	}
	return pod.Spec.NodeName
}

// SurgeClaim is the name of the claim whose Node the placeholder is bound to: what surge-claim records, as soon as the
// binding is seen and again whenever it has moved (§5.3, §3.8). The host may be spare capacity that the pool had before;
// Reapable tells the difference. The second result is false when there is no such claim, or when it is the subject.
func SurgeClaim(s Snapshot) (name string, ok bool) {
	claim, found := s.ClaimOfNode(SurgeHost(s))
	if !found || claim.Name == s.SubjectName() {
		return "", false
	}
	return claim.Name, true
}
