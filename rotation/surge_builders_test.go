// SPDX-License-Identifier: Apache-2.0

package rotation_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// The pool "api" rotates its claim "old", whose Node is "old-node", since surgeStart.
const (
	surgePool    = "api"
	zoneLabel    = corev1.LabelTopologyZone
	archLabel    = corev1.LabelArchStable
	spotLabel    = "karpenter.sh/capacity-type"
	fleetAge     = 10 * 24 * time.Hour
	surgeForOld  = "old"
	surgeOldNode = "old-node"
)

var surgeStart = time.Date(2026, 1, 10, 2, 0, 0, 0, time.UTC)

type change func(*rotation.Snapshot)

// surging is a pool in the middle of a surge, five minutes after its start, with no placeholder yet.
func surging(changes ...change) rotation.Snapshot {
	s := rotation.Snapshot{
		Now: surgeStart.Add(5 * time.Minute),
		Settings: rotation.Settings{
			Namespace: "noderotation", PauseImage: "registry.k8s.io/pause:3.10", PriorityClass: "noderotation-placeholder",
		},
		Pool: rotation.Pool{
			Object:      rotation.Object{Name: surgePool},
			Annotations: map[string]string{rotation.KeyActiveRotation: surgeForOld},
		},
		Governance: rotation.Governance{Policy: &v1alpha1.RotationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}},
		Nodes:      map[string]*corev1.Node{},
		PodsByNode: map[string][]*corev1.Pod{},
	}
	withClaim(surgeForOld, -fleetAge, map[string]string{
		rotation.KeyStartedAt: rotation.FormatStamp(surgeStart),
	})(&s)
	for _, c := range changes {
		c(&s)
	}
	return s
}

// withClaim adds a claim that came to be so long after the start, and its Node NAME-node, Ready and empty.
func withClaim(name string, sinceStart time.Duration, annotations map[string]string) change {
	return func(s *rotation.Snapshot) {
		withLaunch(name, sinceStart)(s)
		node := name + "-node"
		editClaim(name, func(c *rotation.Claim) {
			c.Annotations, c.NodeName, c.Ready = annotations, node, true
		})(s)
		s.Nodes[node] = aNode(node)
		s.PodsByNode[node] = nil
	}
}

// withLaunch adds a claim that has no Node yet.
func withLaunch(name string, sinceStart time.Duration) change {
	return func(s *rotation.Snapshot) {
		s.Claims = append(s.Claims, &rotation.Claim{
			Object:  rotation.Object{Name: name},
			Created: surgeStart.Add(sinceStart),
		})
		slices.SortFunc(s.Claims, func(a, b *rotation.Claim) int { return strings.Compare(a.Name, b.Name) })
	}
}

func editClaim(name string, edit func(*rotation.Claim)) change {
	return func(s *rotation.Snapshot) {
		claim, _ := s.Claim(name)
		edit(&claim)
		*s = *s.WithClaim(claim)
	}
}

func editPool(edit func(*rotation.Pool)) change {
	return func(s *rotation.Snapshot) { edit(&s.Pool) }
}

func editNode(name string, edit func(*corev1.Node)) change {
	return func(s *rotation.Snapshot) { edit(s.Nodes[name]) }
}

// replicating makes the policy's lists of labels these.
func replicating(required, preferred []v1alpha1.LabelKey) change {
	return func(s *rotation.Snapshot) {
		policy := s.Governance.Policy.DeepCopy()
		policy.Spec.Surge.MatchNodeRequirements = v1alpha1.MatchNodeRequirements{Required: required, Preferred: preferred}
		s.Governance.Policy = policy
	}
}

func allocatable(quantities ...string) change {
	return editClaim(surgeForOld, func(c *rotation.Claim) { c.Allocatable = amounts(quantities...) })
}

func withPods(node string, pods ...*corev1.Pod) change {
	return func(s *rotation.Snapshot) {
		for _, pod := range pods {
			pod.Spec.NodeName = node
		}
		s.PodsByNode[node] = append(s.PodsByNode[node], pods...)
	}
}

func withUnbound(pods ...*corev1.Pod) change {
	return func(s *rotation.Snapshot) { s.Unbound = append(s.Unbound, pods...) }
}

// withPlaceholder adds the placeholder, bound to the node and running there; pending when the node is empty.
func withPlaceholder(node string, edits ...func(*corev1.Pod)) change {
	return func(s *rotation.Snapshot) {
		pod := aPlaceholder(surgeForOld)
		pod.Spec.NodeName = node
		pod.Status.Phase = corev1.PodPending
		if node != "" {
			pod.Status.Phase = corev1.PodRunning
		}
		for _, edit := range edits {
			edit(pod)
		}
		s.Placeholders = append(s.Placeholders, pod)
		if node == "" {
			s.Unbound = append(s.Unbound, pod)
		} else {
			s.PodsByNode[node] = append(s.PodsByNode[node], pod)
		}
	}
}

func withBudgets(budgets ...*policyv1.PodDisruptionBudget) change {
	return func(s *rotation.Snapshot) { s.Budgets = append(s.Budgets, budgets...) }
}

func aPlaceholder(claim string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: rotation.PlaceholderName(claim), Namespace: "noderotation",
		Labels: rotation.PlaceholderLabels(), Annotations: map[string]string{rotation.KeySurgeFor: claim},
	}}
}

// aNode is a Ready Node of the pool, in zone a, of arch amd64 and on spot.
func aNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			rotation.LabelNodePool: surgePool, corev1.LabelHostname: name + ".internal",
			zoneLabel: "a", archLabel: "amd64", spotLabel: "spot",
		}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// workload is a running, ready Pod of a Deployment that asks for the amounts, given as "cpu=1".
func workload(name string, quantities ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", Labels: map[string]string{"app": "web"},
			OwnerReferences: ownedBy("apps/v1", "ReplicaSet"),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: amounts(quantities...)},
		}}},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

func daemon(name string, quantities ...string) *corev1.Pod {
	pod := workload(name, quantities...)
	pod.OwnerReferences = ownedBy("apps/v1", "DaemonSet")
	return pod
}

func edited(pod *corev1.Pod, edits ...func(*corev1.Pod)) *corev1.Pod {
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func ownedBy(apiVersion, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner"}}
}

// pending makes the Pod one that waits for a node and was created so long after the start.
func pending(sinceStart time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		pod.CreationTimestamp = metav1.NewTime(surgeStart.Add(sinceStart))
	}
}

// ending gives the Pod a deletionTimestamp, at which its grace period ends.
func ending(at time.Time) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(at)) }
}

func unready(pod *corev1.Pod) { pod.Status.Conditions = nil }

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

// needing gives the Pod these alternatives of required node affinity.
func needing(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
}

func term(expressions ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: expressions}
}

func expr(key, operator string, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: values}
}

func requirement(key, operator string, values ...string) rotation.Requirement {
	return rotation.Requirement{Key: key, Operator: operator, Values: values}
}

// amounts reads "cpu=1" and the like.
func amounts(quantities ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, q := range quantities {
		name, amount, _ := strings.Cut(q, "=")
		list[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return list
}

// written is the reverse of amounts, sorted, so that equal quantities compare equal however they came about.
func written(list corev1.ResourceList) []string {
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		out = append(out, string(name)+"="+quantity.String())
	}
	return out
}
