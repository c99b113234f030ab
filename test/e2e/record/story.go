// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// Tell writes the recording down for a person who looks for what went wrong: a line for each event that changed
// something of note.
func (r Recording) Tell(to io.Writer) {
	for _, event := range r.events {
		if line := event.String(); line != "" {
			_, _ = fmt.Fprintln(to, line)
		}
	}
}

// String says what the event changed; empty when it is nothing of note.
func (e Event) String() string {
	object := e.Object()
	said := strings.ToLower(string(e.Change))
	switch e.Change {
	case watch.Modified:
		changes := differences(traits(e.Before), traits(e.After))
		if len(changes) == 0 {
			return ""
		}
		said = strings.Join(changes, ", ")
	case watch.Added:
		said += " " + strings.Join(differences(nil, traits(e.After)), ", ")
	case watch.Deleted, watch.Bookmark, watch.Error: // the word says it all
	}
	return fmt.Sprintf("%6d  %-19s %s: %s", e.Revision, KindOf(object), object.GetName(), said)
}

// traits are what of an object is of note, by name.
func traits(object Object) map[string]string {
	found := map[string]string{}
	for key, value := range object.GetAnnotations() {
		if strings.HasPrefix(key, "noderotation.io/") || key == karpenterv1.DoNotDisruptAnnotationKey {
			found[key] = value
		}
	}
	if at := object.GetDeletionTimestamp(); at != nil {
		found["deleted"] = at.UTC().Format("15:04:05")
	}
	switch o := object.(type) {
	case *corev1.Node:
		found["ready"] = fmt.Sprint(NodeReady(o))
		found["unschedulable"] = fmt.Sprint(o.Spec.Unschedulable)
		for _, taint := range o.Spec.Taints {
			found["taint "+taint.Key] = string(taint.Effect)
		}
	case *corev1.Pod:
		found["node"], found["phase"], found["ready"] = o.Spec.NodeName, string(o.Status.Phase), fmt.Sprint(PodReady(o))
	case *karpenterv1.NodeClaim:
		found["node"] = o.Status.NodeName
		for _, condition := range o.Status.Conditions {
			found[condition.Type] = string(condition.Status)
		}
	}
	return found
}

func differences(before, after map[string]string) []string {
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, had := before[key]; after[key] != was || !had {
			if after[key] != "" {
				changes = append(changes, key+"="+after[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, has := after[key]; !has {
			changes = append(changes, "-"+key)
		}
	}
	return changes
}
