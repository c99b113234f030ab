// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"noderotation.io/noderotation/rotation"
)

// nodeEffects write the old and the surge Node: protection and cordon (§3.4).
func nodeEffects() []Effect {
	return []Effect{
		{Name: Freeze, About: "Protect the old Node from voluntary disruption, as ours unless an operator already does.", Section: "§3.4",
			Reads: ofSubject(rotation.ReadClaimNode, rotation.ReadNodes), Needs: []string{rotation.NeedNode},
			Writes: []string{rotation.WriteProtection}, Apply: freeze},
		{Name: Cordon, About: "Cordon the old Node, as ours unless an operator already has.", Section: "§3.4",
			Reads: ofSubject(rotation.ReadClaimNode, rotation.ReadNodes), Needs: []string{rotation.NeedNode},
			Writes: []string{rotation.WriteCordon}, Apply: cordon},
		{Name: FreezeHost, About: "Protect the Node that the placeholder runs on.", Section: "§3.4",
			Reads: []string{rotation.ReadSelection, rotation.ReadAnchor, rotation.ReadPlaceholder, rotation.ReadNodes}, Needs: []string{rotation.NeedHost},
			Writes: []string{rotation.WriteHostProtection}, Apply: freezeHost},
		{Name: Unfreeze, About: "Take back protection and cordon, exactly what our markers own.", Section: "§3.4",
			Reads: ofSubject(rotation.ReadClaimDeletion, rotation.ReadClaimNode, rotation.ReadNodes), Needs: []string{rotation.NeedMarkers},
			Writes: []string{rotation.WriteUnfreeze}, Apply: unfreeze},
	}
}

// patchNode asks for a change of the Node, as far as it is not there yet. Nothing is asked of a Node that is missing
// or being deleted.
func patchNode(s *rotation.Snapshot, node *corev1.Node, unschedulable *bool, set map[string]string, remove ...string) (*rotation.Snapshot, []Action, error) {
	if node == nil || node.DeletionTimestamp != nil {
		return none(s)
	}
	change := needed(node.Annotations, set, remove)
	if unschedulable != nil && *unschedulable == node.Spec.Unschedulable {
		unschedulable = nil
	}
	if change.Empty() && unschedulable == nil {
		return none(s)
	}
	changed := *node
	changed.Annotations = rotation.Annotate(node.Annotations, set, remove...)
	if unschedulable != nil {
		changed.Spec.Unschedulable = *unschedulable
	}
	return s.WithNode(&changed), []Action{PatchNode{Node: node, Change: change, Unschedulable: unschedulable}}, nil
}

// protect marks the Node for the rotation and sets do-not-disrupt. The owned marker is written only together with a
// protection that we set: an operator's stays an operator's.
func protect(s *rotation.Snapshot, node *corev1.Node) (*rotation.Snapshot, []Action, error) {
	if node == nil {
		return none(s)
	}
	set := map[string]string{rotation.KeySurgeFor: s.SubjectName()}
	if !rotation.ProtectedByOperator(node) {
		set[rotation.KeyDoNotDisrupt] = rotation.ValueTrue
		set[rotation.KeyDoNotDisruptOwned] = rotation.ValueTrue
	}
	return patchNode(s, node, nil, set)
}

func freeze(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	subject, _ := s.Subject()
	s, actions, err := protect(s, s.SubjectNode())
	return s, tied(actions, subject.Object), err
}

func freezeHost(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	return protect(s, s.Nodes[rotation.SurgeHost(*s)])
}

func cordon(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	node := s.SubjectNode()
	if node == nil || node.Spec.Unschedulable {
		return none(s)
	}
	unschedulable := true
	subject, _ := s.Subject()
	s, actions, err := patchNode(s, node, &unschedulable, map[string]string{rotation.KeyCordoned: rotation.ValueTrue})
	return s, tied(actions, subject.Object), err
}

// tied makes patches of Nodes conditional on the claim that they were decided for.
func tied(actions []Action, subject rotation.Object) []Action {
	for i, action := range actions {
		if patch, is := action.(PatchNode); is {
			patch.Subject = subject
			actions[i] = patch
		}
	}
	return actions
}

func unfreeze(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	var actions []Action
	subject, _ := s.Subject()
	decidedOn := undrained(s)
	for _, name := range slices.Sorted(maps.Keys(s.Nodes)) {
		node := s.Nodes[name]
		if node.Annotations[rotation.KeySurgeFor] != s.SubjectName() && name != subject.NodeName {
			continue
		}
		var step []Action
		s, step, _ = release(s, node)
		actions = append(actions, tied(step, decidedOn)...)
	}
	return s, actions, nil
}

// release removes from the Node what our markers own, and the markers.
func release(s *rotation.Snapshot, node *corev1.Node) (*rotation.Snapshot, []Action, error) {
	remove := rotation.NodeMarkers()
	owned := node.Annotations[rotation.KeyDoNotDisruptOwned] == rotation.ValueTrue
	if owned && node.Annotations[rotation.KeyDoNotDisrupt] == rotation.ValueTrue {
		remove = append(remove, rotation.KeyDoNotDisrupt)
	}
	var unschedulable *bool
	if node.Annotations[rotation.KeyCordoned] == rotation.ValueTrue {
		schedulable := false
		unschedulable = &schedulable
	}
	return patchNode(s, node, unschedulable, nil, remove...)
}
