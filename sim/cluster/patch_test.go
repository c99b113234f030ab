// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What is applied to the object itself must have the answer that the way through JSON has.
func TestQuickPatchesAnswerAsTheAPIServerDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"a", "x~1y", "b"})
		var annotations map[string]string
		if rapid.Bool().Draw(t, "annotated") {
			annotations = rapid.MapOf(rapid.SampledFrom([]string{"a", "x/y", "b"}), rapid.SampledFrom([]string{"", "1", "2"})).Draw(t, "annotations")
		}
		node := aNode("n", annotations)
		node.Spec.Unschedulable = rapid.Bool().Draw(t, "cordoned")
		how := types.JSONPatchType
		var body []byte
		if rapid.Bool().Draw(t, "merge") {
			how = types.MergePatchType
			change := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				change[rapid.SampledFrom([]string{"a", "x/y", "b"}).Draw(t, "key")] = rapid.SampledFrom([]any{nil, "", "1"}).Draw(t, "value")
			}
			body, _ = json.Marshal(map[string]any{"metadata": map[string]any{
				"uid": "uid-of-n", "resourceVersion": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"), "annotations": change,
			}})
		} else {
			var ops []map[string]any
			for range rapid.IntRange(1, 4).Draw(t, "ops") {
				ops = append(ops, anOperation(t, key))
			}
			body, _ = json.Marshal(ops)
		}

		quickly, long := New(testclock.NewFakePassiveClock(noon), nil), New(testclock.NewFakePassiveClock(noon), nil)
		_, _ = quickly.Load(node), long.Load(node)
		current := quickly.tables[Node].get(Key{Name: "n"})
		request := &patchRequest{patch: client.RawPatch(how, body), object: node}
		if rapid.Bool().Draw(t, "stated") {
			request.patch = stated(t, how, body)
		}
		_, understood, _ := quick(current, request)
		if !understood {
			return
		}
		one, err1 := quickly.patch(Node, Key{Name: "n"}, request, false)
		two, err2 := slowly(long, how, body)
		if apierrors.ReasonForError(err1) != apierrors.ReasonForError(err2) {
			t.Fatalf("%s\nquick: %v\nlong: %v", body, err1, err2)
		}
		if err1 == nil && !equality.Semantic.DeepEqual(one, two) {
			t.Fatalf("%s\nquick: %+v\nlong: %+v", body, one, two)
		}
	})
}

func anOperation(t *rapid.T, key *rapid.Generator[string]) map[string]any {
	switch rapid.IntRange(0, 6).Draw(t, "operation") {
	case 0:
		return map[string]any{"op": "test", "path": "/metadata/annotations/" + key.Draw(t, "key"), "value": rapid.SampledFrom([]any{nil, "", "1"}).Draw(t, "value")}
	case 1:
		return map[string]any{"op": "add", "path": "/metadata/annotations/" + key.Draw(t, "key"), "value": rapid.SampledFrom([]any{"", "1"}).Draw(t, "value")}
	case 2:
		return map[string]any{"op": "remove", "path": "/metadata/annotations/" + key.Draw(t, "key")}
	case 3:
		return map[string]any{"op": "test", "path": "/metadata/uid", "value": rapid.SampledFrom([]any{"uid-of-n", "other"}).Draw(t, "uid")}
	case 4:
		return map[string]any{"op": "test", "path": "/spec/unschedulable", "value": rapid.SampledFrom([]any{nil, true, false}).Draw(t, "cordon")}
	case 5:
		return map[string]any{"op": "add", "path": "/spec/unschedulable", "value": rapid.Bool().Draw(t, "cordon")}
	default:
		return rapid.SampledFrom([]map[string]any{
			{"op": "test", "path": "/metadata/annotations", "value": nil},
			{"op": "add", "path": "/metadata/annotations", "value": map[string]any{}},
		}).Draw(t, "whole")
	}
}

// stated is the patch with what it asks for beside its document.
func stated(t *rapid.T, how types.PatchType, body []byte) client.Patch {
	raw := client.RawPatch(how, body)
	if how == types.JSONPatchType {
		var ops []operation
		if err := json.Unmarshal(body, &ops); err != nil {
			t.Fatal(err)
		}
		return withOperations{raw, ops}
	}
	var document struct {
		Metadata metadata `json:"metadata"`
	}
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	return withMetadata{raw, document.Metadata}
}

type withOperations struct {
	client.Patch
	ops []operation
}

func (p withOperations) Operations(visit func(op, path, annotation string, value any)) {
	for _, op := range p.ops {
		if key, is := op.ofAnnotation(); is && key != "" {
			visit(op.Op, "", key, op.Value)
		} else {
			visit(op.Op, op.Path, "", op.Value)
		}
	}
}

type withMetadata struct {
	client.Patch
	stated metadata
}

func (p withMetadata) Metadata() (types.UID, string, map[string]*string) {
	return *p.stated.UID, *p.stated.ResourceVersion, p.stated.Annotations
}

// slowly patches by way of JSON alone.
func slowly(c *Cluster, how types.PatchType, body []byte) (client.Object, error) {
	current := c.tables[Node].get(Key{Name: "n"})
	next, err := throughJSON(Node, current, how, body)
	if err != nil {
		return nil, err
	}
	if next.GetResourceVersion() != current.GetResourceVersion() {
		return nil, conflict(Node, Key{Name: "n"}, errors.New(modified))
	}
	return c.accept(Node, current, next, false)
}
