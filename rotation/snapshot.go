// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"maps"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/window"
)

// Settings are the choices of the installation, not of a policy.
type Settings struct {
	// Namespace holds the placeholder Pods: the controller's own.
	Namespace string
	// PauseImage runs in the placeholder.
	PauseImage string
	// PullSecrets are the names of the Secrets, in Namespace, that PauseImage is pulled with; nil where none is needed.
	PullSecrets []string
	// PriorityClass of the placeholder; of negative value, so that it is every workload's victim (§3.3).
	PriorityClass string
}

// Governance says which policy governs the pool, or why none does (§5.4).
type Governance struct {
	// Policy that governs; nil when the pool is not governed.
	Policy *v1alpha1.RotationPolicy
	// Reason is a sentence that says why the pool is governed, or why not.
	Reason string
	// Conflict is true when two or more policies tie (§5.4, PolicyConflict).
	Conflict bool
	// Faults are the fatal findings that make the winner Invalid; nil unless it is.
	Faults []Finding
	// Terms of the governing policy, with defaults resolved.
	Terms Terms
	// Windows of the governing policy.
	Windows window.Schedule
	// Survey of the windows over the coming 400 days.
	Survey window.Survey
}

// Snapshot is one NodePool and everything its rotation depends on, read at one instant. It is a value: guards only
// read it, and an effect returns a changed copy. Nothing that it points to is ever changed in place, because the
// pointers lead into the cache. It is handed on by pointer, which spares the copy of a large struct, and is not changed
// behind that one either.
type Snapshot struct {
	Now        time.Time
	Settings   Settings
	Pool       Pool
	Governance Governance
	// Claims of the pool, sorted by name.
	Claims []*Claim
	// Nodes by name: of those of the pool, and of any others that carry the surge-for marker of the pool's rotation, the ones
	// that the rotation touches.
	Nodes map[string]*corev1.Node
	// Placeholders are the placeholder Pods of the pool's rotation; ordinarily one or none.
	Placeholders []*corev1.Pod
	// PodsByNode holds the Pods of the nodes that the rotation touches, by node name.
	PodsByNode map[string][]*corev1.Pod
	// Unbound are the Pods of the cluster that have no node yet.
	Unbound []*corev1.Pod
	// Budgets are the PodDisruptionBudgets that may hold the drain in progress.
	Budgets []*policyv1.PodDisruptionBudget

	// Cleared holds the anchor and its companions as they were when an effect of this pass cleared them; nil before.
	// What is told after the anchor's end still speaks of that rotation.
	Cleared map[string]string

	// Feasibility and Selection are concluded once, by Observe, since many guards ask for them.
	Feasibility Feasibility
	Selection   Selection
}

// Observe completes a snapshot whose pool, policy, claims and nodes are set: it selects the candidate and judges the
// policy's feasibility. The Pods of the nodes that Touched names may be added after it.
func (s Snapshot) Observe() Snapshot {
	s.Feasibility = Judge(s)
	s.Selection = Select(&s, s.Node)
	return s
}

// Anchor is the name of the claim whose rotation is anchored on the pool; empty when there is none.
func (s *Snapshot) Anchor() string { return s.Pool.Annotations[KeyActiveRotation] }

// AnchorValue reads the anchor or one of its companions, also after this pass has cleared them.
func (s *Snapshot) AnchorValue(key string) string {
	if s.Cleared != nil {
		return s.Cleared[key]
	}
	return s.Pool.Annotations[key]
}

// SubjectName is the name of the claim that the pass is about: the anchored one, also when this pass has let it go,
// else the candidate; empty when there is neither.
func (s *Snapshot) SubjectName() string {
	if anchor := s.AnchorValue(KeyActiveRotation); anchor != "" {
		return anchor
	}
	return s.Selection.Candidate
}

// Subject is the claim that the pass is about. The second result is false when there is none, or when the
// anchored claim no longer exists.
func (s *Snapshot) Subject() (Claim, bool) { return s.Claim(s.SubjectName()) }

// Claim finds a claim of the pool by name.
func (s *Snapshot) Claim(name string) (Claim, bool) {
	i := sort.Search(len(s.Claims), func(i int) bool { return s.Claims[i].Name >= name })
	if i == len(s.Claims) || s.Claims[i].Name != name {
		return Claim{}, false
	}
	return *s.Claims[i], true
}

// ClaimOfNode finds the claim whose Node has this name.
func (s *Snapshot) ClaimOfNode(node string) (Claim, bool) {
	if node == "" {
		return Claim{}, false
	}
	for _, c := range s.Claims {
		if c.NodeName == node {
			return *c, true
		}
	}
	return Claim{}, false
}

// Node finds a Node by name; nil when it is not known.
func (s *Snapshot) Node(name string) *corev1.Node { return s.Nodes[name] }

// SubjectNode is the Node of the claim that the pass is about; nil when it is not known.
func (s *Snapshot) SubjectNode() *corev1.Node {
	c, ok := s.Subject()
	if !ok {
		return nil
	}
	return s.Nodes[c.NodeName]
}

// Placeholder is the Pod that reserves the surge's room: the one with the rotation's own name. Nil when missing.
func (s *Snapshot) Placeholder() *corev1.Pod {
	name := PlaceholderName(s.SubjectName())
	for _, pod := range s.Placeholders {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// WithPoolAnnotations returns a snapshot whose pool carries the annotations in set and lacks those in remove.
func (s *Snapshot) WithPoolAnnotations(set map[string]string, remove ...string) *Snapshot {
	next := *s
	next.Pool.Annotations = Annotate(s.Pool.Annotations, set, remove...)
	return &next
}

// WithClaim returns a snapshot in which claim replaces the one of the same name.
func (s *Snapshot) WithClaim(claim Claim) *Snapshot {
	next := *s
	next.Claims = slices.Clone(s.Claims)
	for i, c := range s.Claims {
		if c.Name == claim.Name {
			next.Claims[i] = &claim
		}
	}
	return &next
}

// WithNode returns a snapshot in which node replaces the one of the same name.
func (s *Snapshot) WithNode(node *corev1.Node) *Snapshot {
	next := *s
	next.Nodes = maps.Clone(s.Nodes)
	next.Nodes[node.Name] = node
	return &next
}

// WithPlaceholder returns a snapshot that has the Pod among its placeholders.
func (s *Snapshot) WithPlaceholder(pod *corev1.Pod) *Snapshot {
	next := *s
	next.Placeholders = append(slices.Clone(s.Placeholders), pod)
	return &next
}

// WithoutPlaceholder returns a snapshot without the placeholder of this name.
func (s *Snapshot) WithoutPlaceholder(name string) *Snapshot {
	next := *s
	next.Placeholders = slices.DeleteFunc(slices.Clone(s.Placeholders), func(p *corev1.Pod) bool { return p.Name == name })
	return &next
}

// Annotate returns a copy of annotations with set applied and remove taken out.
func Annotate(annotations, set map[string]string, remove ...string) map[string]string {
	out := make(map[string]string, len(annotations)+len(set))
	maps.Copy(out, annotations)
	maps.Copy(out, set)
	for _, key := range remove {
		delete(out, key)
	}
	return out
}
