// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patch applies a JSON patch or a merge patch. Nearly all patches change annotations and the cordon only, and are
// applied to the object itself; any other goes by way of JSON, as in the API server. Both ways give the same answers.
func (c *Cluster) patch(kind Kind, key Key, how types.PatchType, body []byte, status bool) (client.Object, error) {
	current, err := c.find(kind, key)
	if err != nil {
		return nil, err
	}
	if next, understood, err := quick(current, how, body); understood && !status {
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return current, nil
		default:
			return c.store(kind, current, next), nil
		}
	}
	next, err := throughJSON(kind, current, how, body)
	if err != nil {
		return nil, err
	}
	switch {
	case next.GetResourceVersion() != "" && next.GetResourceVersion() != current.GetResourceVersion():
		return nil, conflict(kind, key, errors.New(modified))
	case next.GetUID() != "" && next.GetUID() != current.GetUID():
		return nil, c.invalid(kind, key, field.Invalid(field.NewPath("metadata", "uid"), next.GetUID(), "field is immutable"))
	case next.GetName() != current.GetName():
		return nil, apierrors.NewBadRequest("the name of the object does not match the name on the URL")
	}
	return c.accept(kind, current, next, status)
}

// throughJSON applies the patch to the object's JSON.
func throughJSON(kind Kind, current client.Object, how types.PatchType, body []byte) (client.Object, error) {
	document, err := json.Marshal(current)
	if err != nil {
		return nil, fmt.Errorf("%s %s cannot be written as JSON: %w", kind, current.GetName(), err)
	}
	var patched []byte
	switch how {
	case types.JSONPatchType:
		ops, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if patched, err = ops.Apply(document); err != nil {
			return nil, unprocessable(err)
		}
	case types.MergePatchType:
		if patched, err = jsonpatch.MergePatch(document, body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	default:
		return nil, fmt.Errorf("the simulated cluster does not know patches of type %s", how)
	}
	next := blank(kind)
	if err := json.Unmarshal(patched, next); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return next, nil
}

// quick applies a patch that concerns nothing but annotations and the cordon. The next object is nil when nothing
// changes; understood is false when the patch needs the long way.
func quick(current client.Object, how types.PatchType, body []byte) (next client.Object, understood bool, err error) {
	d := draft{object: current, annotations: current.GetAnnotations()}
	if node, ok := current.(*corev1.Node); ok {
		d.unschedulable = node.Spec.Unschedulable
	}
	switch how {
	case types.MergePatchType:
		understood, err = d.merge(body)
	case types.JSONPatchType:
		understood, err = d.operate(body)
	default:
		return nil, false, nil
	}
	if !understood || err != nil {
		return nil, understood, err
	}
	return d.result(), true, nil
}

// draft is an object whose annotations and cordon are being changed.
type draft struct {
	object      client.Object
	annotations map[string]string
	// copied is true once the annotations are the draft's own.
	copied        bool
	unschedulable bool
	// cordoned is true once the patch has set the cordon: JSON then tells false from absent, which the object cannot.
	cordoned bool
}

// result is the changed object, or nil when it is as it was.
func (d *draft) result() client.Object {
	node, isNode := d.object.(*corev1.Node)
	if maps.Equal(d.annotations, d.object.GetAnnotations()) && (!isNode || node.Spec.Unschedulable == d.unschedulable) {
		return nil
	}
	next := shallow(d.object)
	next.SetAnnotations(d.annotations)
	if node, ok := next.(*corev1.Node); ok {
		node.Spec.Unschedulable = d.unschedulable
	}
	return next
}

func (d *draft) own() {
	if !d.copied {
		own := make(map[string]string, len(d.annotations)+4)
		maps.Copy(own, d.annotations)
		d.annotations, d.copied = own, true
	}
}

// merge applies a merge patch of annotations that names a resourceVersion and a UID.
func (d *draft) merge(body []byte) (understood bool, err error) {
	var patch struct {
		Metadata struct {
			UID             *types.UID         `json:"uid"`
			ResourceVersion *string            `json:"resourceVersion"`
			Annotations     map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&patch) != nil {
		return false, nil //nolint:nilerr // not understood here; the way through JSON answers
	}
	kind, err := KindOf(d.object)
	if err != nil {
		return false, nil //nolint:nilerr // not understood here; the way through JSON answers
	}
	if v := patch.Metadata.ResourceVersion; v != nil && *v != "" && *v != d.object.GetResourceVersion() {
		return true, conflict(kind, KeyOf(d.object), errors.New(modified))
	}
	if uid := patch.Metadata.UID; uid != nil && *uid != d.object.GetUID() {
		return false, nil
	}
	for key, value := range patch.Metadata.Annotations {
		d.own()
		if value == nil {
			delete(d.annotations, key)
		} else {
			d.annotations[key] = *value
		}
	}
	return true, nil
}

type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

const (
	uidPath         = "/metadata/uid"
	annotationsPath = "/metadata/annotations"
	cordonPath      = "/spec/unschedulable"
)

// operate applies a JSON patch whose operations are tests, additions and removals of annotations, the cordon, and a test
// of the UID.
func (d *draft) operate(body []byte) (understood bool, err error) {
	var ops []operation
	if json.Unmarshal(body, &ops) != nil {
		return false, nil //nolint:nilerr // not understood here; the way through JSON answers
	}
	for i := range ops {
		op := &ops[i]
		_, isNode := d.object.(*corev1.Node)
		switch key, ofAnnotation := annotationOf(op.Path); {
		case ofAnnotation:
			understood, err = d.annotate(op, key)
		case op.Path == annotationsPath:
			understood, err = d.annotationsAsAWhole(op)
		case op.Path == cordonPath && isNode:
			understood, err = d.cordon(op)
		case op.Path == uidPath && op.Op == "test":
			understood, err = true, tested(op, string(d.object.GetUID()) == text(op.Value))
		default:
			return false, nil
		}
		if !understood {
			return false, nil
		}
		if err != nil {
			return true, unprocessable(err)
		}
	}
	return true, nil
}

// pointerEscapes are taken back from a JSON pointer's parts (RFC 6901).
var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// annotationOf reads the annotation's key off a JSON pointer.
func annotationOf(path string) (string, bool) {
	key, found := strings.CutPrefix(path, annotationsPath+"/")
	if !found {
		return "", false
	}
	return pointerEscapes.Replace(key), true
}

func (d *draft) annotate(op *operation, key string) (understood bool, err error) {
	if d.annotations == nil {
		return true, fmt.Errorf("%s operation does not apply: doc is missing path: %q: missing value", op.Op, op.Path)
	}
	value, present := d.annotations[key]
	switch {
	case op.Op == "test" && null(op.Value):
		return true, tested(op, !present)
	case op.Op == "test":
		return true, tested(op, present && value == text(op.Value))
	case op.Op == "add" && !null(op.Value):
		d.own()
		d.annotations[key] = text(op.Value)
		return true, nil
	case op.Op == "remove" && !present:
		return true, fmt.Errorf("remove operation does not apply: unable to remove nonexistent key: %q: missing value", key)
	case op.Op == "remove":
		d.own()
		delete(d.annotations, key)
		return true, nil
	default:
		return false, nil
	}
}

func (d *draft) annotationsAsAWhole(op *operation) (understood bool, err error) {
	switch {
	case op.Op == "test" && null(op.Value):
		return true, tested(op, d.annotations == nil)
	case op.Op == "add" && string(op.Value) == "{}":
		d.annotations, d.copied = map[string]string{}, true
		return true, nil
	default:
		return false, nil
	}
}

func (d *draft) cordon(op *operation) (understood bool, err error) {
	var value bool
	if !null(op.Value) && json.Unmarshal(op.Value, &value) != nil {
		return false, nil //nolint:nilerr // not understood here; the way through JSON answers
	}
	switch {
	case op.Op == "test" && d.cordoned:
		return false, nil
	case op.Op == "test" && null(op.Value):
		return true, tested(op, !d.unschedulable)
	case op.Op == "test":
		return true, tested(op, value && d.unschedulable)
	case op.Op == "add" && !null(op.Value):
		d.unschedulable, d.cordoned = value, true
		return true, nil
	default:
		return false, nil
	}
}

func tested(op *operation, holds bool) error {
	if holds {
		return nil
	}
	return fmt.Errorf("testing value %s failed: test failed", op.Path)
}

func null(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// text is a JSON string's content; empty for any other value.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}
