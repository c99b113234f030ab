// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Induced finds the claim that Karpenter launched for the subject's placeholder (§3.8): the one that surge-claim
// records, else the one whose Node holds the placeholder, else the only claim of the attempt that has no Node yet. A
// recorded claim that is gone or going is one that Karpenter gave up, and its successor is where the placeholder sits.
// Nothing is guessed while it is still going: it may be this very rollback that deletes it. The reason is a sentence
// either way. A claim that is found may still be spare capacity from before: ask Reapable before deleting.
func Induced(s Snapshot) (claim Claim, found bool, reason string) {
	subject, exists := s.Subject()
	if !exists {
		return Claim{}, false, fmt.Sprintf("NodeClaim %s does not exist, so nothing tells what was launched for it", s.SubjectName())
	}
	recorded, exists := s.Claim(subject.Annotations[KeySurgeClaim])
	if exists && !recorded.Deleting() {
		return recorded, true, fmt.Sprintf("NodeClaim %s records %s as its surge claim", subject.Name, recorded.Name)
	}
	if name, bound := SurgeClaim(s); bound {
		c, _ := s.Claim(name)
		return c, true, fmt.Sprintf("the placeholder of NodeClaim %s is bound to the Node of NodeClaim %s", subject.Name, name)
	}
	if exists {
		return Claim{}, false, fmt.Sprintf("NodeClaim %s, the surge claim that NodeClaim %s records, is already being deleted", recorded.Name, subject.Name)
	}
	return s.launchedUnbound(subject)
}

// launchedUnbound finds the induced claim before its Node is there. Nothing ties the two together yet, so it concludes
// only where the placeholder still waits for a node, no second claim could be meant, and no other Pod can have asked for
// the one. Without the first, a rollback that is repeated after a crash could take the next claim to come along.
func (s *Snapshot) launchedUnbound(subject Claim) (Claim, bool, string) {
	if pod := s.Placeholder(); pod == nil || pod.Spec.NodeName != "" {
		return Claim{}, false, fmt.Sprintf("no placeholder of NodeClaim %s waits for a node that Karpenter would launch", subject.Name)
	}
	var launched []*Claim
	for _, c := range s.Claims {
		if c.Name != subject.Name && c.NodeName == "" && !c.Deleting() && ofAttempt(c, subject.StartedAt()) {
			launched = append(launched, c)
		}
	}
	if len(launched) != 1 {
		return Claim{}, false, fmt.Sprintf("%d NodeClaims without a Node were launched since the rotation of NodeClaim %s began; exactly one would be taken for its surge",
			len(launched), subject.Name)
	}
	claim := *launched[0]
	for _, pod := range s.Unbound {
		if s.couldHaveInduced(pod, claim, subject.Name) {
			return Claim{}, false, fmt.Sprintf("NodeClaim %s may have been launched for Pod %s/%s instead of the placeholder of NodeClaim %s",
				claim.Name, pod.Namespace, pod.Name, subject.Name)
		}
	}
	return claim, true, fmt.Sprintf("NodeClaim %s is the only one launched since the rotation of NodeClaim %s began, and no other Pod can have asked for it",
		claim.Name, subject.Name)
}

// couldHaveInduced tells whether Karpenter can have launched the claim for this Pod. It says no only where it is sure:
// the Pod is this rotation's placeholder, of a kind that Karpenter provisions nothing for, younger than the claim, held
// back from scheduling, or unable to run in the pool.
func (s *Snapshot) couldHaveInduced(pod *corev1.Pod, claim Claim, subject string) bool {
	switch {
	case placeholderOf(pod, subject), Finished(pod), ownedByDaemonSet(pod), mirrored(pod):
		return false
	case inSeconds(claim.Created).Before(inSeconds(pod.CreationTimestamp.Time)):
		return false
	case len(pod.Spec.SchedulingGates) > 0:
		return false
	default:
		return s.Pool.welcomes(pod)
	}
}

// Reapable is the claim that a rollback deletes (§3.8): the induced one, provided that this attempt brought it about and
// that nobody would miss it. It is not older than started-at, and its Node hosts nothing but the placeholder, DaemonSet
// Pods, and Pods that are finished or a kubelet's own. What cannot be read or is not known speaks against it. The reason
// is a sentence either way.
func Reapable(s Snapshot) (claim Claim, ok bool, reason string) {
	claim, found, reason := Induced(s)
	if !found {
		return Claim{}, false, reason
	}
	subject, _ := s.Subject()
	started := subject.StartedAt()
	switch {
	case claim.Name == subject.Name:
		return Claim{}, false, fmt.Sprintf("NodeClaim %s cannot be its own surge", claim.Name)
	case claim.Deleting():
		return Claim{}, false, fmt.Sprintf("NodeClaim %s is already being deleted", claim.Name)
	case !started.Readable:
		return Claim{}, false, fmt.Sprintf("NodeClaim %s does not tell when its attempt started (%s=%q), so NodeClaim %s may be older and is left alone",
			subject.Name, KeyStartedAt, subject.Annotations[KeyStartedAt], claim.Name)
	case !ofAttempt(&claim, started):
		return Claim{}, false, fmt.Sprintf("NodeClaim %s is of %s and the attempt started at %s: it was there before",
			claim.Name, FormatStamp(claim.Created), FormatStamp(started.At))
	}
	if guest := s.guest(claim.NodeName, subject.Name); guest != "" {
		return Claim{}, false, fmt.Sprintf("NodeClaim %s is left alone: %s", claim.Name, guest)
	}
	return claim, true, reason
}

// guest says what on the node, or on its way to it, would miss it; empty when nothing would. A node without an entry
// in PodsByNode was not looked at, which is not the same as empty.
func (s *Snapshot) guest(node, subject string) string {
	if node == "" {
		return ""
	}
	pods, seen := s.PodsByNode[node]
	if !seen {
		return fmt.Sprintf("the Pods of Node %s are not known", node)
	}
	for _, pod := range pods {
		if !placeholderOf(pod, subject) && !ownedByDaemonSet(pod) && !mirrored(pod) && !Finished(pod) {
			return fmt.Sprintf("Pod %s/%s runs on Node %s", pod.Namespace, pod.Name, node)
		}
	}
	coming := slices.IndexFunc(s.Unbound, func(pod *corev1.Pod) bool {
		return pod.Status.NominatedNodeName == node && !placeholderOf(pod, subject)
	})
	if coming >= 0 {
		return fmt.Sprintf("Pod %s/%s is about to be placed on Node %s", s.Unbound[coming].Namespace, s.Unbound[coming].Name, node)
	}
	return ""
}

func placeholderOf(pod *corev1.Pod, claim string) bool {
	return IsPlaceholder(pod) && pod.Annotations[KeySurgeFor] == claim
}

// ofAttempt tells whether the claim is not older than the start of the attempt; never so when that cannot be read.
func ofAttempt(c *Claim, started Stamp) bool {
	return started.Readable && !inSeconds(c.Created).Before(inSeconds(started.At))
}

// inSeconds is the instant at the resolution that the API server keeps: what happened in one second happened at once.
func inSeconds(t time.Time) time.Time { return t.Truncate(time.Second) }
