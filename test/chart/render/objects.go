// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"noderotation.io/noderotation/api/v1alpha1"
)

// Object is one of any kind.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects are what a render has, in its order.
type Objects []Object

// Decode reads every document strictly into the Go type of its kind: an unknown field, a field given twice and an unknown
// kind are errors.
func Decode(manifests []byte) (Objects, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, monitoringv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("the types of the chart's objects cannot be registered: %w", err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all Objects
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests))); ; {
		one, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("what helm rendered is not YAML: %w", err)
		}
		if len(bytes.TrimSpace(one)) == 0 {
			continue
		}
		decoded, _, err := decoder.Decode(one, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("what helm rendered does not decode: %w\n%s", err, one)
		}
		object, ok := decoded.(Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", decoded)
		}
		all = append(all, object)
	}
}

// Of returns the objects of one type.
func Of[T Object](all Objects) []T {
	var found []T
	for _, object := range all {
		if one, ok := object.(T); ok {
			found = append(found, one)
		}
	}
	return found
}
