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

// patchRequest is a patch as it was sent.
type patchRequest struct {
	patch client.Patch
	// object is the caller's: some patches are reckoned from it.
	object client.Object
}

// Patches may say what they ask for beside their document, which then need not be written to be read again.
type (
	// statesOperations is such a JSON patch. An operation has a path, or else the key of an annotation; a value is nil, a
	// string, a bool or an empty struct.
	statesOperations interface {
		Operations(visit func(op, path, annotation string, value any))
	}
	// statesMetadata is such a merge patch, of nothing but annotations; a nil one is taken out.
	statesMetadata interface {
		Metadata() (uid types.UID, version string, annotations map[string]*string)
	}
)

// Confirms tells of a patch that states what it asks for whether that is nothing but that the object is still of a version.
func Confirms(patch client.Patch) bool {
	stated, ok := patch.(statesMetadata)
	if !ok {
		return false
	}
	_, version, annotations := stated.Metadata()
	return version != "" && len(annotations) == 0
}

// patch applies a JSON patch or a merge patch. Nearly all patches change annotations and the cordon only, and are
// applied to the object itself; any other goes by way of JSON, as in the API server. Both ways give the same answers.
func (c *Cluster) patch(kind Kind, key Key, request *patchRequest, status bool) (client.Object, error) {
	current, err := c.find(kind, key)
	if err != nil {
		return nil, err
	}
	if !status {
		if next, understood, err := quick(current, request); understood {
			switch {
			case err != nil:
				return nil, err
			case next == nil:
				return current, nil
			default:
				return c.store(kind, current, next), nil
			}
		}
	}
	body, err := request.body()
	if err != nil {
		return nil, err
	}
	next, err := throughJSON(kind, current, request.patch.Type(), body)
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

func (r *patchRequest) body() ([]byte, error) {
	body, err := r.patch.Data(r.object)
	if err != nil {
		return nil, fmt.Errorf("the patch of %s cannot be written: %w", r.object.GetName(), err)
	}
	return body, nil
}

// operations are those of a JSON patch, as far as the document is one.
func (r *patchRequest) operations() (ops []operation, understood bool) {
	if stated, ok := r.patch.(statesOperations); ok {
		stated.Operations(func(op, path, annotation string, value any) {
			ops = append(ops, operation{op, path, value, annotation})
		})
		return ops, true
	}
	body, err := r.body()
	return ops, err == nil && json.Unmarshal(body, &ops) == nil
}

// metadata is that of a merge patch of annotations.
type metadata struct {
	UID             *types.UID         `json:"uid"`
	ResourceVersion *string            `json:"resourceVersion"`
	Annotations     map[string]*string `json:"annotations"`
}

// metadata reads a merge patch that asks for nothing else.
func (r *patchRequest) metadata() (m metadata, understood bool) {
	if stated, ok := r.patch.(statesMetadata); ok {
		uid, version, annotations := stated.Metadata()
		return metadata{&uid, &version, annotations}, true
	}
	var document struct {
		Metadata metadata `json:"metadata"`
	}
	body, err := r.body()
	if err != nil {
		return m, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return document.Metadata, decoder.Decode(&document) == nil
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
func quick(current client.Object, request *patchRequest) (next client.Object, understood bool, err error) {
	d := draft{object: current, annotations: current.GetAnnotations()}
	if node, ok := current.(*corev1.Node); ok {
		d.unschedulable = node.Spec.Unschedulable
	}
	switch request.patch.Type() {
	case types.MergePatchType:
		var patch metadata
		if patch, understood = request.metadata(); understood {
			understood, err = d.merge(patch)
		}
	case types.JSONPatchType:
		var ops []operation
		if ops, understood = request.operations(); understood {
			understood, err = d.operate(ops)
		}
	default:
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
func (d *draft) merge(patch metadata) (understood bool, err error) {
	kind, err := KindOf(d.object)
	if err != nil {
		return false, nil //nolint:nilerr // not understood here; the way through JSON answers
	}
	if v := patch.ResourceVersion; v != nil && *v != "" && *v != d.object.GetResourceVersion() {
		return true, conflict(kind, KeyOf(d.object), errors.New(modified))
	}
	if uid := patch.UID; uid != nil && *uid != d.object.GetUID() {
		return false, nil
	}
	for key, value := range patch.Annotations {
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
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
	// annotation is the key that a stated operation is about, in place of a path.
	annotation string
}

const (
	uidPath         = "/metadata/uid"
	annotationsPath = "/metadata/annotations"
	cordonPath      = "/spec/unschedulable"
)

// operate applies a JSON patch whose operations are tests, additions and removals of annotations, the cordon, and a test
// of the UID.
func (d *draft) operate(ops []operation) (understood bool, err error) {
	for i := range ops {
		op := &ops[i]
		_, isNode := d.object.(*corev1.Node)
		switch key, ofAnnotation := op.ofAnnotation(); {
		case ofAnnotation:
			understood, err = d.annotate(op, key)
		case op.Path == annotationsPath:
			understood, err = d.annotationsAsAWhole(op)
		case op.Path == cordonPath && isNode:
			understood, err = d.cordon(op)
		case op.Path == uidPath && op.Op == "test":
			understood, err = true, tested(op, op.Value == any(string(d.object.GetUID())))
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

// ofAnnotation tells the key of the annotation that the operation is about.
func (o *operation) ofAnnotation() (string, bool) {
	if o.annotation != "" {
		return o.annotation, true
	}
	key, found := strings.CutPrefix(o.Path, annotationsPath+"/")
	if !found {
		return "", false
	}
	if strings.Contains(key, "~") {
		key = pointerEscapes.Replace(key)
	}
	return key, true
}

func (d *draft) annotate(op *operation, key string) (understood bool, err error) {
	if d.annotations == nil {
		return true, fmt.Errorf("%s operation does not apply: doc is missing path: %q: missing value", op.Op, op.path())
	}
	value, present := d.annotations[key]
	text, isText := op.Value.(string)
	switch {
	case op.Op == "test" && op.Value == nil:
		return true, tested(op, !present)
	case op.Op == "test" && isText:
		return true, tested(op, present && value == text)
	case op.Op == "add" && isText:
		d.own()
		d.annotations[key] = text
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
	case op.Op == "test" && op.Value == nil:
		return true, tested(op, d.annotations == nil)
	case op.Op == "add" && emptyObject(op.Value):
		d.annotations, d.copied = map[string]string{}, true
		return true, nil
	default:
		return false, nil
	}
}

// emptyObject recognizes JSON's {}, read or stated.
func emptyObject(value any) bool {
	switch value := value.(type) {
	case struct{}:
		return true
	case map[string]any:
		return value != nil && len(value) == 0
	default:
		return false
	}
}

func (d *draft) cordon(op *operation) (understood bool, err error) {
	value, isBool := op.Value.(bool)
	switch {
	case op.Op == "test" && d.cordoned:
		return false, nil
	case op.Op == "test" && op.Value == nil:
		return true, tested(op, !d.unschedulable)
	case op.Op == "test" && isBool:
		return true, tested(op, value && d.unschedulable)
	case op.Op == "add" && isBool:
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
	return fmt.Errorf("testing value %s failed: test failed", op.path())
}

// path is the operation's JSON pointer.
func (o *operation) path() string {
	if o.annotation != "" {
		return annotationsPath + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(o.annotation)
	}
	return o.Path
}
