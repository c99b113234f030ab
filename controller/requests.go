// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/rotation"
)

// operation is one step of a JSON patch. A nil Value is JSON's null: in a test it asks for absence.
type operation struct {
	Op    string  `json:"op"`
	Path  pointer `json:"path"`
	Value any     `json:"value"`
}

// pointer is a JSON pointer: a path, or an annotation's key.
type pointer struct{ path, annotation string }

// MarshalText writes the pointer, its parts escaped.
func (p pointer) MarshalText() ([]byte, error) {
	if p.annotation != "" {
		return []byte(annotationsPath + "/" + pointerEscapes.Replace(p.annotation)), nil
	}
	return []byte(p.path), nil
}

func path(of string) pointer        { return pointer{path: of} }
func annotation(key string) pointer { return pointer{annotation: key} }

// operations are a JSON patch. Its document is written when it is sent; an API server in memory reads the operations.
type operations []operation

// Type is client.Patch's.
func (operations) Type() types.PatchType { return types.JSONPatchType }

// Data writes the document.
func (o operations) Data(client.Object) ([]byte, error) { return written([]operation(o)) }

// Operations visits the operations in order: each has a path, or else the key of an annotation. A value is nil, a string, a
// bool or an empty struct.
func (o operations) Operations(visit func(op, path, annotation string, value any)) {
	for i := range o {
		visit(o[i].Op, o[i].Path.path, o[i].Path.annotation, o[i].Value)
	}
}

// versioned is a merge patch of annotations that the API server refuses with a conflict unless the object still has
// this resourceVersion, also where it changes none (Store.Update in k8s.io/apiserver's registry compares before it looks for
// a difference). Like operations it is written when it is sent.
type versioned struct {
	uid         types.UID
	version     string
	annotations map[string]*string
}

// Type is client.Patch's.
func (*versioned) Type() types.PatchType { return types.MergePatchType }

// Data writes the document.
func (v *versioned) Data(client.Object) ([]byte, error) {
	metadata := map[string]any{"uid": v.uid, "resourceVersion": v.version}
	if len(v.annotations) > 0 {
		metadata["annotations"] = v.annotations
	}
	return written(map[string]any{"metadata": metadata})
}

// Metadata is what the patch states: a nil annotation is taken out.
func (v *versioned) Metadata() (uid types.UID, version string, annotations map[string]*string) {
	return v.uid, v.version, v.annotations
}

func written(document any) ([]byte, error) {
	body, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("a patch cannot be written as JSON: %w", err)
	}
	return body, nil
}

const annotationsPath = "/metadata/annotations"

// versionedPatch is a merge patch that the API server refuses with a conflict unless the object still has this
// resourceVersion.
func versionedPatch(uid types.UID, version string, change effects.Change) client.Patch {
	annotations := make(map[string]*string, len(change.Set)+len(change.Remove))
	for key, value := range change.Set {
		annotations[key] = &value
	}
	for _, key := range change.Remove {
		annotations[key] = nil
	}
	return &versioned{uid, version, annotations}
}

// anchoredPatch is a patch of a NodePool that the API server refuses unless the same rotation is still anchored there.
// Karpenter's own updates of the NodePool do not disturb it.
func anchoredPatch(a effects.PatchPool) client.Patch {
	ops := operations{
		{"test", path("/metadata/uid"), string(a.Pool.UID)},
		{"test", annotation(rotation.KeyActiveRotation), a.Anchored},
		{"test", annotation(rotation.KeyAnchoredOn), nilIfEmpty(a.AnchoredOn)},
	}
	ops = append(ops, changeOps(a.Change)...)
	if slices.Contains(a.Change.Remove, rotation.KeyActiveRotation) {
		ops = append(ops, unseenCompanions(a.Change)...)
	}
	return ops
}

// unseenCompanions take out what else the anchor has by now: a cache that lags may not have shown a companion, which would
// stay behind. Each is set first, since what is not there cannot be removed.
func unseenCompanions(clearing effects.Change) []operation {
	var ops []operation
	for _, key := range rotation.AnchorKeys() {
		if !slices.Contains(clearing.Remove, key) {
			ops = append(ops, operation{"add", annotation(key), ""}, operation{Op: "remove", Path: annotation(key)})
		}
	}
	return ops
}

// nodePatch is a patch of a Node that the API server refuses unless our markers, the protection and the cordon are as
// they were when it was decided: an operator's hand in between wins.
func nodePatch(a effects.PatchNode) client.Patch {
	node := a.Node
	ops := operations{{"test", path("/metadata/uid"), string(node.UID)}}
	if node.Annotations == nil {
		ops = append(ops, operation{"test", path(annotationsPath), nil}, operation{"add", path(annotationsPath), struct{}{}})
	} else {
		for _, key := range append(rotation.NodeMarkers(), rotation.KeyDoNotDisrupt) {
			ops = append(ops, operation{"test", annotation(key), valueOrNil(node.Annotations, key)})
		}
	}
	if a.Unschedulable != nil {
		var was any
		if node.Spec.Unschedulable {
			was = true
		}
		ops = append(ops, operation{"test", path("/spec/unschedulable"), was}, operation{"add", path("/spec/unschedulable"), *a.Unschedulable})
	}
	return append(ops, changeOps(a.Change)...)
}

func changeOps(change effects.Change) []operation {
	var ops []operation
	for _, key := range slices.Sorted(maps.Keys(change.Set)) {
		ops = append(ops, operation{"add", annotation(key), change.Set[key]})
	}
	for _, key := range change.Remove {
		ops = append(ops, operation{Op: "remove", Path: annotation(key)})
	}
	return ops
}

// pointerEscapes are those of a JSON pointer's parts (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

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

// errNameTaken ends a pass whose placeholder cannot be created.
var errNameTaken = errors.New("another Pod has this name, and is no placeholder of this rotation, or has lost its labels; delete it")

// refusedError is a write that the API server will refuse again until a person has acted. It does not unwrap: that the answer
// was a NotFound, or Invalid without a cause, would else pass for a world that has moved on.
type refusedError struct {
	remedy string
	cause  error
}

func (e *refusedError) Error() string { return fmt.Sprintf("%v; %s", e.cause, e.remedy) }

// refusedForGood tells whether a write was refused for what only a person can mend: a right, a rule of the API, a policy.
// A webhook that gives no reason is answered for with BadRequest.
func refusedForGood(err error) bool {
	var refused *refusedError
	return errors.As(err, &refused) || errors.Is(err, errNameTaken) ||
		(!overtaken(err) && (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)))
}

// unanswered tells whether a write failed without anybody having refused it, so that it may have taken effect: the
// connection was lost, or the API server itself gave up waiting. What never reached it has not. An admission webhook that
// fails answers alike, and is waited for in vain.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	return !utilnet.IsConnectionRefused(err)
}

// overtaken tells whether a write was refused because the world is no longer as it was decided on: a conflict, an
// object that is gone, a JSON patch whose test failed, a pass that was held up, or a process that stood still. All are
// ordinary; the next pass decides afresh.
func overtaken(err error) bool {
	return heldUp(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || testFailed(err)
}

// heldUp tells whether this process may no longer be the one that leads.
func heldUp(err error) bool {
	var still *stoodStillError
	return errors.Is(err, errHeldUp) || errors.As(err, &still)
}

// testFailed recognizes the API server's answer to a JSON patch that does not apply: Invalid, unlike a validation error
// without a cause, and not a webhook's.
func testFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		return false
	}
	details := status.Status().Details
	return (details == nil || len(details.Causes) == 0) && !strings.HasPrefix(status.Status().Message, webhookDenied)
}

// webhookDenied begins the API server's message where an admission webhook refuses, with whatever reason it likes.
const webhookDenied = "admission webhook "
