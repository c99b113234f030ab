// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"os"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// crdFile is the generated CRD that the chart installs.
const crdFile = "../../charts/noderotation/crds/noderotation.io_rotationpolicies.yaml"

// admission treats a policy as the API server does once the CRD is installed:
// prune, default, validate the schema, then the rules. It is made of the API
// server's own parts, in its order.
type admission struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newAdmission() *admission {
	crd := readCRD()
	Expect(crd.Spec.Versions).To(HaveLen(1), "the API server keeps a lone version's schema at the top of the CRD")
	schema := crd.Spec.Validation.OpenAPIV3Schema

	structural, err := structuralschema.NewStructural(schema)
	Expect(err).NotTo(HaveOccurred())
	validator, _, err := validation.NewSchemaValidator(schema)
	Expect(err).NotTo(HaveOccurred())
	return &admission{
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
}

// readCRD reads the CRD as the API server would store it.
func readCRD() *apiextensions.CustomResourceDefinition {
	text, err := os.ReadFile(crdFile)
	Expect(err).NotTo(HaveOccurred())
	var published apiextensionsv1.CustomResourceDefinition
	Expect(yaml.UnmarshalStrict(text, &published)).To(Succeed())
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&published)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&published.Spec)
	var stored apiextensions.CustomResourceDefinition
	Expect(apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&published, &stored, nil)).To(Succeed())
	return &stored
}

// worstCost is the most that the rules of a schema can cost in one request, as
// the API server estimates it before it takes a CRD. Lists multiply the cost of
// the rules below them by their maxItems; a list without one above a rule is
// an error, for then the cost has no bound.
func worstCost(at *field.Path, schema *structuralschema.Structural) uint64 {
	GinkgoHelper()
	compiled, err := cel.Compile(schema, model.SchemaDeclType(schema, false), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()), cel.NewExpressionsEnvLoader())
	Expect(err).NotTo(HaveOccurred(), at.String())
	var cost uint64
	for _, rule := range compiled {
		if rule.Error != nil {
			Fail(at.String() + ": " + rule.Error.Detail)
		}
		cost += rule.MaxCost
	}
	for name, property := range schema.Properties {
		cost += worstCost(at.Child(name), &property)
	}
	if schema.Items == nil {
		return cost
	}
	each := worstCost(at.Child("[]"), schema.Items)
	if each > 0 {
		Expect(schema.ValueValidation.MaxItems).NotTo(BeNil(), "%s needs maxItems", at)
		cost += each * uint64(*schema.ValueValidation.MaxItems)
	}
	return cost
}

// admit returns the object as it would be stored, and the reasons to reject it.
func (a *admission) admit(ctx context.Context, policy map[string]any) (map[string]any, field.ErrorList) {
	pruning.Prune(policy, a.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(policy, a.structural)
	defaulting.Default(policy, a.structural)

	errs := validation.ValidateCustomResource(nil, policy, a.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, a.structural, policy)...)
	if slices.ContainsFunc(errs, keepsRulesFromRunning) {
		return policy, errs
	}
	broken, _ := a.rules.Validate(ctx, nil, a.structural, policy, nil, celconfig.RuntimeCELCostBudget)
	return policy, append(errs, broken...)
}

// keepsRulesFromRunning holds for the errors after which the API server leaves
// the rules unchecked.
func keepsRulesFromRunning(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, err.Type)
}
