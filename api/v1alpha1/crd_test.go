// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation/api/v1alpha1"
)

// example is the policy of §5.4, with its defaults written out.
const example = `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata:
  name: api
spec:
  nodePoolSelector:
    matchLabels:
      workload: api
  ageThreshold: auto
  minRotationChances: 2
  maintenanceWindows:
    - timezone: Asia/Tokyo
      days: [Wed, Sat]
      start: "02:00"
      end:   "06:00"
  surge:
    maxUnavailable: 1
    readyTimeout: 15m
    cooldownAfter: 10m
    retryBackoff: 30m
    matchNodeRequirements:
      required:
        - topology.kubernetes.io/zone
        - kubernetes.io/arch
        - karpenter.sh/capacity-type
      preferred: []
    forcefulFallback:
      enabled: false
  prePull:
    enabled: false
`

// leastExample is the same policy with everything left out that has a default.
const leastExample = `
apiVersion: noderotation.io/v1alpha1
kind: RotationPolicy
metadata:
  name: api
spec:
  nodePoolSelector:
    matchLabels:
      workload: api
  maintenanceWindows:
    - timezone: Asia/Tokyo
      days: [Wed, Sat]
      start: "02:00"
      end:   "06:00"
`

var _ = Describe("The CRD at admission (§5.4)", Ordered, ContinueOnFailure, func() {
	var server *admission

	BeforeAll(func() { server = newAdmission() })

	// submit hands the least example with a changed spec to the API server; null
	// removes a field.
	submit := func(ctx SpecContext, change string) (map[string]any, field.ErrorList) {
		return server.admit(ctx, object(leastExample, change))
	}

	It("has a structural schema, with defaults that it accepts itself", func(ctx SpecContext) {
		Expect(structuralschema.ValidateStructural(nil, server.structural)).To(BeEmpty())
		errs, err := defaulting.ValidateDefaults(ctx, nil, server.structural, true, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(errs).To(BeEmpty())
	})

	It("has rules that stay below the cost an API server allows one rule", func() {
		Expect(worstCost(field.NewPath(""), server.structural)).To(BeNumerically("<", 10_000_000))
	})

	It("accepts the example as it stands and changes nothing in it", func(ctx SpecContext) {
		stored, errs := server.admit(ctx, object(example, ""))
		Expect(errs).To(BeEmpty())
		Expect(stored).To(Equal(object(example, "")))
	})

	It("fills in the example's defaults where they are left out", func(ctx SpecContext) {
		stored, errs := submit(ctx, "")
		Expect(errs).To(BeEmpty())
		Expect(stored).To(Equal(object(example, "")))
	})

	It("defaults as Default does for a policy that is read from a file", func() {
		policy := decode(object(leastExample, ""))
		policy.Default()
		Expect(policy).To(Equal(decode(object(example, ""))))
	})

	DescribeTable("accepts",
		func(ctx SpecContext, change string) {
			stored, errs := submit(ctx, change)
			Expect(errs).To(BeEmpty())
			decode(stored)
		},
		Entry("the catch-all selector", `{nodePoolSelector: {matchLabels: null}}`),
		Entry("a selector with every operator", `{nodePoolSelector: {matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: NotIn, values: [c, d]}, {key: a, operator: Exists}, {key: e, operator: DoesNotExist, values: []}]}}`),
		Entry("an age threshold override", `{ageThreshold: 240h}`),
		Entry("a fractional age threshold", `{ageThreshold: 1.5h30m}`),
		Entry("one rotation chance", `{minRotationChances: 1}`),
		Entry("no cooldown", `{surge: {cooldownAfter: 0s}}`),
		Entry("no cooldown, without a unit", `{surge: {cooldownAfter: "0"}}`),
		Entry("every optional pause and estimate", `{surge: {failurePause: 1ns, drainEstimate: 10m, provisioningEstimate: 4m30s}}`),
		Entry("no label to replicate", `{surge: {matchNodeRequirements: {required: []}}}`),
		Entry("a label without a prefix", `{surge: {matchNodeRequirements: {required: [team], preferred: [example.com/rack]}}}`),
		Entry("the forceful fallback", `{surge: {forcefulFallback: {enabled: true}}}`),
		Entry("several windows", `{maintenanceWindows: [{timezone: UTC, days: [Mon, Tue, Wed, Thu, Fri, Sat, Sun], start: "00:00", end: "24:00"}, {timezone: Europe/Berlin, days: [Fri], start: "23:59", end: "05:00"}]}`),
		Entry("a window that ends at midnight", `{maintenanceWindows: [{timezone: UTC, days: [Fri], start: "22:00", end: "00:00"}]}`),
	)

	It("keeps an explicit empty list of labels and does not default it", func(ctx SpecContext) {
		stored, errs := submit(ctx, `{surge: {matchNodeRequirements: {required: []}}}`)
		Expect(errs).To(BeEmpty())
		Expect(decode(stored).RequiredKeys()).To(BeEmpty())
	})

	DescribeTable("rejects",
		func(ctx SpecContext, change, where, why string) {
			_, errs := submit(ctx, change)
			Expect(errs).To(ContainElement(SatisfyAll(
				HaveField("Field", where),
				MatchError(ContainSubstring(why)),
			)))
		},
		Entry("no selector", `{nodePoolSelector: null}`, "spec.nodePoolSelector", "Required value"),
		Entry("an unknown operator", `{nodePoolSelector: {matchExpressions: [{key: a, operator: Near}]}}`, "spec.nodePoolSelector", "must be In, NotIn, Exists or DoesNotExist"),
		Entry("In without values", `{nodePoolSelector: {matchExpressions: [{key: a, operator: In}]}}`, "spec.nodePoolSelector", "In and NotIn need values"),
		Entry("Exists with a value", `{nodePoolSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`, "spec.nodePoolSelector", "Exists and DoesNotExist take none"),

		Entry("an age threshold of zero", `{ageThreshold: 0s}`, "spec.ageThreshold", `must be "auto" or a Go duration greater than zero`),
		Entry("an age threshold of zero without a unit", `{ageThreshold: "0"}`, "spec.ageThreshold", `must be "auto" or a Go duration greater than zero`),
		Entry("a negative age threshold", `{ageThreshold: -1h}`, "spec.ageThreshold", `must be "auto" or a Go duration greater than zero`),
		Entry("an empty age threshold", `{ageThreshold: ""}`, "spec.ageThreshold", "should match"),
		Entry("an age threshold in days", `{ageThreshold: 10d}`, "spec.ageThreshold", "should match"),
		Entry("a numeric age threshold", `{ageThreshold: 0}`, "spec.ageThreshold", "must be of type string"),
		Entry("an age threshold that no Go duration holds", `{ageThreshold: 9999999h}`, "spec.ageThreshold", "must be \"auto\" or a Go duration"),

		Entry("no rotation chance", `{minRotationChances: 0}`, "spec.minRotationChances", "greater than or equal to 1"),
		Entry("negative rotation chances", `{minRotationChances: -2}`, "spec.minRotationChances", "greater than or equal to 1"),
		Entry("more chances than a lead time can hold", `{minRotationChances: 251}`, "spec.minRotationChances", "less than or equal to 250"),

		Entry("no maintenance windows", `{maintenanceWindows: null}`, "spec.maintenanceWindows", "Required value"),
		Entry("an empty list of windows", `{maintenanceWindows: []}`, "spec.maintenanceWindows", "at least 1 items"),
		Entry("a window without days", `{maintenanceWindows: [{timezone: UTC, days: [], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].days", "at least 1 items"),
		Entry("a day that is none", `{maintenanceWindows: [{timezone: UTC, days: [Saturday], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].days[0]", `supported values: "Mon", "Tue"`),
		Entry("a day named twice", `{maintenanceWindows: [{timezone: UTC, days: [Sat, Sat], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].days[1]", "Duplicate value"),
		Entry("no time zone", `{maintenanceWindows: [{days: [Sat], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].timezone", "Required value"),
		Entry("an empty time zone", `{maintenanceWindows: [{timezone: "", days: [Sat], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].timezone", "at least 1 chars"),
		Entry("the controller's own time zone", `{maintenanceWindows: [{timezone: Local, days: [Sat], start: "02:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].timezone", "must be an IANA name"),
		Entry("a start after the day's end", `{maintenanceWindows: [{timezone: UTC, days: [Sat], start: "24:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].start", "should match"),
		Entry("a start with one digit", `{maintenanceWindows: [{timezone: UTC, days: [Sat], start: "2:00", end: "06:00"}]}`, "spec.maintenanceWindows[0].start", "should match"),
		Entry("an end after midnight's 24:00", `{maintenanceWindows: [{timezone: UTC, days: [Sat], start: "02:00", end: "24:01"}]}`, "spec.maintenanceWindows[0].end", "should match"),
		Entry("a minute that is none", `{maintenanceWindows: [{timezone: UTC, days: [Sat], start: "02:00", end: "06:60"}]}`, "spec.maintenanceWindows[0].end", "should match"),
		Entry("a window that ends where it starts", `{maintenanceWindows: [{timezone: UTC, days: [Sat], start: "02:00", end: "02:00"}]}`, "spec.maintenanceWindows[0]", "start and end must differ"),

		Entry("no rotation at a time", `{surge: {maxUnavailable: 0}}`, "spec.surge.maxUnavailable", `supported values: "1"`),
		Entry("two rotations at a time", `{surge: {maxUnavailable: 2}}`, "spec.surge.maxUnavailable", `supported values: "1"`),
		Entry("readyTimeout zero", `{surge: {readyTimeout: 0s}}`, "spec.surge.readyTimeout", "greater than zero"),
		Entry("readyTimeout negative", `{surge: {readyTimeout: -15m}}`, "spec.surge.readyTimeout", "greater than zero"),
		Entry("readyTimeout without a unit", `{surge: {readyTimeout: "15"}}`, "spec.surge.readyTimeout", "greater than zero"),
		Entry("cooldownAfter negative", `{surge: {cooldownAfter: -1s}}`, "spec.surge.cooldownAfter", "zero or more"),
		Entry("retryBackoff zero", `{surge: {retryBackoff: 0h0m}}`, "spec.surge.retryBackoff", "greater than zero"),
		Entry("retryBackoff negative", `{surge: {retryBackoff: -30m}}`, "spec.surge.retryBackoff", "greater than zero"),
		Entry("failurePause zero", `{surge: {failurePause: 0s}}`, "spec.surge.failurePause", "greater than zero"),
		Entry("drainEstimate zero", `{surge: {drainEstimate: 0s}}`, "spec.surge.drainEstimate", "greater than zero"),
		Entry("provisioningEstimate zero", `{surge: {provisioningEstimate: 0s}}`, "spec.surge.provisioningEstimate", "greater than zero"),

		Entry("a required host name", `{surge: {matchNodeRequirements: {required: [kubernetes.io/hostname]}}}`, "spec.surge.matchNodeRequirements.required[0]", "kubernetes.io/hostname can't be replicated"),
		Entry("a preferred host name", `{surge: {matchNodeRequirements: {preferred: [kubernetes.io/hostname]}}}`, "spec.surge.matchNodeRequirements.preferred[0]", "kubernetes.io/hostname can't be replicated"),
		Entry("a label key that is none", `{surge: {matchNodeRequirements: {required: ["a b"]}}}`, "spec.surge.matchNodeRequirements.required[0]", "should match"),
		Entry("a label key named twice", `{surge: {matchNodeRequirements: {required: [team, team]}}}`, "spec.surge.matchNodeRequirements.required[1]", "Duplicate value"),

		Entry("prePull", `{prePull: {enabled: true}}`, "spec.prePull.enabled", "not available in this version"),
	)
})

// One policy that the typed client can't decode would blind the controller to
// all of them: the list call fails as a whole.
func TestWhatIsAdmittedDecodes(t *testing.T) {
	RegisterTestingT(t)
	server := newAdmission()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?[0-9]{0,20}(\.[0-9]{0,3})?(h|m|s|d|w|ms|us|µs|ns| hours|)`)
		duration := rapid.OneOf(number, rapid.Map(rapid.SliceOfN(number, 2, 2), func(parts []string) string { return parts[0] + parts[1] })).Draw(t, "duration")
		for _, change := range []map[string]any{
			{"ageThreshold": duration},
			{"surge": map[string]any{"cooldownAfter": duration}},
			{"surge": map[string]any{"readyTimeout": duration}},
		} {
			patch, err := json.Marshal(change)
			if err != nil {
				t.Fatal(err)
			}
			stored, errs := server.admit(t.Context(), object(leastExample, string(patch)))
			if len(errs) > 0 {
				continue
			}
			policy := decode(stored)
			if _, _, err := policy.AgeThresholdOverride(); err != nil {
				t.Fatalf("admitted %s, but: %v", patch, err)
			}
		}
	})
}

// object reads a policy and merges a change, in YAML, into its spec.
func object(policy, change string) map[string]any {
	GinkgoHelper()
	document, err := yaml.YAMLToJSON([]byte(policy))
	Expect(err).NotTo(HaveOccurred())
	if change != "" {
		patch, err := yaml.YAMLToJSON([]byte("{spec: " + change + "}"))
		Expect(err).NotTo(HaveOccurred())
		document, err = jsonpatch.MergePatch(document, patch)
		Expect(err).NotTo(HaveOccurred())
	}
	var merged map[string]any
	Expect(utiljson.Unmarshal(document, &merged)).To(Succeed()) // whole numbers as int64, as the API server has them
	return merged
}

// decode reads an object as the controller's client would.
func decode(stored map[string]any) *v1alpha1.RotationPolicy {
	GinkgoHelper()
	document, err := json.Marshal(stored)
	Expect(err).NotTo(HaveOccurred())
	var policy v1alpha1.RotationPolicy
	Expect(yaml.UnmarshalStrict(document, &policy)).To(Succeed())
	return &policy
}
