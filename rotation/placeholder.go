// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	placeholderPrefix = "surge-for-"
	// maxPlaceholderName is shorter than a Pod's name may be: it keeps the Pod's host name whole and the kubelet's
	// log directory, which joins namespace, name and UID, within a file name's length.
	maxPlaceholderName = 63
	nameHashLength     = 10
)

// Weights of the placeholder's preferences. What the operator prefers outweighs keeping away from old hosts, and the
// whole of it outweighs its parts: Karpenter looks at the heaviest preference only, and at the next once that fails.
const (
	weightAllPreferred = 100
	weightOnePreferred = 50
	weightYoungHost    = 25
)

// pauseUser is who the placeholder runs as: nobody, as pause images do by themselves.
const pauseUser = 65535

// PlaceholderName is the name of the Pod that reserves room for the claim's workloads. It is a function of the claim's
// name alone, so that a second create meets the first; a long name is cut and told apart by a hash.
func PlaceholderName(claim string) string {
	name := placeholderPrefix + claim
	if len(name) <= maxPlaceholderName {
		return name
	}
	sum := sha256.Sum256([]byte(claim))
	head := strings.TrimRight(name[:maxPlaceholderName-nameHashLength-1], "-.")
	return head + "-" + hex.EncodeToString(sum[:])[:nameHashLength]
}

// PlaceholderLabels are the labels by which placeholder Pods are found among all Pods.
func PlaceholderLabels() map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       "noderotation",
		"app.kubernetes.io/component":  "placeholder",
		"app.kubernetes.io/managed-by": "noderotation",
	}
}

// IsPlaceholder tells whether the Pod is a placeholder of any rotation: it has the labels and says for which claim.
func IsPlaceholder(pod *corev1.Pod) bool {
	if pod.Annotations[KeySurgeFor] == "" { // nearly every Pod
		return false
	}
	for key, value := range PlaceholderLabels() {
		if pod.Labels[key] != value {
			return false
		}
	}
	return true
}

// NewPlaceholder is the bare Pod that induces the subject's replacement (§3.3, Placement), and its sizing. The same
// snapshot always gives the same Pod. It asks for resources alone and never for the workloads' host ports, which the
// restricted Pod Security Standard forbids. The error is a sentence that names what cannot be replicated and where.
func NewPlaceholder(s Snapshot) (*corev1.Pod, Sizing, error) {
	claim, found := s.Subject()
	if !found {
		return nil, Sizing{}, fmt.Errorf("NodePool %s: there is no NodeClaim to make room for", s.Pool.Name)
	}
	affinity, err := placement(s)
	if err != nil {
		return nil, Sizing{}, fmt.Errorf("NodeClaim %s: no placeholder can be made: %w", claim.Name, err)
	}
	sizing := Size(s)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        PlaceholderName(claim.Name),
			Namespace:   s.Settings.Namespace,
			Labels:      PlaceholderLabels(),
			Annotations: map[string]string{KeySurgeFor: claim.Name},
		},
		Spec: corev1.PodSpec{
			NodeSelector:                  map[string]string{LabelNodePool: s.Pool.Name},
			Affinity:                      affinity,
			Tolerations:                   tolerationsOf(s.Pool.Taints),
			PriorityClassName:             s.Settings.PriorityClass,
			TerminationGracePeriodSeconds: new(int64(0)),
			AutomountServiceAccountToken:  new(false),
			EnableServiceLinks:            new(false),
			ImagePullSecrets:              references(s.Settings.PullSecrets),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				RunAsUser:      new(int64(pauseUser)),
				RunAsGroup:     new(int64(pauseUser)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:      "pause",
				Image:     s.Settings.PauseImage,
				Resources: asking(sizing.Requests),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					ReadOnlyRootFilesystem:   new(true),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}, sizing, nil
}

// references names Secrets as a Pod does.
func references(secrets []string) []corev1.LocalObjectReference {
	var all []corev1.LocalObjectReference
	for _, name := range secrets {
		all = append(all, corev1.LocalObjectReference{Name: name})
	}
	return all
}

// placement turns the replicated labels into what the Pod requires and prefers of its host.
func placement(s Snapshot) (*corev1.Affinity, error) {
	required, preferred, err := Replicas(s)
	if err != nil {
		return nil, err
	}
	node := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferences(s, preferred)}
	var all []corev1.NodeSelectorRequirement
	for _, replica := range required {
		all = append(all, replica.Expressions...)
	}
	if len(all) > 0 {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: all}},
		}
	}
	return &corev1.Affinity{NodeAffinity: node}, nil
}

// preferences are the preferred labels, together and each alone, and a host that is neither the candidate nor soon to
// be rotated itself. A value that the pool no longer allows is no preference. A host name is only ever preferred:
// Karpenter launches nothing for a Pod that requires one, and drops the preference when it comes in the way.
func preferences(s Snapshot, preferred []Replica) []corev1.PreferredSchedulingTerm {
	var all []corev1.NodeSelectorRequirement
	var each []corev1.PreferredSchedulingTerm
	for _, replica := range preferred {
		if len(replica.Expressions) > 0 && replica.Departed == "" {
			all = append(all, replica.Expressions...)
			each = append(each, preference(weightOnePreferred, replica.Expressions))
		}
	}
	if len(each) > 1 {
		each = append([]corev1.PreferredSchedulingTerm{preference(weightAllPreferred, all)}, each...)
	}
	if old := hostsToAvoid(s); len(old) > 0 {
		each = append(each, preference(weightYoungHost, []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: old},
		}))
	}
	return each
}

func preference(weight int32, expressions []corev1.NodeSelectorRequirement) corev1.PreferredSchedulingTerm {
	return corev1.PreferredSchedulingTerm{Weight: weight, Preference: corev1.NodeSelectorTerm{MatchExpressions: expressions}}
}

// hostsToAvoid are the host names of the candidate and of every claim of the pool that is of age.
func hostsToAvoid(s Snapshot) []string {
	subject := s.SubjectName()
	hosts := map[string]bool{}
	for _, c := range s.Claims {
		if node := s.Nodes[c.NodeName]; node != nil && (c.Name == subject || s.Selection.Due[c.Name]) {
			hosts[hostnameOf(node)] = true
		}
	}
	return slices.Sorted(maps.Keys(hosts))
}

// tolerationsOf tolerates exactly the taints of the pool's template. Startup taints are left out on purpose: the
// placeholder runs only once they are gone, as the workloads would.
func tolerationsOf(taints []corev1.Taint) []corev1.Toleration {
	var out []corev1.Toleration
	for _, taint := range taints {
		out = append(out, corev1.Toleration{
			Key: taint.Key, Operator: corev1.TolerationOpEqual, Value: taint.Value, Effect: taint.Effect,
		})
	}
	return out
}

// asking requests the resources. Those that Kubernetes does not overcommit, huge pages and extended resources, are
// only admitted with a limit equal to the request.
func asking(requests corev1.ResourceList) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{Requests: requests.DeepCopy()}
	for name, quantity := range requests {
		if overcommitted(name) {
			continue
		}
		if out.Limits == nil {
			out.Limits = corev1.ResourceList{}
		}
		out.Limits[name] = quantity.DeepCopy()
	}
	return out
}

func overcommitted(name corev1.ResourceName) bool {
	native := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
