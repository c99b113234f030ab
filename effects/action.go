// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"noderotation.io/noderotation/rotation"
)

// Action is one thing to do in the cluster, or to tell. The applier carries actions out in order; String describes
// one for a dry run, a log and a trace.
type Action interface {
	fmt.Stringer
	isAction()
}

// Change is a change of annotations: Set wins over what is there, Remove is taken out.
type Change struct {
	Set    map[string]string
	Remove []string
}

// Then is the change that has the effect of c followed by next.
func (c Change) Then(next Change) Change {
	out := Change{Set: maps.Clone(c.Set)}
	if out.Set == nil {
		out.Set = map[string]string{}
	}
	for _, key := range next.Remove {
		delete(out.Set, key)
	}
	maps.Copy(out.Set, next.Set)
	for _, key := range slices.Concat(c.Remove, next.Remove) {
		if _, set := out.Set[key]; !set && !slices.Contains(out.Remove, key) {
			out.Remove = append(out.Remove, key)
		}
	}
	slices.Sort(out.Remove)
	return out
}

// Empty is true when the change asks for nothing.
func (c Change) Empty() bool { return len(c.Set) == 0 && len(c.Remove) == 0 }

func (c Change) String() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		parts = append(parts, key+"="+c.Set[key])
	}
	for _, key := range c.Remove {
		parts = append(parts, "-"+key)
	}
	return strings.Join(parts, " ")
}

// PatchPool changes annotations of the NodePool. Anchored names the claim that active-rotation must still name when
// the write arrives, and AnchoredOn what anchored-on must still say; an empty Anchored is the anchor's own write,
// conditional on the resourceVersion that was decided on and with it on the anchor's absence.
type PatchPool struct {
	Pool                 rotation.Object
	Anchored, AnchoredOn string
	Change               Change
}

// PatchClaim changes annotations of a NodeClaim, conditional on its resourceVersion.
type PatchClaim struct {
	Claim  rotation.Object
	Change Change
}

// PatchNode changes annotations of a Node and, where Unschedulable is set, its cordon. It is conditional on every
// marker, the protection and the cordon still being as Node has them; and, where there is one, on Subject like DeletePod.
type PatchNode struct {
	Node          *corev1.Node
	Change        Change
	Unschedulable *bool
	Subject       rotation.Object
}

// CreatePod creates a placeholder. That it exists already is no error. It is conditional on Subject, the claim that it was
// decided for, still having its resourceVersion.
type CreatePod struct {
	Pod     *corev1.Pod
	Subject rotation.Object
}

// DeletePod deletes a placeholder, by UID, and conditional on Subject like CreatePod. Subject is empty where no claim could
// be drained without its surge for it: there is none, or it is being deleted already.
type DeletePod struct {
	Namespace, Name string
	UID             types.UID
	Subject         rotation.Object
}

// DeleteClaim deletes a NodeClaim, by UID: Karpenter then drains its Node, with PodDisruptionBudgets respected. It is
// conditional on the resourceVersion of Subject, the claim that the rotation is about, which may be the deleted one itself. An
// induced claim is deleted whatever its own version: it changes all the time while it boots.
type DeleteClaim struct{ Claim, Subject rotation.Object }

func (PatchPool) isAction()   {}
func (PatchClaim) isAction()  {}
func (PatchNode) isAction()   {}
func (CreatePod) isAction()   {}
func (DeletePod) isAction()   {}
func (DeleteClaim) isAction() {}

func (a PatchPool) String() string {
	return fmt.Sprintf("patch NodePool %s: %s", a.Pool.Name, a.Change)
}
func (a PatchClaim) String() string {
	return fmt.Sprintf("patch NodeClaim %s: %s", a.Claim.Name, a.Change)
}

func (a PatchNode) String() string {
	cordon := ""
	if a.Unschedulable != nil {
		cordon = fmt.Sprintf(" unschedulable=%t", *a.Unschedulable)
	}
	return fmt.Sprintf("patch Node %s: %s", a.Node.Name, strings.TrimSpace(a.Change.String()+cordon))
}
func (a CreatePod) String() string {
	return fmt.Sprintf("create Pod %s/%s", a.Pod.Namespace, a.Pod.Name)
}
func (a DeletePod) String() string   { return fmt.Sprintf("delete Pod %s/%s", a.Namespace, a.Name) }
func (a DeleteClaim) String() string { return fmt.Sprintf("delete NodeClaim %s", a.Claim.Name) }

// Merge joins adjacent patches of one object into one, so that what belongs together is one write and cannot be torn
// by a crash. Order is kept.
func Merge(actions []Action) []Action {
	merged := make([]Action, 0, len(actions))
	for _, next := range actions {
		if len(merged) > 0 {
			if joined, ok := join(merged[len(merged)-1], next); ok {
				merged[len(merged)-1] = joined
				continue
			}
		}
		merged = append(merged, next)
	}
	return merged
}

func join(a, b Action) (Action, bool) {
	switch a := a.(type) {
	case PatchPool:
		if b, same := b.(PatchPool); same && a.Pool.UID == b.Pool.UID {
			a.Change = a.Change.Then(b.Change)
			return a, true
		}
	case PatchClaim:
		if b, same := b.(PatchClaim); same && a.Claim.UID == b.Claim.UID {
			a.Change = a.Change.Then(b.Change)
			return a, true
		}
	case PatchNode:
		if b, same := b.(PatchNode); same && a.Node.UID == b.Node.UID {
			a.Change = a.Change.Then(b.Change)
			if b.Unschedulable != nil {
				a.Unschedulable = b.Unschedulable
			}
			if a.Subject.UID == "" {
				a.Subject = b.Subject
			}
			return a, true
		}
	}
	return nil, false
}
