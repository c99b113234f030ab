// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// operation is one step of a JSON patch. A nil Value is JSON's null: in a test it asks for absence.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

const annotationsPath = "/metadata/annotations"

// versionedPatch is a merge patch that the API server refuses with a conflict unless the object still has this
// resourceVersion.
func versionedPatch(uid types.UID, version string, change effects.Change) (client.Patch, error) {
	annotations := map[string]*string{}
	for key, value := range change.Set {
		annotations[key] = &value
	}
	for _, key := range change.Remove {
		annotations[key] = nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": uid, "resourceVersion": version, "annotations": annotations,
	}})
	if err != nil {
		return nil, fmt.Errorf("a patch cannot be written as JSON: %w", err)
	}
	return client.RawPatch(types.MergePatchType, body), nil
}

// anchoredPatch is a patch of a NodePool that the API server refuses unless the same rotation is still anchored there.
// Karpenter's own updates of the NodePool do not disturb it.
func anchoredPatch(a effects.PatchPool) (client.Patch, error) {
	ops := []operation{
		{"test", "/metadata/uid", a.Pool.UID},
		{"test", annotationPath(rotation.KeyActiveRotation), a.Anchored},
		{"test", annotationPath(rotation.KeyAnchoredOn), nilIfEmpty(a.AnchoredOn)},
	}
	return jsonPatch(append(ops, changeOps(a.Change)...))
}

// nodePatch is a patch of a Node that the API server refuses unless our markers, the protection and the cordon are as
// they were when it was decided: an operator's hand in between wins.
func nodePatch(a effects.PatchNode) (client.Patch, error) {
	node := a.Node
	ops := []operation{{"test", "/metadata/uid", node.UID}}
	if node.Annotations == nil {
		ops = append(ops, operation{"test", annotationsPath, nil}, operation{"add", annotationsPath, struct{}{}})
	} else {
		for _, key := range append(rotation.NodeMarkers(), rotation.KeyDoNotDisrupt) {
			ops = append(ops, operation{"test", annotationPath(key), valueOrNil(node.Annotations, key)})
		}
	}
	if a.Unschedulable != nil {
		var was any
		if node.Spec.Unschedulable {
			was = true
		}
		ops = append(ops, operation{"test", "/spec/unschedulable", was}, operation{"add", "/spec/unschedulable", *a.Unschedulable})
	}
	return jsonPatch(append(ops, changeOps(a.Change)...))
}

func changeOps(change effects.Change) []operation {
	var ops []operation
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		ops = append(ops, operation{"add", annotationPath(key), change.Set[key]})
	}
	for _, key := range change.Remove {
		ops = append(ops, operation{Op: "remove", Path: annotationPath(key)})
	}
	return ops
}

func jsonPatch(ops []operation) (client.Patch, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("a patch cannot be written as JSON: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, body), nil
}

// pointerEscapes are those of a JSON pointer's parts (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// annotationPath is the JSON pointer of an annotation.
func annotationPath(key string) string { return annotationsPath + "/" + pointerEscapes.Replace(key) }

func valueOrNil(annotations map[string]string, key string) any {
	if value, present := annotations[key]; present {
		return value
	}
	return nil
}

func nilIfEmpty(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// errHeldUp ends a pass that took so long that another process may lead by now.
var errHeldUp = errors.New("the pass was held up for longer than this process is sure to lead")

// overtaken tells whether a write was refused because the world is no longer as it was decided on: a conflict, an
// object that is gone, a JSON patch whose test failed, or a pass that was held up. All are ordinary; the next pass
// decides afresh.
func overtaken(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || testFailed(err) || errors.Is(err, errHeldUp)
}

// testFailed recognizes the API server's answer to a JSON patch that does not apply: Invalid, and unlike a validation
// error without a cause.
func testFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}
