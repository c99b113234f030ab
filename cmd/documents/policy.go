// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation/api/v1alpha1"
)

const crdFile = "charts/noderotation/crds/noderotation.io_rotationpolicies.yaml"

// policy is the RotationPolicy as its CRD describes it.
type policy struct {
	Name, Kind, Version, Short string
	Spec, Status               []field
	// Condition has a status and a meaning for each of its reasons.
	Condition string
	Outcomes  []outcome
}

// field is one field, by its path within the object.
type field struct{ Path, Type, Default, About string }

// outcome is one reason of the policy's condition.
type outcome struct{ Reason, Status, Meaning string }

func readPolicy() (policy, error) {
	content, err := os.ReadFile(crdFile)
	if err != nil {
		return policy{}, fmt.Errorf("the CRD cannot be read: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &crd); err != nil {
		return policy{}, fmt.Errorf("%s is no CRD: %w", crdFile, err)
	}
	version := crd.Spec.Versions[0]
	schema := version.Schema.OpenAPIV3Schema
	return policy{
		Name: crd.Name, Kind: crd.Spec.Names.Kind, Version: crd.Spec.Group + "/" + version.Name,
		Short:     strings.Join(crd.Spec.Names.ShortNames, ", "),
		Spec:      fields("spec", schema.Properties["spec"]),
		Status:    fields("status", schema.Properties["status"]),
		Condition: v1alpha1.ConditionReady,
		Outcomes: []outcome{
			{v1alpha1.ReasonAccepted, "True", "The policy is valid and uncontested."},
			{v1alpha1.ReasonInvalid, "False", "It has a fatal finding of its own. It still wins its NodePools, and stops them."},
			{v1alpha1.ReasonConflict, "False", "Another policy selects a NodePool with equally many label constraints."},
		},
	}, nil
}

// fields lists the fields below a path by name, an object before what it holds. What Kubernetes documents itself is not
// gone into.
func fields(path string, schema apiextensionsv1.JSONSchemaProps) []field {
	var all []field
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		below, within := schema.Properties[name], path+"."+name
		f := field{Path: within, Type: typeOf(below), Default: defaultOf(below), About: below.Description}
		if slices.Contains(schema.Required, name) {
			f.Default = "required"
		}
		switch within {
		case "spec.nodePoolSelector":
			f.Type, below = "LabelSelector", apiextensionsv1.JSONSchemaProps{}
		case "status.conditions":
			f.Type, below = "[]Condition", apiextensionsv1.JSONSchemaProps{}
		}
		if below.Items != nil && below.Items.Schema != nil {
			below, within = *below.Items.Schema, within+"[]"
			f.About += " " + below.Description
		}
		all = append(all, f)
		all = append(all, fields(within, below)...)
	}
	return all
}

// typeOf is the type as an operator would say it.
func typeOf(schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case schema.Items != nil && schema.Items.Schema != nil:
		return "[]" + typeOf(*schema.Items.Schema)
	case strings.Contains(schema.Pattern, "(h|m|s|ms|us|µs|ns)"):
		return "duration"
	default:
		return schema.Type
	}
}

// defaultOf is the default of a field; an object's is in its fields.
func defaultOf(schema apiextensionsv1.JSONSchemaProps) string {
	if schema.Default == nil || schema.Type == "object" {
		return ""
	}
	return code(strings.Trim(string(schema.Default.Raw), `"`))
}
