// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"noderotation.io/noderotation/rotation"
)

// surgeEffects write the placeholder Pod, which induces and reserves the replacement (§3.3).
func surgeEffects() []Effect {
	return []Effect{
		{Name: Placeholder, About: "Have a placeholder Pod; one that has ended is deleted first, one that is terminating is waited for.", Section: "§3.3",
			Reads: ofSubject(rotation.ReadStartedAt, rotation.ReadRetryCount, rotation.ReadGovernance, rotation.ReadSettings,
				rotation.ReadPoolTemplate, rotation.ReadClaimNode, rotation.ReadClaimAllocatable, rotation.ReadClaimKind,
				rotation.ReadPlaceholder, rotation.ReadNodes, rotation.ReadPods),
			Writes: []string{rotation.WritePlaceholder}, Apply: placeholder},
		{Name: DeletePlaceholder, About: "Have no placeholder Pod.", Section: "§3.3",
			Reads: ofSubject(rotation.ReadClaimDeletion, rotation.ReadPlaceholder), Needs: []string{rotation.NeedPod},
			Writes: []string{rotation.WritePodDelete}, Apply: deletePlaceholder},
	}
}

// placeholder needs the old Node: the Pods on it tell the size.
func placeholder(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	existing := s.Placeholder()
	switch {
	case existing == nil && s.SubjectNode() == nil:
		return none(s)
	case existing == nil:
		return createPlaceholder(s)
	case rotation.Finished(existing) && existing.DeletionTimestamp == nil:
		going := *existing
		going.DeletionTimestamp = &metav1.Time{Time: s.Now}
		subject, _ := s.Subject()
		return s.WithoutPlaceholder(existing.Name).WithPlaceholder(&going), []Action{deletePod(existing, subject.Object)}, nil
	default:
		return none(s)
	}
}

func createPlaceholder(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	pod, sizing, err := rotation.NewPlaceholder(*s)
	if err != nil {
		return s, nil, fmt.Errorf("the placeholder for NodeClaim %s cannot be built: %w", s.SubjectName(), err)
	}
	subject, _ := s.Subject()
	actions := []Action{CreatePod{pod, subject.Object}}
	for _, note := range []struct {
		severity Severity
		reason   string
		facts    []string
	}{
		{Normal, ReasonSurgeClamped, sizing.Clamped},
		{Warning, ReasonSurgeClampBand, sizing.BandExceeded},
		{Warning, ReasonSurgeClampRefused, sizing.Refused},
	} {
		if len(note.facts) > 0 {
			actions = append(actions, tell(s, claimTarget(s), note.severity, note.reason, strings.Join(note.facts, "; ")))
		}
	}
	return s.WithPlaceholder(pod), actions, nil
}

func deletePlaceholder(s *rotation.Snapshot) (*rotation.Snapshot, []Action, error) {
	var actions []Action
	for _, pod := range s.Placeholders {
		if pod.DeletionTimestamp == nil {
			actions = append(actions, deletePod(pod, undrained(s)))
		}
		s = s.WithoutPlaceholder(pod.Name)
	}
	return s, actions, nil
}

// undrained is the subject as long as its drain may yet begin: only then does it need its placeholder.
func undrained(s *rotation.Snapshot) rotation.Object {
	subject, exists := s.Subject()
	if !exists || subject.Deleting() {
		return rotation.Object{}
	}
	return subject.Object
}

func deletePod(pod *corev1.Pod, subject rotation.Object) Action {
	return DeletePod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Subject: subject}
}
